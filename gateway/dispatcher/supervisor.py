"""Leads one dispatch group while the lease is ours: opens the link, runs the deliveries, steps down in time."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn
from uuid import UUID

from gateway.dispatcher.delivery import Delivery
from gateway.dispatcher.lead import Lead
from gateway.dispatcher.leadership import Leadership
from gateway.dispatcher.options import DispatchOptions
from gateway.dispatcher.receipts import Receipts
from gateway.errors import LeaseLost, StaleEpoch, Unavailable
from gateway.model.delivery import Taken
from gateway.model.ids import ChannelName, RowId, row_of
from gateway.model.review import Row
from gateway.ports.clock import Clock, NewId, Passing, Roll
from gateway.ports.observe import Observer
from gateway.ports.store import Leases, Outbox
from gateway.ports.upstream import Link


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What the dispatcher needs of the store and the server."""

    outbox: Outbox
    leases: Leases
    link: Link
    store_id: UUID
    find_row: Callable[[RowId], Awaitable[Row | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Time, chance, ids and watchers, handed in."""

    clock: Clock
    roll: Roll
    new_id: NewId
    observer: Observer
    passing: Passing


class Supervisor:
    """One dispatch group in this process: a standby until it leads."""

    def __init__(self, options: DispatchOptions, *, doors: Doors, world: World) -> None:
        self._options = options
        self._doors = doors
        self._world = world
        self._leadership = Leadership(
            group=options.group,
            holder=options.holder,
            ttl=options.ttl,
            channels={channel.name: channel.policy.outcome for channel in options.channels},
            leases=doors.leases,
            clock=world.clock,
            observer=world.observer,
        )
        self._deliveries: dict[ChannelName, Delivery] = {}
        self._taken: Taken | None = None

    @property
    def is_leading(self) -> bool:
        """Say whether this process holds the lease and trusts it."""
        return self._taken is not None and self._leadership.is_trusted()

    async def run(self) -> NoReturn:
        """Lead again and again, for ever. Only StoreFailed, or being cancelled, ends it."""
        while True:
            taken = await self._leadership.win()
            try:
                await self._lead(taken)
            except* (StaleEpoch, LeaseLost, Unavailable) as over:
                await self._leadership.release(taken.term)
                self._world.observer.event(
                    "stepped-down",
                    group=self._options.group,
                    epoch=taken.term.epoch,
                    reason=_reason(over),
                )
            finally:
                self._taken = None
                self._deliveries = {}
                await self._doors.link.close()

    async def _lead(self, taken: Taken) -> None:
        """Run one term: the lease is kept, the link is up, every channel delivers."""
        lead = Lead(
            term=taken.term,
            is_trusted=self._leadership.is_trusted,
            agent_id=self._options.agent_id,
            store_id=self._doors.store_id,
            outbox=self._doors.outbox,
            link=self._doors.link,
            receipts=Receipts(),
            clock=self._world.clock,
            roll=self._world.roll,
            new_id=self._world.new_id,
            observer=self._world.observer,
            passing=self._world.passing,
        )
        self._taken = taken
        self._deliveries = {
            channel.name: Delivery(channel, lead=lead, options=self._options) for channel in self._options.channels
        }
        await self._doors.link.open(epoch=taken.term.epoch)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._leadership.keep(taken.term))
            tasks.create_task(self._remember_link(taken))
            tasks.create_task(self._read_late())
            tasks.create_task(self._read_receipts(lead))
            for delivery in self._deliveries.values():
                tasks.create_task(delivery.run())

    async def _remember_link(self, taken: Taken) -> NoReturn:
        """Note what each connection granted, so that the next take-over knows whether it may ask."""
        number = 0
        while True:
            connection = await self._doors.link.live(after=number)
            number = connection.number
            with suppress(Unavailable):  # only a hint for the next take-over, written again at the next connection
                await self._doors.leases.note_link(taken.term, link="live", granted=connection.granted)

    async def _read_late(self) -> NoReturn:
        """Bring every late answer to its channel; what names no row of ours is dropped and counted."""
        while True:
            stray = await self._doors.link.stray()
            number = row_of(self._doors.store_id, stray.callback.row)
            row = None if number is None else await self._doors.find_row(number)
            delivery = None if row is None else self._deliveries.get(row.channel)
            if row is None or delivery is None:
                self._world.observer.event("stray-unknown", group=self._options.group)
                continue
            with suppress(Unavailable):  # evidence only: a store in passing trouble costs no message
                await delivery.late(row, stray)

    async def _read_receipts(self, lead: Lead) -> NoReturn:
        """Remember which sends the server holds durably, for the case that their answers never come."""
        while True:
            lead.receipts.note(await self._doors.link.receipt())

    async def drain(self, *, grace: float) -> None:
        """Stop claiming, wait up to `grace` seconds for answers on the way, and release the lease."""
        taken = self._taken
        if taken is None:
            return
        with suppress(TimeoutError):  # what is still unanswered is in doubt, and recovered by the next leader
            async with asyncio.timeout(grace):
                await asyncio.gather(*(each.drain() for each in self._deliveries.values()))
        await self._leadership.release(taken.term)


def _reason(over: BaseExceptionGroup[BaseException]) -> str:
    """Give the first leaf's own words."""
    first: BaseException = over
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return str(first)
