"""One channel's delivery under one term: its queue, its lanes, its doubts, its late answers."""

import asyncio
from dataclasses import replace
from typing import NoReturn

from gateway.core.verdict import Accepted, Refused, Verdict
from gateway.dispatcher.decision import settled, verdict_of
from gateway.dispatcher.heads import Heads
from gateway.dispatcher.lane import Lane
from gateway.dispatcher.lead import Lead
from gateway.dispatcher.options import ChannelDelivery, DispatchOptions
from gateway.dispatcher.queue import ChannelQueue
from gateway.dispatcher.recovery import Recovery
from gateway.model.delivery import Finish, Head
from gateway.model.review import Row
from gateway.model.states import Event, Note
from gateway.model.upstream import StrayAnswer


class Delivery:
    """Runs as long as the term; whoever starts it cancels it."""

    def __init__(self, channel: ChannelDelivery, *, lead: Lead, options: DispatchOptions) -> None:
        self._lead = lead
        self._policy = channel.policy
        self._status_every = options.status_every
        heads = Heads(limit=channel.policy.max_inflight, foreign_wait=channel.policy.retry.initial)
        self._queue = ChannelQueue(channel.name, lead=lead, heads=heads, page=options.page, window=options.window)
        self._recovery = Recovery(lead=lead, queue=self._queue, policy=channel.policy)
        self._flights: dict[Lane, int] = {}
        self._lanes = tuple(
            Lane(lead=lead, queue=self._queue, policy=channel.policy, flights=self._flights)
            for _ in range(channel.policy.max_inflight)
        )

    async def run(self) -> None:
        """Deliver until cancelled; raises StaleEpoch, LeaseLost or StoreFailed when the term is over."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._queue.watch())
            tasks.create_task(self._follow_link())
            for lane in self._lanes:
                tasks.create_task(lane.run())

    async def drain(self) -> None:
        """Claim nothing more, and wait until no send is in the air."""
        self._queue.is_stopping = True
        while self._flights:
            await self._queue.landed()

    async def _follow_link(self) -> NoReturn:
        """Open the queue on each new connection once everything in doubt was cleared on it."""
        number = 0
        while True:
            connection = await self._lead.link.live(after=number)
            number = connection.number
            await self._wait_for_older(number)
            await self._recovery.clear(connection)
            self._queue.connection = connection
            self._queue.wake()
            while self._recovery.is_asking and connection.is_live:
                await asyncio.sleep(self._status_every)
                await self._recovery.clear(connection)

    async def _wait_for_older(self, number: int) -> None:
        """Wait until every lane has heard that its older connection is gone."""
        while any(used < number for used in self._flights.values()):
            await self._queue.landed()

    async def late(self, row: Row, stray: StrayAnswer) -> None:
        """Use an answer nobody waited for: the store says by its send whether it settles the row or is evidence."""
        now = self._lead.clock()
        prepared = await self._queue.prepared(row.row)
        self._queue.forget(row.row)
        finish = None if prepared is None else _finish(verdict_of(prepared, stray.outcome, self._policy))
        if prepared is None or finish is None:
            await self._lead.outbox.evidence(row.row, kind=Note.EVIDENCE, detail=_undecided(stray), now=now)
            return
        decision = replace(
            settled(self._lead, _as_head(row), prepared, stray.outcome, finish, now),
            generation=stray.callback.generation,
            send=stray.callback.send,
        )
        if await self._lead.insist(lambda: self._lead.outbox.late(self._lead.term, decision, now)):
            self._lead.observer.event("settled-late", channel=row.channel, row=row.row, outcome=finish.event)
            # A row whose later send is still in the air keeps its partition closed until that is answered too.
            self._queue.heads.drop_if_free(row.row)
            self._queue.wake(stale=True)


def _finish(verdict: Verdict) -> Finish | None:
    """Give the end a late answer would bring; None when it brings none."""
    match verdict:
        case Accepted():
            return Finish(event=Event.ACCEPTED)
        case Refused(code=code):
            return Finish(event=Event.REFUSED, code=code)
        case _:
            return None


def _undecided(stray: StrayAnswer) -> str:
    return f"late answer to {stray.callback.generation}.{stray.callback.send} decides nothing"


def _as_head(row: Row) -> Head:
    return Head(
        row=row.row,
        partition=row.partition,
        barrier=row.barrier,
        state=row.state,
        generation=row.generation,
        sends=row.sends,
        attempts=row.attempts,
        link_losses=row.link_losses,
        due=None,
        policy=None,
        first_sent=None,
        first_sent_wall=row.first_sent_at,
    )
