"""A message on its way in: what the listener offers, what the store gives back."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from gateway.model.ids import ChannelName, ControlId, RowId
from gateway.model.policy import OnCollision, OnFailedRetransmit
from gateway.model.states import AnswerState, ErrorCode, State

FOURTEEN_DAYS = 14 * 86_400_000

NO_ROW = RowId(0)
"""The row of a link message, which has none."""


class Admission(StrEnum):
    """What the store made of an offer."""

    NEW = "new"
    REPLAY = "replay"
    COLLISION = "collision"
    QUARANTINED = "quarantined"
    LINK = "link"
    GAP = "gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One readable message, as the listener hands it to the store.

    `original` is every byte between VT and FS; `sha256` its 32-byte digest; `key` the 16-byte digest of the
    dedupe key; `stamped` asks for the channel's next sequence number; `in_sequence` asks that
    `inbound_sequence` follows the sender's last (HL7 ch. 2, 2.10.1); `encoding` is the Python codec name the
    bytes are read with; `flags` are fixed words (`encoding-mismatch`, `unknown-charset`) shown on the row.
    `answer` is PENDING when an application answer is owed. `received_at` is Unix time in ms. `window`: ms that its
    fingerprint lives after its row was settled. `on_failed_retransmit`: what it does to a row in review that it is a
    copy of.
    """

    channel: ChannelName
    control_id: ControlId
    key: bytes
    original: bytes
    sha256: bytes
    message_type: str
    sender: str
    version: str
    inbound_sequence: str
    declared_charset: str
    encoding: str
    flags: tuple[str, ...]
    partition: str
    barrier: bool
    stamped: bool
    answer: AnswerState
    on_collision: OnCollision
    remote: str
    received_at: int
    in_sequence: bool = False
    window: int = FOURTEEN_DAYS
    on_failed_retransmit: OnFailedRetransmit = OnFailedRetransmit.KEEP


Seal = Callable[[Admission, int | None], bytes]
"""Builds the commit answer inside the transaction: (NEW | COLLISION | QUARANTINED | LINK | GAP, number) -> ACK bytes.

The number is the one given to a stamped message, or what MSA-4 tells the sender of one `in_sequence`.

Pure and fast: it runs on the writer thread. Never asked for a REPLAY. b"" when no commit answer is owed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of an offer, after the commit was synced.

    `row` is the row that holds the message: the new one, the replayed one, or the `nacked` one of a collision
    or a gap. A link message has none: `row` is NO_ROW and `state` `processed`, for it is done with.
    `answer` is the stored commit answer, byte for byte (b"" if none is owed). `application_answer` is the
    stored application answer if the server has already given one. `revived`: this retransmit queued its row again.
    """

    admission: Admission
    row: RowId
    state: State
    sequence: int | None
    answer: bytes
    application_answer: bytes | None
    revived: bool = False

    @property
    def replayed(self) -> bool:
        """True if this was a retransmit: no row was made and no number used."""
        return self.admission is Admission.REPLAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A frame that was answered negatively (or not at all): an audit row in state `nacked`.

    Repeats of the same bytes with the same code on the same channel coalesce into a counter.
    `original` is empty when the bytes must not be kept (too long, cut by a terminator inside).
    """

    channel: ChannelName
    error_code: ErrorCode
    control_id: ControlId
    original: bytes
    sha256: bytes
    message_type: str
    sender: str
    version: str
    remote: str
    answer: bytes
    received_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationAnswer:
    """The answer of the application level, once the row is settled. `body` is in the sender's charset."""

    row: RowId
    body: bytes
