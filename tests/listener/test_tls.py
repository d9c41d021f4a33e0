"""TLS on real sockets: what is spoken, who is refused, and that messages travel in it as in plain text."""

import asyncio
import ssl
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import CannotListen
from gateway.listener.options import ChannelOptions
from gateway.listener.tls_context import context
from gateway.model.policy import ClientCert, TlsVersion
from tests.listener.papers import Papers, channel, dial_tls
from tests.listener.stage import ADT, SmallStore, Stage, dial, f, listening, m, msa

REQUIRED, OPTIONAL = ClientCert.REQUIRED, ClientCert.OPTIONAL


async def refused(stage: Stage, client: ssl.SSLContext) -> None:
    """Connect; the gateway must end the connection without an answer."""
    try:
        sender = await dial_tls(stage, client)
        # In TLS 1.3 the client is through before the server has looked at its certificate.
        sender.say(f(m("REFUSED")))
        assert await sender.rest() == b""
    except (ssl.SSLError, ConnectionError):
        pass


async def reason_of(stage: Stage) -> object:
    await stage.notes.until(lambda: bool(stage.notes.named("tls-failed")))
    (failed,) = stage.notes.named("tls-failed")
    return failed["reason"]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_messages_and_answers_travel_in_tls(papers: Papers, version: ssl.TLSVersion) -> None:
    client = papers.client()
    client.minimum_version = client.maximum_version = version
    async with listening(SmallStore(), channel(papers.tls())) as stage:
        sender = await dial_tls(stage, client)
        assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")
        sender.say(f(m("A2")) + f(m("A3")))
        assert [msa(answer)[1] for answer in await sender.hear_many(2)] == [b"A2", b"A3"]
        large = m("A4", patient="X" * 300_000)
        assert msa(await sender.ask(large)) == (b"AA", b"A4")


async def test_a_message_sent_with_the_end_of_the_handshake_is_answered(papers: Papers) -> None:
    # A TLS 1.3 client may send right behind its Finished, in one packet: before the session has begun.
    async with listening(SmallStore(), channel(papers.tls())) as stage:
        reader, writer = await asyncio.open_connection(*stage.listener.address)
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = papers.client().wrap_bio(into, out, server_hostname="localhost")
        async with asyncio.timeout(10):
            while True:
                try:
                    client.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    writer.write(out.read())
                    into.write(await reader.read(1 << 16))
            client.write(f(m("A1")))
            writer.write(out.read())
            answer = b""
            while not answer:
                try:
                    answer = client.read(1 << 16)
                except ssl.SSLWantReadError:
                    into.write(await reader.read(1 << 16))
        assert msa(answer[1:-2]) == (b"AA", b"A1")
        writer.close()
        await writer.wait_closed()


def openssl_says(stage: Stage, *arguments: str) -> str:
    host, port = stage.listener.address
    command = ["openssl", "s_client", "-connect", f"{host}:{port}", *arguments]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=20, check=False)
    return (done.stdout + done.stderr).decode("latin-1")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("-tls1", "-cipher", "DEFAULT:@SECLEVEL=0"), "version"),
        (("-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"), "version"),
        (("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES256-SHA"), "no-shared-cipher"),
        (("-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-CCM8:@SECLEVEL=0"), "no-shared-cipher"),
    ],
)
async def test_old_versions_and_suites_are_refused(papers: Papers, arguments: tuple[str, ...], reason: str) -> None:
    async with listening(SmallStore(), channel(papers.tls())) as stage:
        said = await asyncio.to_thread(openssl_says, stage, *arguments)
        assert "Cipher is (NONE)" in said
        assert await reason_of(stage) == reason


@pytest.mark.parametrize(
    ("arguments", "cipher"),
    [
        (("-tls1_2",), "ECDHE-ECDSA-AES256-GCM-SHA384"),
        (("-tls1_2", "-cipher", "CHACHA20"), "ECDHE-ECDSA-CHACHA20-POLY1305"),
        (("-tls1_3",), "TLS_AES_256_GCM_SHA384"),
    ],
)
async def test_the_suites_of_today_are_taken(papers: Papers, arguments: tuple[str, ...], cipher: str) -> None:
    async with listening(SmallStore(), channel(papers.tls())) as stage:
        said = await asyncio.to_thread(openssl_says, stage, *arguments)
        assert f"Cipher is {cipher}" in said
        assert "Secure Renegotiation" in said


