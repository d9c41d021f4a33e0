"""Narrow doors to the store. Every promise in here is kept by the contract suite in tests/store."""

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from gateway.model.anomalies import Capture, CaptureEnd, NotedOddity, Oddity, Tally
from gateway.model.clock import Now
from gateway.model.delivery import Advance, Change, Content, Head, Held, Sending, Settled, Taken, Term
from gateway.model.ids import ChannelName, RowId
from gateway.model.intake import ApplicationAnswer, Offer, Receipt, Refusal, Seal
from gateway.model.policy import OutcomePolicy, RetryPolicy
from gateway.model.review import (
    ChannelSummary,
    Counter,
    EventRow,
    Finding,
    Halt,
    LeaseView,
    Row,
    RowFilter,
    StoredContent,
)
from gateway.model.states import AnswerState
from gateway.model.upstream import Granted


class Intake(Protocol):
    """The listener's door. Needs no lease."""

    @property
    def closed_because(self) -> str | None:
        """Why intake is closed (`low-space`, `full`, `stopping`, ...), or None while it is open."""

    def accept(self, offer: Offer, seal: Seal) -> Awaitable[Receipt]:
        """Admit one message in one synced transaction; gives the receipt only after the commit.

        Offers take their place in store order in the order in which they are handed over. A store that gives a
        future instead of a coroutine spares its caller a task for every message.
        Raises Unavailable in temporary trouble (known retransmits are still answered), StoreFailed after an I/O error.
        """

    async def refuse(self, refusal: Refusal) -> RowId:
        """Write the audit row of a refused frame, or raise the counter of an equal one."""

    async def wait_answer(self, row: RowId) -> ApplicationAnswer:
        """Wait until the row is settled and its application answer is stored, by whichever process; then give it.

        Returns at once if it is there already. Cancel to stop waiting. The settle is committed before this returns.
        """

    async def pending_answers(self, channel: ChannelName, sender: str, *, since: int) -> Sequence[ApplicationAnswer]:
        """Give stored application answers still `pending` for this sender, settled after `since` (Unix ms)."""

    async def record_answer(self, row: RowId, state: AnswerState, now: Now) -> None:
        """Record that an application answer was delivered, or cannot be any more."""


class Outbox(Protocol):
    """The dispatcher's door. Every write is fenced: a stale term raises StaleEpoch and changes nothing."""

    async def heads(self, channel: ChannelName, *, after: RowId, limit: int) -> Sequence[Head]:
        """Give live rows (queued, claimed, inflight) of the channel with ids above `after`, in store order."""

    async def inflight(self, channel: ChannelName) -> Sequence[Head]:
        """Give the channel's rows in state `inflight`, in store order: after a take-over they are in doubt."""

    async def head(self, row: RowId) -> Head | None:
        """Read one live row afresh; None if it is not live any more."""

    async def content(self, row: RowId) -> Content | None:
        """Read what sending needs; None if the row is gone or its content is. The hash is checked: a row whose
        bytes do not match it gives None and an event.
        """

    async def halts(self, channel: ChannelName) -> Sequence[Halt]:
        """Give the channel's halts."""

    async def claim(self, term: Term, sending: Sending, now: Now) -> Advance:
        """Claim a queued head: `claimed`, sends + 1, policy frozen. No claim if it is not queued, not in that
        generation, not the head of its partition, not due, or halted. Nothing durable is promised to the server.
        """

    async def mark_sent(self, term: Term, claim_row: RowId, now: Now) -> bool:
        """Mark a claimed row `inflight`, synced, before the socket write. False if it is not claimed any more."""

    async def advance(self, term: Term, settled: Settled, following: Sending | None, now: Now) -> Advance:
        """Settle one inflight row and, in the same synced commit, claim and mark `inflight` the next head.

        The claim sees the settle's result (halt, retry) and may find nothing; it never undoes the settle.
        A settle whose row, generation or send does not match an `inflight` or `claimed` row gives settled=False.
        """

    async def late(self, term: Term, settled: Settled, now: Now) -> bool:
        """Apply a late answer to the latest send of a `queued` (backoff) or `failed` row: late-accept or
        late-refusal. False if it does not apply; then it is kept as evidence on the row.
        """

    async def evidence(self, row: RowId, *, kind: str, detail: str, now: Now) -> None:
        """Insert-only: note what a server said about a row without moving it (receipt, earlier generation)."""

    async def changed(self, channel: ChannelName, seen: int) -> Change:
        """Wait until the channel's change counter is above `seen`: a row came, an operator acted, here or in
        another process (noticed within 50 ms).
        """


