"""Certificates over time: renewed while connections stay open, and told of before they end."""

import base64
import os
import shutil
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from gateway.errors import PortTaken
from gateway.listener import tls_files
from gateway.listener.options import TlsOptions
from gateway.listener.server import Listener
from gateway.listener.tls_expiry import earliest_end
from gateway.listener.tls_files import DAY_MS, TlsFiles
from gateway.model.policy import ClientCert
from tests.listener.papers import Paper, Papers, channel, dial_tls
from tests.listener.stage import ADT, Clock, Ids, LoopTime, Notes, SmallStore, Stage, listening, m, msa


@pytest.fixture
def live(tmp_path: Path, papers: Papers) -> TlsOptions:
    """Give a channel whose files are its own, so that a test may change them."""
    tls = replace(
        papers.tls(ClientCert.REQUIRED),
        cert_file=tmp_path / "cert.pem",
        key_file=tmp_path / "key.pem",
        client_ca_file=tmp_path / "ca.pem",
    )
    put(papers.server, tls)
    shutil.copy(papers.authority.cert, tmp_path / "ca.pem")
    return tls


def put(paper: Paper, tls: TlsOptions) -> None:
    assert tls.key_file is not None
    shutil.copy(paper.cert, tls.cert_file)
    shutil.copy(paper.key, tls.key_file)


async def shown(stage: Stage, client: ssl.SSLContext) -> str:
    """Connect, exchange a message, and give the fingerprint of the certificate the gateway showed."""
    sender = await dial_tls(stage, client)
    assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")
    der = sender.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return fingerprint_of(der)


def fingerprint_of(der: bytes) -> str:
    return sha256(der).hexdigest()


async def test_new_handshakes_use_new_files_and_open_connections_stay(live: TlsOptions, papers: Papers) -> None:
    renewed = papers.made("renewed", "/CN=localhost", names="DNS:localhost")
    client = papers.client(papers.lab)
    async with listening(SmallStore(), channel(live)) as stage:
        old = await dial_tls(stage, client)
        assert msa(await old.ask(m("B1"))) == (b"AA", b"B1")
        put(renewed, live)
        assert await shown(stage, client) == renewed.fingerprint
        assert msa(await old.ask(m("B2"))) == (b"AA", b"B2")
        assert len(stage.notes.named("certificates-loaded")) == 1
        assert await shown(stage, client) == renewed.fingerprint
        assert len(stage.notes.named("certificates-loaded")) == 1


async def test_a_file_put_in_the_place_of_another_of_its_size_and_time_is_noticed(
    live: TlsOptions, papers: Papers, tmp_path: Path
) -> None:
    async with listening(SmallStore(), channel(live)) as stage:
        before = live.cert_file.stat()
        copy = tmp_path / "copy.pem"
        shutil.copy(live.cert_file, copy)
        os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
        copy.replace(live.cert_file)
        await shown(stage, papers.client(papers.lab))
        assert len(stage.notes.named("certificates-loaded")) == 1


@pytest.mark.parametrize(
    ("breakage", "reason"),
    [
        ("garbage", "not a certificate and its key"),
        ("gone", "cert.pem: No such file or directory"),
        ("half", "key values mismatch"),
    ],
)
async def test_new_files_that_cannot_be_used_leave_the_old_ones_in_force(
    live: TlsOptions, papers: Papers, breakage: str, reason: str
) -> None:
    renewed = papers.made(f"renewed-{breakage}", "/CN=localhost", names="DNS:localhost")
    client = papers.client(papers.lab)
    async with listening(SmallStore(), channel(live)) as stage:
        match breakage:
            case "garbage":
                live.cert_file.write_text("not yet written", encoding="ascii")
            case "gone":
                live.cert_file.unlink()
            case _:
                shutil.copy(renewed.cert, live.cert_file)
        for _ in range(2):
            assert await shown(stage, client) == papers.server.fingerprint
        (unusable,) = stage.notes.named("certificates-unusable")
        assert unusable["channel"] == "adt"
        assert str(unusable["reason"]).endswith(reason)
        put(renewed, live)
        assert await shown(stage, client) == renewed.fingerprint


