"""A message on its way out: heads, claims, settlements."""

from dataclasses import dataclass

from gateway.model.clock import Due
from gateway.model.ids import ChannelName, Epoch, RowId
from gateway.model.policy import RetryPolicy
from gateway.model.states import ErrorCode, Event, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One holder's time as leader of one dispatch group; `epoch` fences everything it does."""

    group: str
    holder: str
    epoch: Epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The lease is somebody else's; `expires_in` milliseconds are left of it."""

    holder: str
    epoch: Epoch
    expires_in: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A lease taken, with what recovery found in the same transaction.

    `released` counts claimed rows put back, `resent` in-doubt rows queued again (`resend`), `held` in-doubt rows
    put into review; `doubtful` are rows left `inflight`, to be asked about by `status`.
    """

    term: Term
    released: int
    resent: int
    held: int
    doubtful: tuple[RowId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """One live row as the leader keeps it in memory, in store order.

    `due` is None when it may go at once. `policy` is None until the first claim froze one. `first_sent_wall` and
    `first_sent` tell when this generation was first written (None: never).
    """

    row: RowId
    partition: str
    barrier: bool
    state: State
    generation: int
    sends: int
    attempts: int
    link_losses: int
    due: Due | None
    policy: RetryPolicy | None
    first_sent: Due | None
    first_sent_wall: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is needed to send a row and to judge and pass on its answer. `received_at` is Unix time in ms."""

    row: RowId
    control_id: bytes
    original: bytes
    encoding: str
    sequence: int | None
    sha256: bytes
    remote: str
    owes_answer: bool
    received_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A row this leader holds. `send` is the number of this send; it is never lowered or used twice.

    `first_sent` and `first_sent_wall` are those of the generation, this send included once it is marked.
    """

    row: RowId
    partition: str
    generation: int
    send: int
    attempts: int
    link_losses: int
    policy: RetryPolicy
    first_sent: Due | None
    first_sent_wall: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The server decided: `accepted` -> processed, `refused` -> rejected."""

    event: Event
    code: ErrorCode | None = None
    halts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Queued again, due in `wait` ms. `counted`: the verdict used up an attempt. `link_lost`: count a link loss."""

    event: Event
    wait: int
    counted: bool
    code: ErrorCode | None = None
    link_lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """Into review: `exhausted` or `in-doubt`."""

    event: Event
    code: ErrorCode
    halts: bool = False
    counted: bool = False
    link_lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Provably not one byte was handed to a socket: queued again at once, nothing counted."""


Settlement = Finish | Again | GiveUp | Release


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReply:
    """What the server said, kept as evidence: HTTP-like status, body as text, which callback it named."""

    status: int | None
    body: str | None
    ack_code: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A decision about one send, ready to be written.

    `answer` is the application answer owed to the sender, in its charset (None: none is owed or known yet).
    """

    row: RowId
    generation: int
    send: int
    settlement: Settlement
    reply: ServerReply | None
    answer: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """A head to be claimed and marked `inflight` in one transaction; `policy` is frozen on the row if it has none."""

    channel: ChannelName
    row: RowId
    generation: int
    policy: RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """What one dispatch transaction did: whether the settle met its row, and the claim it made (None: nothing)."""

    settled: bool
    claim: Claim | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something about a channel's rows changed: `counter` grows; `reload` asks to read the heads from the start."""

    counter: int
    reload: bool
