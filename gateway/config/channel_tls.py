"""The tables channel.tls and channel.tls.senders: whom a port is, and who may send to it. Reads no file."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from gateway.config.values import Fingerprint, Location, Name, Seconds, Table
from gateway.model.policy import ClientCert, TlsVersion

ATTRIBUTES = {
    "CN": "commonName",
    "O": "organizationName",
    "OU": "organizationalUnitName",
    "L": "localityName",
    "ST": "stateOrProvinceName",
    "C": "countryName",
    "DC": "domainComponent",
    "UID": "userId",
    "SERIALNUMBER": "serialNumber",
    "EMAILADDRESS": "emailAddress",
}
"""Short names of subject attributes (RFC 4514, section 3), and OpenSSL's."""

_PART = re.compile(r"(?:[^,\\]|\\.)+")
_EXAMPLES = '"CN=lab" or "CN=lab,O=Hospital"'


def attributes(subject: str) -> tuple[tuple[str, str], ...]:
    r"""Read `CN=lab,O=Hospital` as attributes by their long names; `\,` is a comma. Raises ValueError."""
    parts = _PART.findall(subject)
    if not parts or ",".join(parts) != subject:
        raise ValueError(
            rf"must be attributes with one comma between them, as in {_EXAMPLES}; \, is a comma of a value"
        )
    return tuple(_attribute(part) for part in parts)


def _attribute(part: str) -> tuple[str, str]:
    short, _, value = part.partition("=")
    name = ATTRIBUTES.get(short.strip().upper())
    value = re.sub(r"\\(.)", r"\1", value.strip())
    if name is None or not value:
        raise ValueError(f"must be attributes of the subject, as in {_EXAMPLES}; known are {', '.join(ATTRIBUTES)}")
    return name, value


def _subject(text: str) -> str:
    attributes(text)
    return text


def _host_name(text: str) -> str:
    if not re.fullmatch(r"(?=.{1,253}$)[A-Za-z0-9_*]([A-Za-z0-9_.-]*[A-Za-z0-9])?", text):
        raise ValueError("must be a DNS name such as engine.lab.example")
    return text


def _msh_value(text: str) -> str:
    if len(text) > 227 or not text.isprintable() or "|" in text:
        raise ValueError("must be a value of the field as one line, at most 227 characters; components stand between ^")
    return text


Subject = Annotated[str, AfterValidator(_subject)]
DnsName = Annotated[str, AfterValidator(_host_name)]
MshValue = Annotated[str, AfterValidator(_msh_value)]


class TlsSender(Table):
    """Whom a certificate stands for, and as whom its messages may come."""

    name: Name = Field(
        description="The sender's name; part of its duplicate key, so that a new certificate changes nothing. The "
        "certificate must be as `subject`, `dns` and `fingerprint` say, whichever are given; the first sender that "
        "fits counts.",
        examples=["lab"],
    )
    subject: Subject | None = Field(
        default=None,
        description="Attributes that the certificate's subject must hold.",
        examples=["CN=lab,O=Hospital"],
    )
    dns: DnsName | None = Field(
        default=None,
        description="A DNS name that must be among the certificate's alternative names.",
        examples=["engine.lab.example"],
    )
    fingerprint: Fingerprint | None = Field(
        default=None, description="SHA-256 of the certificate.", examples=["9f86d081" * 8]
    )
    msh3: tuple[MshValue, ...] = Field(
        default=(),
        description="MSH-3 values it may send with (AR / CE, ERR 103 else); without `^`: the first component. "
        "Empty: any.",
        examples=[["LAB"]],
    )
    msh4: tuple[MshValue, ...] = Field(default=(), description="The same for MSH-4.", examples=[["WEST"]])


class ChannelTls(Table):
    """How a channel speaks TLS: 1.2 with AEAD suites and forward secrecy, and 1.3."""

    cert_file: Location = Field(
        description="PEM file with the gateway's certificate, then those that vouch for it; with it the channel speaks "
        "TLS. All files of this table are read again when they change.",
        examples=["server.pem"],
    )
    key_file: Location | None = Field(
        default=None,
        description="PEM file with its key, without a password. Not set: the key stands in `cert_file`.",
        examples=["server.key"],
    )
    min_version: TlsVersion = Field(
        default=TlsVersion.V1_2, description="The oldest version of TLS spoken.", examples=["1.2"]
    )
    client_cert: ClientCert = Field(
        default=ClientCert.NONE,
        description="Whether a sender must show a certificate. With `optional`, one that shows none may not use an "
        "MSH-3 and MSH-4 that `senders` gives to another.",
        examples=["required"],
    )
    client_ca_file: Location | None = Field(
        default=None,
        description="PEM file with the authorities that vouch for senders, or with senders' own certificates.",
        examples=["senders-ca.pem"],
    )
    pinned: tuple[Fingerprint, ...] = Field(
        default=(),
        description="SHA-256 of the only certificates taken, of those `client_ca_file` vouches for; empty: all.",
        examples=[["9f86d081" * 8]],
    )
    handshake_timeout: Seconds = Field(
        default=10.0, gt=0, le=300, description="Seconds a handshake may take.", examples=[10]
    )
    senders: tuple[TlsSender, ...] = Field(
        default=(),
        description="Senders by their certificates. A certificate that fits none is refused; empty: all may send as "
        "anybody.",
    )
