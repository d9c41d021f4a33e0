"""Certificates for the tests, made when they are needed, by the openssl command; and both ends of a handshake."""

import asyncio
import os
import shutil
import ssl
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from gateway.listener.options import ChannelOptions, SenderOptions, TlsOptions
from gateway.model.policy import ClientCert
from tests.listener.stage import ADT, Sender, Stage

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Paper:
    """A certificate and its key."""

    cert: Path
    key: Path

    @property
    def fingerprint(self) -> str:
        return sha256(ssl.PEM_cert_to_DER_cert(self.cert.read_text(encoding="ascii"))).hexdigest()


class Papers:
    """A folder of certificates: authorities sign, everyone else is signed."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            reason = "openssl is missing: TLS of the listener is not tested"
            if os.environ.get("CI"):
                pytest.fail(reason)
            pytest.skip(reason)
        self._folder = folder
        self.authority = self._signed_by_itself("authority")
        self.other_authority = self._signed_by_itself("other-authority")
        self.server = self.made("server", "/CN=localhost", names="DNS:localhost,IP:127.0.0.1")
        self.lab = self.made("lab", "/O=Hospital/CN=lab", names="DNS:lab.test")
        self.ward = self.made("ward", "/O=Hospital/CN=ward", names="DNS:ward.test")

    def made(
        self, name: str, subject: str, *, names: str = "DNS:none.test", days: int = 300, by: Paper | None = None
    ) -> Paper:
        """Sign a certificate."""
        by = by or self.authority
        paper = Paper(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"basicConstraints=critical,CA:FALSE\nsubjectAltName={names}\n", encoding="ascii")
        request = self._folder / f"{name}.csr"
        _openssl("req", "-new", *_KEY, "-subj", subject, "-keyout", paper.key, "-out", request)
        signing = ("-CA", by.cert, "-CAkey", by.key, "-days", days, "-extfile", extensions, "-out", paper.cert)
        _openssl("x509", "-req", "-in", request, *signing)
        return paper

    def alone(self, name: str) -> Paper:
        """Make a certificate that nobody signed but its owner."""
        return self._signed_by_itself(name, "-addext", "basicConstraints=critical,CA:FALSE")

    def _signed_by_itself(self, name: str, *more: str) -> Paper:
        paper = Paper(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        subject = ("-days", "300", "-subj", f"/CN={name}")
        _openssl("req", "-x509", *_KEY, *subject, *more, "-keyout", paper.key, "-out", paper.cert)
        return paper

    def lock(self, key: Path, *, into: Path) -> None:
        """Encrypt a key with a password."""
        _openssl("ec", "-aes256", "-passout", "pass:x", "-in", key, "-out", into)

    def client(self, paper: Paper | None = None) -> ssl.SSLContext:
        """Give a sender's side, which trusts our authority and shows a certificate of its own, if any."""
        context = ssl.create_default_context(cafile=str(self.authority.cert))
        if paper is not None:
            context.load_cert_chain(paper.cert, paper.key)
        return context

    def tls(
        self,
        client_cert: ClientCert = ClientCert.NONE,
        *,
        trusted: Paper | None = None,
        pinned: tuple[Paper, ...] = (),
        senders: tuple[SenderOptions, ...] = (),
    ) -> TlsOptions:
        """Give a channel's side."""
        asks = client_cert is not ClientCert.NONE
        return TlsOptions(
            cert_file=self.server.cert,
            key_file=self.server.key,
            client_cert=client_cert,
            client_ca_file=(trusted or self.authority).cert if asks else None,
            pinned=frozenset(paper.fingerprint for paper in pinned),
            senders=senders,
        )


def channel(tls: TlsOptions) -> ChannelOptions:
    """Give the channel of the cases, with TLS."""
    return ChannelOptions(name=ADT, tls=tls)


async def dial_tls(stage: Stage, context: ssl.SSLContext) -> Sender:
    """Connect and shake hands."""
    async with asyncio.timeout(10):
        connection = await asyncio.open_connection(*stage.listener.address, ssl=context, server_hostname="localhost")
    sender = Sender(*connection)
    stage.senders.append(sender)
    return sender


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