async def test_broken_files_are_told_of_before_anybody_connects(live: TlsOptions) -> None:
    async with listening(SmallStore(), channel(live)) as stage:
        time = LoopTime()
        live.cert_file.write_text("broken", encoding="ascii")
        time.move(tls_files.CHECK_EVERY + 1)
        await stage.notes.until(lambda: bool(stage.notes.named("certificates-unusable")))


async def test_nothing_is_looked_at_any_more_after_the_end(live: TlsOptions) -> None:
    async with listening(SmallStore(), channel(live)) as stage:
        await stage.listener.stop(grace=1)
        files = stage.listener._files
        assert files is not None
        assert files._timer is not None
        assert files._timer.cancelled()
        host, port = stage.listener.address
        with socket.create_server((host, port)):
            again = Listener(
                replace(channel(live), port=port),
                store=SmallStore(),
                observer=Notes(),
                clock=Clock(),
                new_id=Ids(),
            )
            with pytest.raises(PortTaken):
                await again.start()
        assert again._files is not None
        assert again._files._timer is not None
        assert again._files._timer.cancelled()


async def test_a_new_authority_counts_from_the_next_handshake(live: TlsOptions, papers: Papers, tmp_path: Path) -> None:
    foreign = papers.made("foreign", "/CN=lab", by=papers.other_authority)
    async with listening(SmallStore(), channel(live)) as stage:
        shutil.copy(papers.other_authority.cert, tmp_path / "ca.pem")
        assert await shown(stage, papers.client(foreign)) == papers.server.fingerprint
        with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
            await shown_or_refused(stage, papers.client(papers.lab))
        await stage.notes.until(lambda: bool(stage.notes.named("tls-failed")))


async def shown_or_refused(stage: Stage, client: ssl.SSLContext) -> None:
    sender = await dial_tls(stage, client)
    assert await sender.rest() != b""


async def test_openssl_does_not_remember_sessions_without_end(
    live: TlsOptions, papers: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_files, "MOST_SESSIONS", 3)
    client = papers.client(papers.lab)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    client.options |= ssl.OP_NO_TICKET
    async with listening(SmallStore(), channel(live)) as stage:
        files = stage.listener._files
        assert files is not None
        most = 0
        for _ in range(10):
            await shown(stage, client)
            assert files._context is not None
            most = max(most, files._context.session_stats()["number"])
        assert most == 3


@pytest.fixture
def quiet(papers: Papers) -> Iterator[tuple[TlsFiles, Notes, Clock]]:
    """Give the files of a channel by themselves."""
    notes, clock = Notes(), Clock()
    tls = papers.tls(ClientCert.REQUIRED)
    files = TlsFiles(tls, channel=ADT, observer=notes, clock=clock)
    yield files, notes, clock
    files.close()


async def test_the_end_of_a_certificate_is_told_at_30_7_and_1_days_and_when_it_is_over(
    quiet: tuple[TlsFiles, Notes, Clock],
) -> None:
    files, notes, clock = quiet
    files.open()
    end = files.ends["cert"]
    time, told = LoopTime(), []
    for left in (31, 30, 29, 8, 7, 6.5, 2, 1, 0.5, 0, -1, -40):
        clock.wall = end - round(left * DAY_MS)
        files._check()
        told += [(left, name, facts["days"]) for name, facts in notes.events if facts.get("file") == "cert"]
        notes.events.clear()
        time.move(0)
    assert told == [
        (30, "certificate-expires", 30),
        (7, "certificate-expires", 7),
        (1, "certificate-expires", 1),
        (0, "certificate-expired", 0),
    ]


