import os
import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.sender.connection import TlsUnusable
from gateway.sender.options import Judgement, SendPlan, SendReport, TlsOptions
from gateway.sender.send import send
from tests.sender.listening import Listening, outgoing


@dataclass(frozen=True)
class Papers:
    """One self-signed certificate for 127.0.0.1 and `gateway.test`, and one for our own side."""

    cert: Path
    key: Path
    client_cert: Path
    client_key: Path

    def server(self, *, mutual: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.key)
        if mutual:
            context.load_verify_locations(self.client_cert)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def self_signed(folder: Path, name: str, subject: str) -> tuple[Path, Path]:
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={subject}"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return cert, key


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    if shutil.which("openssl") is None:
        reason = "openssl is missing: TLS of the sender is not tested"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("tls")
    cert, key = self_signed(folder, "server", "IP:127.0.0.1,DNS:gateway.test")
    client_cert, client_key = self_signed(folder, "client", "DNS:client.test")
    return Papers(cert, key, client_cert, client_key)


async def sent(listening: Listening, tls: TlsOptions | None) -> SendReport:
    return await send(SendPlan(target=listening.target, messages=outgoing("A"), tls=tls, answer_timeout=5.0))


async def test_a_trusted_certificate_carries_messages_and_answers(papers: Papers) -> None:
    async with Listening(context=papers.server()) as listening:
        report = await sent(listening, TlsOptions(ca_file=papers.cert))
    assert report.counts == {Judgement.POSITIVE: 1}


async def test_an_untrusted_certificate_gets_no_message(papers: Papers) -> None:
    async with Listening(context=papers.server()) as listening:
        report = await sent(listening, TlsOptions(ca_file=papers.client_cert))
    assert (report.written, report.unsent, listening.heard) == (0, 1, [])
    assert report.trouble is not None
    assert "certificate verify failed" in report.trouble.lower()


async def test_the_name_in_the_certificate_is_checked(papers: Papers) -> None:
    async with Listening(context=papers.server()) as listening:
        wrong = await sent(listening, TlsOptions(ca_file=papers.cert, server_name="other.test"))
        right = await sent(listening, TlsOptions(ca_file=papers.cert, server_name="gateway.test"))
    assert (wrong.unsent, right.counts) == (1, {Judgement.POSITIVE: 1})


async def test_checking_can_be_switched_off_on_purpose(papers: Papers) -> None:
    async with Listening(context=papers.server()) as listening:
        report = await sent(listening, TlsOptions(verify=False))
    assert report.counts == {Judgement.POSITIVE: 1}


async def test_our_own_certificate_is_shown_when_it_is_asked_for(papers: Papers) -> None:
    own = TlsOptions(ca_file=papers.cert, cert_file=papers.client_cert, key_file=papers.client_key)
    async with Listening(context=papers.server(mutual=True)) as listening:
        report = await sent(listening, own)
    assert report.counts == {Judgement.POSITIVE: 1}


async def test_a_plain_listener_gets_no_message_over_tls(papers: Papers) -> None:
    async with Listening() as listening:
        plan = SendPlan(
            target=listening.target, messages=outgoing("A"), tls=TlsOptions(verify=False), connect_timeout=0.1
        )
        report = await send(plan)
    assert (report.written, report.trouble) == (0, "no connection within 0.1 s")


async def test_files_that_are_no_certificates_are_named(tmp_path: Path, papers: Papers) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")
    async with Listening() as listening:
        for options in (TlsOptions(ca_file=bad), TlsOptions(ca_file=papers.cert, cert_file=bad)):
            with pytest.raises(TlsUnusable, match=r"bad\.pem"):
                await sent(listening, options)
        with pytest.raises(TlsUnusable, match=r"none\.pem: No such file"):
            await sent(listening, TlsOptions(ca_file=tmp_path / "none.pem"))
    assert listening.streams == []