def test_every_suite_offered_authenticates_what_it_encrypts(papers: Papers) -> None:
    offered = context(papers.tls()).get_ciphers()
    assert offered
    assert all(suite["aead"] for suite in offered)
    assert all(suite["protocol"] == "TLSv1.3" or suite["kea"] == "kx-ecdhe" for suite in offered)


def test_handshakes_are_neither_repeated_nor_resumed_at_a_peer_s_wish(papers: Papers) -> None:
    made = context(papers.tls())
    assert made.options & ssl.OP_NO_RENEGOTIATION
    assert made.num_tickets == 0


async def test_a_channel_may_ask_for_tls_1_3(papers: Papers) -> None:
    tls = replace(papers.tls(), min_version=TlsVersion.V1_3)
    async with listening(SmallStore(), channel(tls)) as stage:
        client = papers.client()
        client.maximum_version = ssl.TLSVersion.TLSv1_2
        await refused(stage, client)
        assert await reason_of(stage) == "version"
        sender = await dial_tls(stage, papers.client())
        assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")


async def test_a_plain_sender_at_a_tls_port_is_named(papers: Papers) -> None:
    store = SmallStore()
    async with listening(store, channel(papers.tls())) as stage:
        sender = await dial(stage.listener.address)
        sender.say(f(m("PLAIN")))
        assert await sender.rest() == b""
        assert await reason_of(stage) == "not-tls"
        assert store.offers == []
        sender.close()


async def test_a_required_certificate_is_asked_for(papers: Papers) -> None:
    store = SmallStore()
    async with listening(store, channel(papers.tls(REQUIRED))) as stage:
        await refused(stage, papers.client())
        assert await reason_of(stage) == "certificate-missing"
        sender = await dial_tls(stage, papers.client(papers.lab))
        assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")
    assert [offer.control_id for offer in store.offers] == [b"A1"]


async def test_an_optional_certificate_may_be_missing_but_not_wrong(papers: Papers) -> None:
    forged = papers.made("forged", "/O=Hospital/CN=lab", by=papers.other_authority)
    async with listening(SmallStore(), channel(papers.tls(OPTIONAL))) as stage:
        sender = await dial_tls(stage, papers.client())
        assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")
        await refused(stage, papers.client(forged))
        assert await reason_of(stage) == "certificate-refused"


async def test_a_certificate_of_another_authority_is_refused(papers: Papers) -> None:
    forged = papers.made("forged2", "/O=Hospital/CN=lab", by=papers.other_authority)
    store = SmallStore()
    async with listening(store, channel(papers.tls(REQUIRED))) as stage:
        await refused(stage, papers.client(forged))
        assert await reason_of(stage) == "certificate-refused"
    assert store.offers == []


async def test_an_expired_certificate_is_refused(papers: Papers) -> None:
    expired = papers.made("expired", "/O=Hospital/CN=lab", days=-1)
    store = SmallStore()
    async with listening(store, channel(papers.tls(REQUIRED))) as stage:
        await refused(stage, papers.client(expired))
        assert await reason_of(stage) == "certificate-refused"
    assert store.offers == []


async def test_a_senders_own_certificate_can_be_the_one_that_is_trusted(papers: Papers) -> None:
    alone, other = papers.alone("alone"), papers.alone("other")
    async with listening(SmallStore(), channel(papers.tls(REQUIRED, trusted=alone))) as stage:
        sender = await dial_tls(stage, papers.client(alone))
        assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")
        await refused(stage, papers.client(other))


async def test_one_certificate_of_an_authority_can_be_trusted_without_the_others(papers: Papers) -> None:
    async with listening(SmallStore(), channel(papers.tls(REQUIRED, trusted=papers.lab))) as stage:
        sender = await dial_tls(stage, papers.client(papers.lab))
        assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")
        await refused(stage, papers.client(papers.ward))


async def test_only_pinned_certificates_are_taken(papers: Papers) -> None:
    store = SmallStore()
    async with listening(store, channel(papers.tls(REQUIRED, pinned=(papers.lab,)))) as stage:
        sender = await dial_tls(stage, papers.client(papers.lab))
        assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")
        await refused(stage, papers.client(papers.ward))
        assert [turned["reason"] for turned in stage.notes.named("turned-away")] == ["certificate-not-pinned"]
        await stage.notes.until(lambda: stage.listener.connections == 1)
    assert len(store.offers) == 1


