"""Rows in doubt: written to a socket, never answered. Asks the server where it can; never guesses."""

from collections.abc import Mapping

from gateway.core.retry import LINK_LOSSES_BEFORE_REVIEW
from gateway.core.verdict import Ambiguous
from gateway.dispatcher.compose import Prepared
from gateway.dispatcher.decision import settled, settlement_of, verdict_of
from gateway.dispatcher.lead import Lead
from gateway.dispatcher.queue import ChannelQueue
from gateway.model.clock import Now, age
from gateway.model.delivery import Again, GiveUp, Head, Release, Settled, Settlement
from gateway.model.ids import RowId
from gateway.model.policy import DeliveryPolicy
from gateway.model.states import ErrorCode, Event
from gateway.model.upstream import (
    Answer,
    Callback,
    Extension,
    Granted,
    Known,
    LinkLost,
    Outcome,
    StatusResult,
)
from gateway.ports.upstream import Connection

WINDOW_SHARE = 0.9
"""A server's dedupe window is trusted for this share of it (PROTOCOL, section 4)."""


class Recovery:
    """Clears one channel's rows in doubt on a new connection, before anything new is claimed on it."""

    def __init__(self, *, lead: Lead, queue: ChannelQueue, policy: DeliveryPolicy) -> None:
        self._lead = lead
        self._queue = queue
        self._policy = policy
        self._running_since: dict[RowId, int] = {}

    @property
    def is_asking(self) -> bool:
        """Say whether the server still works on a row, so that it has to be asked again."""
        return bool(self._running_since)

    async def clear(self, connection: Connection) -> None:
        """Settle every row in doubt that can be settled now."""
        self._queue.wake(stale=True)
        await self._queue.refresh()
        doubtful = self._queue.heads.doubtful()
        self._running_since = {
            head.row: self._running_since[head.row] for head in doubtful if head.row in self._running_since
        }
        if not doubtful:
            return
        told = await self._ask(connection, doubtful)
        for head in doubtful:
            await self._resolve(connection.granted, head, told.get(head.row))

    async def _ask(self, connection: Connection, doubtful: list[Head]) -> Mapping[RowId, StatusResult]:
        """Ask what the server knows of these sends; nothing if it does not say."""
        names: dict[Callback, RowId] = {
            self._lead.callback(head.row, generation=head.generation, send=head.sends): head.row for head in doubtful
        }
        results = await connection.status(tuple(names))
        if results is None:
            return {}
        return {names[result.callback]: result for result in results if result.callback in names}

    async def _resolve(self, granted: Granted, head: Head, told: StatusResult | None) -> None:
        """Decide one row in doubt by what the server says of it, or by the channel's policy."""
        now = self._lead.clock()
        prepared = await self._queue.prepared(head.row)
        self._queue.forget(head.row)
        if prepared is None:
            gone = GiveUp(event=Event.IN_DOUBT, code=ErrorCode.CORRUPT)
            await self._write(self._bare(head, gone), now)
            return
        outcome: Outcome = LinkLost(too_large=False)
        if told is not None and told.known is Known.DONE and told.answer is not None:
            outcome = told.answer
            settlement = self._judge(head, prepared, told.answer, now)
        elif told is not None and told.known is Known.RUNNING:
            if not self._is_overdue(head.row, now):
                return
            settlement = self._in_doubt(head, ErrorCode.RESPONSE_TIMEOUT, now)
        else:
            settlement = self._unanswered(granted, head, told, now)
        self._running_since.pop(head.row, None)
        await self._write(settled(self._lead, head, prepared, outcome, settlement, now), now)

    def _judge(self, head: Head, prepared: Prepared, answer: Answer, now: Now) -> Settlement:
        verdict = verdict_of(prepared, answer, self._policy)
        return settlement_of(verdict, head, policy=self._policy, now=now, roll=self._lead.roll())

    def _is_overdue(self, row: RowId, now: Now) -> bool:
        """Say whether the server has called this row `running` for the whole response timeout."""
        since = self._running_since.setdefault(row, now.ms)
        return now.ms - since >= self._policy.response_timeout

    def _unanswered(self, granted: Granted, head: Head, told: StatusResult | None, now: Now) -> Settlement:
        """Send again where that is provably harmless; else the channel's policy decides."""
        lost = self._queue.heads.is_link_lost(head.row)
        if head.link_losses + lost >= LINK_LOSSES_BEFORE_REVIEW:
            # A row that keeps taking the link down must not do it for ever.
            return GiveUp(event=Event.IN_DOUBT, code=ErrorCode.INTERRUPTED, link_lost=lost)
        if _is_in_window(granted, head, now):
            return Again(event=Event.RETRY, wait=0, counted=False, link_lost=lost)
        if told is not None and told.known is Known.UNKNOWN:
            return Release()
        return self._in_doubt(head, ErrorCode.INTERRUPTED, now, lost=lost)

    def _in_doubt(self, head: Head, code: ErrorCode, now: Now, *, lost: bool = False) -> Settlement:
        verdict = Ambiguous(code=code, link_lost=lost)
        return settlement_of(verdict, head, policy=self._policy, now=now, roll=self._lead.roll())

    def _bare(self, head: Head, settlement: Settlement) -> Settled:
        return Settled(
            row=head.row,
            generation=head.generation,
            send=head.sends,
            settlement=settlement,
            reply=None,
            answer=None,
        )

    async def _write(self, decision: Settled, now: Now) -> None:
        """Commit what was decided about a row in doubt."""
        advance = await self._lead.insist(lambda: self._lead.outbox.advance(self._lead.term, decision, None, now))
        if advance.settled:
            self._queue.heads.settle(decision.row, decision.settlement, now)
        self._lead.observer.event(
            "doubt-resolved",
            channel=self._queue.channel,
            row=decision.row,
            outcome=getattr(decision.settlement, "event", "released"),
        )
        self._queue.wake(stale=not advance.settled)


def _is_in_window(granted: Granted, head: Head, now: Now) -> bool:
    """Say whether a repeat of this row would still be recognised by the server."""
    if Extension.DEDUPE not in granted.extensions or granted.dedupe_window is None:
        return False
    if head.first_sent is None or head.first_sent_wall is None:
        return False
    return 0 <= age(head.first_sent, head.first_sent_wall, now) < granted.dedupe_window * 1_000 * WINDOW_SHARE
