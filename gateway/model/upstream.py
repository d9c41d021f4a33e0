"""What comes back from the server, as facts; what it means is decided in core."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class Extension(StrEnum):
    """Extensions a server may grant (PROTOCOL, section 4)."""

    DEDUPE = "dedupe"
    STATUS = "status"
    RECEIPT = "receipt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What the server of this connection granted; `dedupe_window` in seconds if it keeps outcomes for repeats."""

    extensions: frozenset[Extension] = frozenset()
    dedupe_window: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """The correlation of one send: `Agent/<agent>-<row uuid>#<generation>.<send>`."""

    agent: str
    row: UUID
    generation: int
    send: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Msa:
    """MSA of an answer body: `code` MSA-1, `control_id` MSA-2 in the body's text, `errors` ERR codes (table 0357)."""

    code: str
    control_id: str
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A transmit response: `status` None means absent; `begins_msh` tells whether the body looks like HL7.

    `msa` is None when the body holds no readable MSA. `retry_after` is in seconds, already bounded by the reader.
    """

    status: int | None
    body: str | None
    begins_msh: bool
    msa: Msa | None
    retry_after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorAnswer:
    """`agent:error` with the callback of one send."""

    body: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unattributed:
    """`agent:error` without a callback, while exactly this request of the connection was unanswered."""

    body: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """No answer within the response timeout, counted from when the frame had left the write buffer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLost:
    """The link went down after the write. `too_large`: closed with 1009 and only this row was in flight."""

    too_large: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """Not one byte was handed to the socket, and this process knows it."""


Outcome = Answer | ErrorAnswer | Unattributed | Silence | LinkLost | Unsent


class Known(StrEnum):
    """What a server that grants `status` says of a callback."""

    DONE = "done"
    RUNNING = "running"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusResult:
    """One line of a status response; `answer` only when `done`."""

    callback: Callback
    known: Known
    answer: Answer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StrayAnswer:
    """An answer no send of this connection waits for: late, repeated, or of an earlier connection."""

    callback: Callback
    outcome: Answer | ErrorAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Transmit:
    """One send, ready to be written: the text `body` is already decoded and stamped."""

    channel: str
    remote: str
    body: str
    callback: Callback
