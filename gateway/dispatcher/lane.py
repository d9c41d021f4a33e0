"""One send at a time: claim, mark, write, wait, settle. The order of these five is the product's promise."""

import asyncio

from gateway.core.partition import Ready
from gateway.dispatcher.compose import Prepared
from gateway.dispatcher.decision import settled, settlement_of, verdict_of
from gateway.dispatcher.lead import Lead
from gateway.dispatcher.queue import ChannelQueue
from gateway.errors import NotLive
from gateway.model.clock import Now
from gateway.model.delivery import (
    Advance,
    Claim,
    Finish,
    GiveUp,
    Head,
    Release,
    Sending,
    Settled,
    Settlement,
)
from gateway.model.ids import RowId
from gateway.model.policy import DeliveryPolicy
from gateway.model.states import ErrorCode, Event, Landmark, Note
from gateway.model.upstream import Extension, LinkLost, Outcome, Silence, Transmit, Unsent
from gateway.ports.upstream import Connection

REFUSED_PAUSE = 0.25
"""Seconds before planning again when the store refused a claim, so that a disagreement cannot spin."""


class Lane:
    """Carries rows of one channel, one after the other; a channel has `max_inflight` of them."""

    def __init__(self, *, lead: Lead, queue: ChannelQueue, policy: DeliveryPolicy, flights: dict["Lane", int]) -> None:
        self._lead = lead
        self._queue = queue
        self._policy = policy
        self._flights = flights
        self._sent_at = Now(wall=0, boot_id="", ms=0)

    async def run(self) -> None:
        """Work for ever. Raises StaleEpoch, LeaseLost or StoreFailed when the term is over."""
        while True:
            connection, head = await self._queue.next()
            self._flights[self] = connection.number
            try:
                await self._work(connection, head)
            finally:
                del self._flights[self]
                self._queue.land()

    async def _work(self, connection: Connection, head: Head) -> None:
        """Carry a row, and every row that its settling lets us claim in the same commit."""
        begun = await self._begin(connection, head)
        while begun is not None:
            claim, prepared = begun
            outcome = await self._send(connection, claim, prepared)
            self._lead.passing(Landmark.AFTER_ANSWER_BEFORE_SETTLE)
            begun = await self._settle(connection, claim, prepared, outcome)
            self._queue.forget(claim.row)

    async def _begin(self, connection: Connection, head: Head) -> tuple[Claim, Prepared] | None:
        """Claim a head, make it ready, and mark it `inflight`; None when it cannot go now."""
        try:
            # The token is refreshed before the mark, never between mark and write.
            await connection.prepare()
        except NotLive:
            self._queue.heads.give_back(head.row)
            return None
        claim = await self._claim(head)
        if claim is None:
            return None
        self._lead.passing(Landmark.AFTER_CLAIM)
        prepared = await self._queue.prepared(claim.row)
        if prepared is None:
            await self._park_unreadable(claim)
            return None
        if not connection.is_live:
            await self._write(self._bare(claim, Release()), None)
            return None
        self._lead.demand_trust()
        if not await self._mark(claim):
            self._queue.heads.drop(claim.row)
            self._queue.wake(stale=True)
            return None
        return claim, prepared

    async def _claim(self, head: Head) -> Claim | None:
        """Claim a head in the store, which has the last word."""
        advance = await self._lead.insist(
            lambda: self._lead.outbox.claim(self._lead.term, self._sending(head), self._lead.clock())
        )
        if advance.claim is None:
            await self._refused(head.row)
            return None
        self._queue.heads.claimed(advance.claim)
        return advance.claim

    async def _mark(self, claim: Claim) -> bool:
        """Mark `inflight`, synced, before the write."""
        return await self._lead.insist(
            lambda: self._lead.outbox.mark_sent(self._lead.term, claim.row, self._lead.clock())
        )

    def _sending(self, head: Head) -> Sending:
        return Sending(
            channel=self._queue.channel,
            row=head.row,
            generation=head.generation,
            policy=head.policy or self._policy.retry,
        )

    async def _refused(self, row: RowId) -> None:
        """Forget a row the store did not let us have: what we remember is out of date."""
        self._queue.heads.drop(row)
        await asyncio.sleep(REFUSED_PAUSE)
        self._queue.wake(stale=True)

    async def _park_unreadable(self, claim: Claim) -> None:
        """Put a row whose stored bytes cannot be read into review; it was provably not sent."""
        self._lead.observer.event("row-unreadable", channel=self._queue.channel, row=claim.row)
        gone = GiveUp(event=Event.EXHAUSTED, code=ErrorCode.CORRUPT)
        await self._write(self._bare(claim, gone), None)

    def _bare(self, claim: Claim, settlement: Settlement) -> Settled:
        return Settled(
            row=claim.row,
            generation=claim.generation,
            send=claim.send,
            settlement=settlement,
            reply=None,
            answer=None,
        )

    async def _send(self, connection: Connection, claim: Claim, prepared: Prepared) -> Outcome:
        """Write the frame now, and wait for what comes back."""
        self._lead.passing(Landmark.AFTER_INFLIGHT_BEFORE_WRITE)
        self._lead.demand_trust()
        request = Transmit(
            channel=self._queue.channel,
            remote=prepared.remote,
            body=prepared.body,
            callback=self._lead.callback(claim.row, generation=claim.generation, send=claim.send),
        )
        self._sent_at = self._lead.clock()
        try:
            answer = connection.transmit(request)
        except NotLive:
            return Unsent()
        self._lead.passing(Landmark.AFTER_WRITE)
        await self._queue.look_ahead(claim.row)
        return await answer

    async def _settle(
        self, connection: Connection, claim: Claim, prepared: Prepared, outcome: Outcome
    ) -> tuple[Claim, Prepared] | None:
        """Settle a send, and claim the following row in the same commit if it is ready."""
        await self._keep_receipt(claim, outcome)
        if self._may_be_asked(connection, outcome):
            self._queue.heads.doubt(claim.row)
            return None
        now = self._lead.clock()
        settlement = settlement_of(
            verdict_of(prepared, outcome, self._policy),
            claim,
            policy=self._policy,
            now=now,
            roll=self._lead.roll(),
        )
        following = self._following(connection, claim.row, settlement)
        decision = settled(self._lead, claim, prepared, outcome, settlement, now)
        sending = None if following is None else self._sending(following[0])
        advance = await self._write(decision, sending, **self._times(claim, prepared, settlement, now))
        self._lead.passing(Landmark.AFTER_SETTLE)
        if following is None:
            return None
        head, ready = following
        if advance.claim is None:
            await self._refused(head.row)
            return None
        self._queue.heads.claimed(advance.claim)
        return advance.claim, ready

    async def _keep_receipt(self, claim: Claim, outcome: Outcome) -> None:
        """Put the server's receipt on the row when no answer came; with an answer it tells nothing new."""
        callback = self._lead.callback(claim.row, generation=claim.generation, send=claim.send)
        if not self._lead.receipts.take(callback) or not isinstance(outcome, LinkLost | Silence):
            return
        detail = f"the server held send {claim.generation}.{claim.send} durably before the answer failed to come"
        await self._lead.insist(
            lambda: self._lead.outbox.evidence(claim.row, kind=Note.RECEIPT, detail=detail, now=self._lead.clock())
        )

    def _may_be_asked(self, connection: Connection, outcome: Outcome) -> bool:
        """Say whether a doubt is left to the next connection, because this server knows its rows."""
        lost = isinstance(outcome, LinkLost) and not outcome.too_large
        knows = {Extension.STATUS, Extension.DEDUPE} & connection.granted.extensions
        return lost and bool(knows)

    def _following(self, connection: Connection, row: RowId, settlement: Settlement) -> tuple[Head, Prepared] | None:
        """Take the row to claim together with this settling: prepared, and nothing left to wait for."""
        if self._queue.is_stopping or not (connection.is_live and connection.is_prepared):
            return None
        plan = self._queue.heads.plan_after(row, settlement, self._lead.clock())
        # Its own next try has to be planned afresh, once this settling is known.
        if not isinstance(plan, Ready) or plan.head.row == row:
            return None
        ready = self._queue.peek(plan.head.row)
        return None if ready is None else (self._queue.heads.take(plan.head.row), ready)

    def _times(self, claim: Claim, prepared: Prepared, settlement: Settlement, now: Now) -> dict[str, float]:
        """Give what is known of a message's way, in seconds: waiting, server, and the whole once it is over."""
        received = prepared.content.received_at
        times = {"server_seconds": (now.ms - self._sent_at.ms) / 1_000}
        if claim.send == 1:
            times["queue_seconds"] = (self._sent_at.wall - received) / 1_000
        if isinstance(settlement, Finish | GiveUp):
            times["total_seconds"] = (now.wall - received) / 1_000
        return times

    async def _write(self, decision: Settled, following: Sending | None, **times: float) -> Advance:
        """Commit a settlement; it is kept and tried again while the store is in passing trouble."""
        now = self._lead.clock()
        advance = await self._lead.insist(lambda: self._lead.outbox.advance(self._lead.term, decision, following, now))
        if advance.settled:
            self._queue.heads.settle(decision.row, decision.settlement, now)
            self._lead.observer.event(
                "settled",
                channel=self._queue.channel,
                row=decision.row,
                send=decision.send,
                outcome=_word(decision.settlement),
                **times,
            )
        else:
            self._queue.heads.drop(decision.row)
            self._queue.wake(stale=True)
        return advance


def _word(settlement: Settlement) -> str:
    return "released" if isinstance(settlement, Release) else settlement.event
