"""What a person reads: rows, events, channel summaries, leases."""

from dataclasses import dataclass, field
from uuid import UUID

from gateway.model.clock import Due
from gateway.model.ids import ChannelName, RowId
from gateway.model.states import AnswerState, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One stored message without its content. Times are Unix milliseconds."""

    id: UUID
    row: RowId
    channel: ChannelName
    state: State
    error_code: str | None
    control_id: bytes
    message_type: str
    sender: str
    version: str
    sequence: int | None
    inbound_sequence: str
    declared_charset: str
    encoding: str
    flags: tuple[str, ...]
    partition: str
    barrier: bool
    sends: int
    attempts: int
    generation: int
    link_losses: int
    epoch: int | None
    repeats: int
    size: int
    sha256: bytes
    remote: str
    received_at: int
    first_sent_at: int | None
    settled_at: int | None
    due: Due | None
    answer_state: AnswerState


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredContent:
    """The bytes kept beside a row; `original` is None once retention took it."""

    original: bytes | None
    commit_answer: bytes
    application_answer: bytes | None
    server_status: int | None
    server_body: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One event: who moved which row from where to where, when, under which epoch, and why."""

    id: int
    row: RowId | None
    channel: ChannelName | None
    at: int
    actor: str
    kind: str
    from_state: State | None
    to_state: State | None
    send: int | None
    epoch: int | None
    code: str | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """A partition nothing is claimed of until its row is decided or the halt is lifted; None: the whole channel."""

    channel: ChannelName
    partition: str | None
    row: RowId | None
    who: str
    why: str
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSummary:
    """One channel at a glance. `depth` counts queued, claimed and inflight rows; times are Unix milliseconds.

    `anomalies` says how often each kind was met since the store was made.
    """

    channel: ChannelName
    counts: dict[State, int]
    depth: int
    oldest_at: int | None
    head: RowId | None
    head_state: State | None
    head_attempts: int
    head_due: Due | None
    last_error: str | None
    last_sequence: int | None
    in_review: int
    halted: tuple[Halt, ...]
    anomalies: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A channel's last sequence number: of one sender (MSH-3 and MSH-4, joined by `|`), or None: its own (`stamp`)."""

    sender: str | None
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseView:
    """Who leads a dispatch group."""

    group: str
    holder: str | None
    epoch: int
    expires_in: int | None
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Which rows to list, oldest first."""

    channel: ChannelName | None = None
    states: tuple[State, ...] = ()
    control_id: bytes | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing `verify` found wrong: a fixed `kind`, the row it is about, and a sentence without content."""

    kind: str
    row: RowId | None
    text: str