async def test_a_certificate_near_its_end_is_told_of_at_the_start_once(papers: Papers, live: TlsOptions) -> None:
    put(papers.made("short", "/CN=localhost", days=5), live)
    notes, clock = Notes(), Clock()
    files = TlsFiles(live, channel=ADT, observer=notes, clock=clock)
    ends = earliest_end(live.cert_file.read_bytes())
    assert ends is not None
    clock.wall = ends - 5 * DAY_MS
    files.open()
    assert notes.events == [("certificate-expires", {"channel": "adt", "file": "cert", "days": 5})]
    put(papers.server, live)
    files.current()
    assert [name for name, _ in notes.events] == ["certificate-expires", "certificates-loaded"]
    files.close()


async def test_the_end_is_told_while_the_gateway_runs(papers: Papers) -> None:
    async with listening(SmallStore(), channel(papers.tls(ClientCert.REQUIRED))) as stage:
        time = LoopTime()
        ends = stage.listener.certificate_ends
        assert set(ends) == {"cert", "client-ca"}
        stage.clock.wall = ends["client-ca"] - 6 * DAY_MS
        time.move(tls_files.CHECK_EVERY + 1)
        await stage.notes.until(lambda: len(stage.notes.named("certificate-expires")) == 2)
        assert {note["file"] for note in stage.notes.named("certificate-expires")} == {"cert", "client-ca"}


def test_the_end_is_the_one_openssl_reads(papers: Papers) -> None:
    decode = ssl._ssl._test_decode_cert  # type: ignore[attr-defined]  # the only other reader at hand
    for paper in (papers.server, papers.lab, papers.authority):
        expected = ssl.cert_time_to_seconds(decode(str(paper.cert))["notAfter"]) * 1000
        assert earliest_end(paper.cert.read_bytes()) == expected


def test_a_chain_ends_with_the_first_of_its_certificates(papers: Papers) -> None:
    short = papers.made("short-lived", "/CN=x", days=3)
    chain = papers.server.cert.read_bytes() + short.cert.read_bytes() + papers.authority.cert.read_bytes()
    assert earliest_end(chain) == earliest_end(short.cert.read_bytes())


def tlv(tag: int, *parts: bytes) -> bytes:
    value = b"".join(parts)
    size = len(value)
    length = bytes([size]) if size < 0x80 else b"\x82" + size.to_bytes(2, "big")
    return bytes([tag]) + length + value


def pem(not_after: bytes, *, version: bytes = b"\xa0\x03\x02\x01\x02") -> bytes:
    """Build as much of a certificate as is read."""
    validity = tlv(0x30, tlv(0x17, b"250101000000Z"), not_after)
    head = [version, tlv(0x02, b"\x01"), tlv(0x30, b"x" * 200), tlv(0x30), validity]
    body = base64.encodebytes(tlv(0x30, tlv(0x30, *head, tlv(0x30))))
    return b"-----BEGIN CERTIFICATE-----\n" + body + b"-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("not_after", "year"),
    [
        (tlv(0x17, b"491231235959Z"), 2049),
        (tlv(0x17, b"500101000000Z"), 1950),
        (tlv(0x18, b"20501231235959Z"), 2050),
    ],
)
@pytest.mark.parametrize("version", [b"\xa0\x03\x02\x01\x02", b""])
def test_both_kinds_of_time_and_both_of_version_are_read(not_after: bytes, year: int, version: bytes) -> None:
    found = earliest_end(pem(not_after, version=version))
    assert found is not None
    assert datetime.fromtimestamp(found / 1000, UTC).year == year


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"nothing here",
        b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----",
        b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----",
        b"-----BEGIN CERTIFICATE-----\n\n-----END CERTIFICATE-----",
        b"-----BEGIN CERTIFICATE-----\nAgEB\n-----END CERTIFICATE-----",
        pem(tlv(0x17, b"991332000000Z")),
        pem(tlv(0x17, b"\xff\xfe")),
        pem(tlv(0x02, b"491231235959Z")),
    ],
)
def test_what_is_no_certificate_has_no_end(text: bytes) -> None:
    assert earliest_end(text) is None