class Leases(Protocol):
    """Leadership of dispatch groups."""

    async def take(
        self,
        group: str,
        *,
        holder: str,
        ttl: int,
        channels: Mapping[ChannelName, OutcomePolicy],
        now: Now,
    ) -> Taken | Held:
        """Take the lease if it is free or expired (`ttl` ms without renewal, or another boot); epoch + 1.

        Recovers rows of lower epochs in the same transaction: claimed -> queued; inflight stays if the server last
        granted `status` or `dedupe` (the next connection clears it), else goes by `on_ambiguous`.
        """

    async def renew(self, term: Term, *, ttl: int, now: Now) -> bool:
        """Extend the lease; False if the term is over."""

    async def release(self, term: Term, now: Now) -> None:
        """Expire the lease and keep the epoch, so that another process takes over at once."""

    async def note_link(self, term: Term, *, link: str, granted: Granted | None) -> None:
        """Remember the link's state for people, and what the server granted for the next take-over."""


class Anomalies(Protocol):
    """The door for what is odd about senders' bytes, and for captures. Off every message's way; needs no lease."""

    async def note(self, oddities: Sequence[Oddity], tallies: Sequence[Tally]) -> None:
        """Write a batch; the newest of each channel are kept (10,000), the tallies count all.

        Raises Unavailable while room is short: that room belongs to messages.
        """

    async def captures(self) -> Sequence[Capture]:
        """Give the captures that are open."""

    async def take_frame(self, capture: int, *, size: int, now: Now) -> int | None:
        """Count one frame of `size` bytes towards a capture; gives its number, from 1, or None if it may not be kept.

        Ends the capture when it is complete, too large or expired, and records that as an event.
        """

    async def end_capture(self, capture: int, why: CaptureEnd, now: Now) -> None:
        """End a capture and record it; one that has ended already stays as it is."""


class Desk(Protocol):
    """The operator's door: reading, and acts with who and why, each recorded in the act's own transaction."""

    @property
    def store_id(self) -> UUID:
        """The random part of every public row id."""

    async def resolve_id(self, text: str) -> RowId | None:
        """Read a public UUID or a row number; None if it names no row of this store."""

    async def summaries(self) -> Sequence[ChannelSummary]:
        """Give every channel at a glance."""

    async def leases(self, now: Now) -> Sequence[LeaseView]:
        """Give every dispatch group's lease."""

    def rows(self, which: RowFilter) -> AsyncIterator[Row]:
        """Give rows in store order, by pages, without holding a read transaction open."""

    async def row(self, row: RowId) -> Row | None:
        """Read one row."""

    async def stored(self, row: RowId) -> StoredContent | None:
        """Read one row's bytes."""

    async def events(self, *, row: RowId | None, after: int, limit: int) -> Sequence[EventRow]:
        """Give events in order, of one row or of all."""

    async def requeue(self, row: RowId, *, who: str, why: str, now: Now) -> str | None:
        """`failed`/`rejected` -> `queued`, generation + 1, budgets reset. Returns a warning (later rows of the
        partition were already delivered) or None. Raises OperatorError when the state forbids it.
        """

    async def resolve(self, row: RowId, *, who: str, why: str, forget: bool, now: Now) -> None:
        """`failed`/`rejected` -> `processed`: the operator says it did arrive. `forget` drops the fingerprint."""

    async def discard(self, row: RowId, *, who: str, why: str, forget: bool, now: Now) -> None:
        """`queued`/`failed`/`rejected` -> `discarded`; content is kept until retention."""

    async def halt(self, channel: ChannelName, *, who: str, why: str, now: Now) -> None:
        """Halt the whole channel: nothing is claimed until `resume`."""

    async def resume(self, channel: ChannelName, *, who: str, why: str, now: Now) -> int:
        """Lift every halt of the channel; returns how many there were."""

    async def counters(self, channel: ChannelName) -> Sequence[Counter]:
        """Give the channel's last sequence numbers: its own first, then its senders' by name."""

    async def set_counter(
        self, channel: ChannelName, sender: str, last: int | None, *, who: str, why: str, now: Now
    ) -> int | None:
        """Set a sender's last sequence number (None: forget it); returns the one before. Raises OperatorError."""

    async def apply_policy(self, channel: ChannelName, policy: RetryPolicy, *, who: str, why: str, now: Now) -> int:
        """Freeze another retry policy on every live row of the channel; returns how many."""

    async def anomalies(self, channel: ChannelName, *, after: int, limit: int) -> Sequence[NotedOddity]:
        """Give the channel's anomalies with ids above `after`, newest first."""

    async def ask_capture(
        self, channel: ChannelName, *, frames: int, until: int, who: str, why: str, now: Now
    ) -> Capture:
        """Ask the running gateways to keep the next `frames` frames as they come, until then (Unix ms) at most.

        Raises OperatorError while another capture of the channel is open.
        """

    def verify(self) -> AsyncIterator[Finding]:
        """Check rows against fingerprints, events, hashes and numbers; yields what is wrong."""
