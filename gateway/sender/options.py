"""What a sending run is told, and what it tells back. Values only; no sockets, no files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Self

from gateway.errors import OperatorError
from gateway.ports.clock import NewId

MLLP_PORT = 2575
"""The port IANA registers for HL7 (RFC 6335 registry, service `hl7`)."""


class TargetInvalid(OperatorError):
    """`--to` does not name a host and a port; `text` is what was given."""

    def __init__(self, *, text: str) -> None:
        super().__init__(f"{text!r} is not HOST:PORT, for example 127.0.0.1:{MLLP_PORT} or [::1]:{MLLP_PORT}")
        self.text = text


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the listener is."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `HOST:PORT`; an IPv6 address stands in brackets. Raises TargetInvalid."""
        host, colon, port = text.rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        bare = host[1:-1] if bracketed else host
        if not (colon and bare and port.isascii() and port.isdigit() and 0 < int(port) <= 65535):
            raise TargetInvalid(text=text)
        if ":" in bare and not bracketed:
            raise TargetInvalid(text=text)
        return cls(host=bare, port=int(port))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsOptions:
    """TLS of a connection: the authority to trust (None: the system's), our own certificate for mutual TLS,
    the name to check (None: the target's host), and whether to check at all.
    """

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    server_name: str | None = None
    verify: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One message: `payload` is every byte between VT and FS, `origin` says where it came from (`file` or `file#2`)."""

    payload: bytes
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retransmit:
    """Send again, byte for byte, what silence or a lost connection left unanswered, as engines do.

    `pause` is in seconds, between attempts; `patience` in seconds since trouble began on a connection's place without
    one message brought to its end, after which the message is given up; `codes` are answers (MSA-1) that are also
    taken as "later, please".
    """

    pause: float = 0.2
    patience: float = 60.0
    codes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPlan:
    """What is sent where, and how.

    `repeat` sends the whole list that many times; `rate` is messages per second over all connections (None: as fast
    as answers come); `pipeline` is how many may be unanswered on one connection; `fresh_ids` gives each sending its own
    MSH-10 and touches no other byte (None: ids as they are); the timeouts are in seconds.
    """

    target: Target
    messages: tuple[Outgoing, ...]
    tls: TlsOptions | None = None
    repeat: int = 1
    rate: float | None = None
    fresh_ids: NewId | None = None
    answer_timeout: float = 30.0
    connect_timeout: float = 10.0
    connections: int = 1
    pipeline: int = 1
    retransmit: Retransmit | None = None
    max_answer_bytes: int = 16 << 20

    @property
    def total(self) -> int:
        """How many messages the run sends when all goes well."""
        return len(self.messages) * self.repeat


class Judgement(StrEnum):
    """What an answer, or its absence, means for the message."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    MISMATCH = "mismatch"
    SILENCE = "silence"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message about to be written: `number` counts messages from 1, `attempt` the writes of this one from 1,
    `connection` is the place (0-based) it is sent from. `payload` is exactly what goes between VT and FS.
    """

    number: int
    attempt: int
    connection: int
    origin: str
    control_id: bytes
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How one message ended, or (`extra`) an answer beyond the first: a second one, a late one, an application answer.

    `code` is MSA-1, `text` the receiver's reason when it gave one, `answer` the bytes between VT and FS (None: none
    came), `note` our own words when something was wrong, `elapsed` seconds from the last write. `retried` says that
    this judgement is not the end of the message: it is sent again.
    """

    judgement: Judgement
    number: int
    attempt: int
    connection: int
    origin: str
    control_id: bytes
    code: str | None = None
    text: str | None = None
    note: str | None = None
    answer: bytes | None = None
    elapsed: float = 0.0
    extra: bool = False
    retried: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SendReport:
    """The run in numbers. `counts` are final verdicts by judgement, extras not among them; `extras` likewise for
    answers beyond the first; `written` counts frames put on the wire, repeats included; `unsent` counts messages that
    never went out because the target could not be reached for the reason in `trouble`. `elapsed` is in seconds.
    """

    total: int
    written: int
    unsent: int
    elapsed: float
    counts: Mapping[Judgement, int] = field(default_factory=dict)
    extras: Mapping[Judgement, int] = field(default_factory=dict)
    trouble: str | None = None

    @property
    def exit_code(self) -> int:
        """Give 0 when every message got its positive answer and nothing else came, 1 otherwise."""
        clean = self.counts.get(Judgement.POSITIVE, 0) == self.total
        return 0 if clean and not any(n for kind, n in self.extras.items() if kind is not Judgement.POSITIVE) else 1
