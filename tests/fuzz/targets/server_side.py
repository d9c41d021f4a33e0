"""Frames of a gateway, as the bundled server reads them: only FrameInvalid leaves; what the gateway writes is read."""

from collections.abc import Iterable

from gateway.errors import FrameInvalid
from gateway.model.upstream import Callback, Extension, Transmit
from gateway.receiver import frames
from gateway.wire import agent
from tests.fuzz.target import Choices, Target, fixed_phrase

_CALLBACK = agent.parse_callback("Agent/demo-00000000-0000-4000-8000-000000000001#1.2")
assert isinstance(_CALLBACK, Callback)


def one(data: bytes) -> None:
    """Read one frame, and one that the gateway writes around the same text."""
    choices = Choices(data)
    is_text, epoch = choices.number(2), choices.one_of((None, 0, 1, 1 << 60))
    frame = choices.rest()
    text = frame.decode("utf-8", "replace")
    try:
        found = frames.read(text if is_text else frame)
    except FrameInvalid as why:
        fixed_phrase(why.reason)
    else:
        if isinstance(found, frames.UnknownRequest):
            frames.error("unknown", callback=found.callback)
    _round_trip(text, epoch)


def _round_trip(text: str, epoch: int | None) -> None:
    assert _CALLBACK is not None
    request = Transmit(callback=_CALLBACK, channel=text[:9], remote=text[9:20], body=text)
    found = frames.read(agent.transmit_request(request, token=text or None, epoch=epoch))
    assert isinstance(found, frames.TransmitRequest)
    assert (found.channel, found.remote, found.body) == (text[:9], text[9:20], text)
    assert (found.callback, found.epoch) == (agent.callback_text(_CALLBACK), epoch)
    assert found.token == (text or None)
    hello = frames.read(agent.connect_request(agent_id=text, token=None, extensions=tuple(Extension), epoch=epoch or 0))
    assert isinstance(hello, frames.ConnectRequest)
    assert (hello.agent_id, hello.extensions) == (text, tuple(Extension))


def _seeds() -> Iterable[bytes]:
    assert _CALLBACK is not None
    request = Transmit(callback=_CALLBACK, channel="adt", remote="127.0.0.1:9", body="MSH|^~\\&|A\r")
    for place, text in enumerate(
        (
            agent.connect_request(agent_id="demo", token="t", extensions=tuple(Extension), epoch=1),
            agent.transmit_request(request, token="t", epoch=1),
            agent.status_request([_CALLBACK]),
            agent.heartbeat_request(),
            agent.heartbeat_response(version="1"),
            agent.error(body="no", callback="x"),
            agent.response("agent:stats:request", callback="x"),
            '{"type":"connect","agentId":"a","extensions":[1,"dedupe"]}',
            '{"type":"transmit","callback":"c","body":"b","epoch":true}',
            '{"type":"?","callback":5}',
            "[]",
        )
    ):
        yield bytes([place % 2, place % 4]) + text.encode()


TARGET = Target(
    name="server-side",
    one=one,
    seeds=_seeds,
    tokens=(
        b'"type"',
        b'"callback"',
        b'"callbacks"',
        b'"agentId"',
        b'"body"',
        b'"epoch"',
        b'"extensions"',
        b"agent:",
        b":response",
        b":",
        b",",
        b"{",
        b"}",
        b"[",
        b"]",
        b"null",
        b"true",
        b"1e400",
        b"99999999999999999999999999",
        b"\\ud800",
        b"\xff",
    ),
)
