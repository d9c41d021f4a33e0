"""What one channel's listener is told. Values only: it never reads a file or an environment."""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from gateway.model.ids import ChannelName
from gateway.model.intake import FOURTEEN_DAYS
from gateway.model.policy import (
    AckMode,
    BatchMode,
    ClientCert,
    Framing,
    OnCollision,
    OnDeadline,
    OnFailedRetransmit,
    OnUnavailable,
    SequenceMode,
    TlsVersion,
)

BARRIERS = frozenset(f"ADT^A{event}" for event in (17, 18, 24, 30, 34, 35, 36, 37, *range(39, 52)))
"""Events that move or merge patients, visits or beds (HL7 ch. 3): everything before them must be settled."""

ADDRESSING = ("MSH-3", "MSH-4", "MSH-10")
"""The default dedupe key: who sent it, and the sender's own name for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AckOptions:
    """Who answers the sender and when; `deadline` in seconds."""

    mode: AckMode = AckMode.COMMIT
    deadline: float = 30.0
    on_deadline: OnDeadline = OnDeadline.AR
    unavailable: OnUnavailable = OnUnavailable.AR


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptOptions:
    """Which messages are taken; an empty set takes all. Types are `ADT` or `ADT^A01`."""

    types: frozenset[str] = frozenset()
    versions: frozenset[str] = frozenset()
    processing_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderOptions:
    """Who a certificate stands for, and as whom its messages may come.

    It is this sender's when everything given is so: `subject` attributes by their long names, a `dns` name of the
    subject's alternative names, the SHA-256 `fingerprint` of the certificate in lower-case hex. Empty `msh3` or
    `msh4`: any value. A value without `^` is compared with the first component.
    """

    name: str
    subject: tuple[tuple[str, str], ...] = ()
    dns: str | None = None
    fingerprint: str | None = None
    msh3: tuple[str, ...] = ()
    msh4: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsOptions:
    """How a channel speaks TLS.

    `key_file` None: the key stands in `cert_file`. `client_ca_file` holds what is trusted to vouch for senders:
    authorities, or senders' own certificates. `pinned` (SHA-256, lower-case hex) empty: every trusted certificate.
    `handshake_timeout` in seconds.
    """

    cert_file: Path
    key_file: Path | None = None
    min_version: TlsVersion = TlsVersion.V1_2
    client_cert: ClientCert = ClientCert.NONE
    client_ca_file: Path | None = None
    pinned: frozenset[str] = frozenset()
    senders: tuple[SenderOptions, ...] = ()
    handshake_timeout: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a connection is borne with, in seconds. `frame` and `idle` are an administrator's, the others ours.

    `idle` 0 means for ever. `silence` ends a frame whose CR is missing; `pause` bounds how long reading stops at a
    time; `write` how long a peer may leave its answers unread; `linger` how long the rest of a refused frame is
    read and thrown away, so that the answer is not lost in a reset; `audit` how long an answer waits for its
    audit row; `rate` is the slowest tolerated frame in bytes per second.
    """

    frame: float = 30.0
    idle: float = 0.0
    silence: float = 1.0
    pause: float = 5.0
    write: float = 30.0
    linger: float = 2.0
    audit: float = 2.0
    rate: int = 16 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelOptions:
    """One channel's intake.

    `host` and `port` are bound (port 0 picks a free one). `dedupe_key` holds MSH paths;
    `dedupe_window` is in ms, from when a row was settled. `encoding` fixed for the
    channel, or None: MSH-18 decides, `default_encoding` where it is empty; `fallback_encoding` reads bytes that do
    not fit (`windows-1252`), or `reject`. `order_by` None (or empty): one strict order; else the fields whose values
    order separately. `allow` empty: every address. `rate_limit` in messages per second for the channel, 0: none.
    `tls` None: plain text.
    """

    name: ChannelName
    host: str = "127.0.0.1"
    port: int = 0
    framing: Framing = Framing.TOLERANT
    max_message_bytes: int = 16 << 20
    max_connections: int = 256
    max_connections_per_address: int = 128
    max_pipelined: int = 64
    patience: Patience = Patience()
    ack: AckOptions = AckOptions()
    dedupe_key: tuple[str, ...] = ADDRESSING
    dedupe_window: int = FOURTEEN_DAYS
    on_collision: OnCollision = OnCollision.REJECT
    on_failed_retransmit: OnFailedRetransmit = OnFailedRetransmit.KEEP
    require_control_id: bool = True
    accept: AcceptOptions = AcceptOptions()
    sequence: SequenceMode = SequenceMode.OFF
    encoding: str | None = None
    default_encoding: str = "utf-8"
    fallback_encoding: str = "windows-1252"
    order_by: tuple[str, ...] | None = None
    order_barrier: frozenset[str] = BARRIERS
    allow: tuple[IPv4Network | IPv6Network, ...] = ()
    rate_limit: float = 0.0
    batch: BatchMode = BatchMode.SPLIT
    tls: TlsOptions | None = None
