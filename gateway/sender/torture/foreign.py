"""Kinds that speak another protocol on a port for plain MLLP."""

import ssl
from contextlib import suppress

from gateway.sender.torture.judge import Due
from gateway.sender.torture.letters import frame, message
from gateway.sender.torture.stage import Stage
from gateway.sender.torture.values import Kind, Mark, Outcome, Source

_TLS_RECORDS = (b"\x15\x03", b"\x16\x03")


def hello() -> bytes:
    """Give the first bytes of a real TLS client."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):  # it says its first words and waits for an answer
        context.wrap_bio(incoming, outgoing).do_handshake()
    return outgoing.read()


async def tls_hello(stage: Stage) -> Outcome:
    """Play a sender that takes the port for one of TLS."""
    return await _foreign(stage, hello())


async def http_get(stage: Stage) -> Outcome:
    """Play a browser."""
    return await _foreign(stage, b"GET / HTTP/1.1\r\nHost: torture.example\r\nAccept: */*\r\n\r\n")


async def http_post(stage: Stage) -> Outcome:
    """Play a web page that makes a browser carry a message."""
    due = Due(name=stage.name(), right=frozenset())
    body = frame(message(due.name))
    head = b"POST / HTTP/1.1\r\nHost: torture.example\r\nContent-Length: %d\r\n\r\n" % len(body)
    return await _foreign(stage, head + body)


async def _foreign(stage: Stage, data: bytes) -> Outcome:
    async with stage.peer() as peer:
        await stage.say(peer, data)
        answer = await peer.hear(within=stage.options.quiet)
        if peer.stray.startswith(_TLS_RECORDS):
            return Outcome(mark=Mark.TOLERABLE, saw="TLS", note="the port speaks TLS")
        if answer is not None and answer.positive:
            note = "what no HL7 sender sent was taken as a message"
            return Outcome(mark=Mark.WRONG, saw=answer.code or "", note=note)
        if answer is not None:
            return Outcome(mark=Mark.TOLERABLE, saw=answer.code or "unreadable", note="answered as if it were HL7")
        if peer.ended is not None:
            return Outcome(mark=Mark.RIGHT, saw=peer.ended.value)
        return Outcome(mark=Mark.TOLERABLE, saw="silent", note="left waiting: nobody is told of the mistake")


FOREIGN = (
    Kind(
        name="tls-hello",
        sends="the hello of a TLS client",
        rule="closed at once; waiting is tolerable",
        source=Source.OURS,
        play=tls_hello,
    ),
    Kind(
        name="http-get",
        sends="an HTTP request",
        rule="closed at once; waiting is tolerable",
        source=Source.OURS,
        play=http_get,
    ),
    Kind(
        name="http-post",
        sends="an HTTP request with an MLLP frame in its body",
        rule="closed at once; never taken, or web pages could send messages",
        source=Source.OURS,
        play=http_post,
    ),
)
