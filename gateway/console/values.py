"""What the operator's acts and questions give back. Values only; formatting belongs to whoever shows them."""

from dataclasses import dataclass
from enum import StrEnum

from gateway.errors import OperatorError
from gateway.model.ids import ChannelName, RowId
from gateway.model.review import ChannelSummary, EventRow, LeaseView, Row
from gateway.model.states import State


class NotFound(OperatorError):
    """The name or id names nothing of this gateway."""

    def __init__(self, *, what: str) -> None:
        super().__init__(f"{what} names no message and no channel of this gateway")
        self.what = what


class ContentGone(OperatorError):
    """The row is there, but its bytes are not: never kept (a broken frame), or taken by retention."""

    def __init__(self, *, row: RowId) -> None:
        super().__init__(f"the bytes of row {row} are not kept")
        self.row = row


class ReasonMissing(OperatorError):
    """An act without a reason; every act is recorded with who and why."""

    def __init__(self) -> None:
        super().__init__("a reason is needed: it is recorded with your name")


class Waiting(StrEnum):
    """What a row or a channel waits for, in one word."""

    NOTHING = "nothing"
    PERSON = "person"
    HALTED = "halted"
    BEHIND = "behind"
    LEADER = "leader"
    LINK = "link"
    BACKOFF = "backoff"
    ANSWER = "answer"
    TURN = "turn"
    UNDRIVEN = "undriven"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why something waits: the word, one sentence, the row it waits for, and until when (Unix ms), if known."""

    waits_for: Waiting
    sentence: str
    row: RowId | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """An answered `why`: about a channel, or about one row of it."""

    channel: ChannelName
    row: RowId | None
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelStatus:
    """One channel at a glance, with what its head waits for. `upstream` is None if nobody is set to drive it."""

    summary: ChannelSummary
    upstream: str | None
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The whole gateway at a glance; `at` is Unix time in milliseconds."""

    at: int
    channels: tuple[ChannelStatus, ...]
    leases: tuple[LeaseView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldView:
    """One field of a segment without its content: `length` in characters; `value` only where it is safe to show."""

    path: str
    length: int
    repetitions: int
    components: int
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentView:
    """One line of a message. `name` is `???` when the line does not begin like a segment; `length` in characters."""

    name: str
    length: int
    fields: tuple[FieldView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A message's shape. `flaw` is a fixed phrase when the parser could not read all of it."""

    segments: tuple[SegmentView, ...]
    flaw: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """The answers kept beside a row, without content: ack codes and sizes in bytes (None: there is none)."""

    commit_code: str | None
    commit_size: int
    application_code: str | None
    application_size: int | None
    server_status: int | None
    server_code: str | None
    server_size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a channel is set to read characters today: `fixed` for all, else MSH-18, `default` where that is empty or
    unknown; `fallback` for bytes that do not fit.
    """

    fixed: str | None
    default: str
    fallback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Everything `show` tells of one row. `outline` and `replies` are None where the content is not kept, `reading`
    where the channel is not configured any more.
    """

    row: Row
    reason: Reason
    events: tuple[EventRow, ...]
    replies: Replies | None
    outline: Outline | None
    reading: Reading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSet:
    """A sender's last sequence number, set by a person and recorded (None: no number is stored)."""

    channel: ChannelName
    sender: str
    before: int | None
    last: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """An act that is done and recorded: the row as it stands now, and a warning if there is one."""

    row: RowId
    state: State
    generation: int
    warning: str | None = None