async def test_the_end_of_a_tls_connection_is_the_end_of_its_answers(papers: Papers) -> None:
    store = SmallStore(is_held=True)
    async with listening(store, channel(papers.tls())) as stage:
        sender = await dial_tls(stage, papers.client())
        offered = asyncio.Event()
        store.told = offered.set
        sender.say(f(m("A1")))
        async with asyncio.timeout(10):
            await offered.wait()
        sender.close()
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        store.release()
        again = await dial_tls(stage, papers.client())
        store.is_held = False
        assert msa(await again.ask(m("A1"))) == (b"AA", b"A1")
    assert len(store.rows) == 1


async def test_a_stop_answers_what_was_read_over_tls(papers: Papers) -> None:
    store = SmallStore(is_held=True)
    async with listening(store, channel(papers.tls())) as stage:
        sender = await dial_tls(stage, papers.client())
        offered = asyncio.Event()
        store.told = offered.set
        sender.say(f(m("A1")))
        async with asyncio.timeout(10):
            await offered.wait()
        stopping = asyncio.create_task(stage.listener.stop(grace=5))
        await asyncio.sleep(0)
        store.release()
        assert msa(await sender.hear()) == (b"AA", b"A1")
        sender.close()
        await stopping


async def test_a_refused_giant_gets_its_answer_over_tls(papers: Papers) -> None:
    options = replace(channel(papers.tls()), max_message_bytes=100_000)
    async with listening(SmallStore(), options) as stage:
        sender = await dial_tls(stage, papers.client())
        # It reads only when all is sent; if the gateway had closed by then, the answer would be lost in a reset.
        reading: Any = sender.writer.transport
        reading.pause_reading()
        sender.say(f(m("BIG", patient="X" * 8_000_000)))
        below = reading._ssl_protocol._transport
        async with asyncio.timeout(10):
            while below.get_write_buffer_size() and not below.is_closing():
                await asyncio.to_thread(lambda: None)
        reading.resume_reading()
        assert msa(await sender.hear())[0] == b"AE"


async def test_nothing_of_a_message_is_in_the_log(papers: Papers) -> None:
    async with listening(SmallStore(), channel(papers.tls(REQUIRED))) as stage:
        sender = await dial_tls(stage, papers.client(papers.lab))
        await sender.ask(m("A1"))
        await refused(stage, papers.client())
    assert "ANNA" not in repr(stage.notes.events)


@pytest.mark.parametrize("name", ["gone", "not-a-certificate", "another-key", "encrypted"])
async def test_files_that_cannot_be_used_refuse_the_start(tmp_path: Path, papers: Papers, name: str) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes(papers.server.cert.read_bytes())
    key.write_bytes(papers.server.key.read_bytes())
    words = {
        "gone": "cert.pem: no such file",
        "not-a-certificate": "cannot be used",
        "another-key": "key values mismatch",
        "encrypted": "the key is encrypted",
    }
    match name:
        case "gone":
            cert.unlink()
        case "not-a-certificate":
            cert.write_text("not a certificate", encoding="ascii")
        case "another-key":
            key.write_bytes(papers.lab.key.read_bytes())
        case _:
            papers.lock(papers.server.key, into=key)
    options = channel(replace(papers.tls(), cert_file=cert, key_file=key))
    with pytest.raises(CannotListen) as caught:
        async with listening(SmallStore(), options):
            pass
    assert words[name] in str(caught.value).lower()


async def test_a_key_may_stand_in_the_file_of_its_certificate(tmp_path: Path, papers: Papers) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(papers.server.cert.read_bytes() + papers.server.key.read_bytes())
    tls = replace(papers.tls(), cert_file=both, key_file=None)
    async with listening(SmallStore(), channel(tls)) as stage:
        sender = await dial_tls(stage, papers.client())
        assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")


async def test_a_channel_without_tls_takes_no_tls(papers: Papers) -> None:
    async with listening(SmallStore(), ChannelOptions(name=ADT)) as stage:
        await refused(stage, papers.client())
        assert stage.notes.counted("looks-like-tls")
