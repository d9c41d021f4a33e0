"""One channel's queue as its leader sees it: reads ahead, plans, waits. Writes nothing."""

import asyncio
from collections.abc import Sequence

from gateway.core.partition import Ready
from gateway.dispatcher.compose import Prepared, prepare
from gateway.dispatcher.heads import Heads
from gateway.dispatcher.lead import Lead
from gateway.model.delivery import Finish, Head
from gateway.model.ids import ChannelName, RowId
from gateway.model.states import Event
from gateway.ports.upstream import Connection

_NEXT_IF_ACCEPTED = Finish(event=Event.ACCEPTED)


class ChannelQueue:
    """Hands out the next row that may go, one caller at a time, and keeps the one after it prepared."""

    def __init__(self, channel: ChannelName, *, lead: Lead, heads: Heads, page: int, window: int) -> None:
        self.channel = channel
        self.heads = heads
        self._lead = lead
        self._page = page
        self._window = window
        self._wake = asyncio.Event()
        self._landing = asyncio.Event()
        self._scout = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._is_dirty = True
        self._is_stale = True
        self._has_more = True
        self._prepared: dict[RowId, Prepared] = {}
        self.connection: Connection | None = None
        """The live connection, once everything in doubt was cleared on it."""
        self.is_stopping = False

    def wake(self, *, stale: bool = False, dirty: bool = False) -> None:
        """Look again: something moved. `stale` reads everything afresh, `dirty` reads on behind the last row."""
        self._is_stale = self._is_stale or stale
        self._is_dirty = self._is_dirty or dirty
        self._wake.set()

    def land(self) -> None:
        """Tell whoever waits that a lane is free again."""
        self._landing.set()
        self._wake.set()

    async def landed(self) -> None:
        """Wait until a lane becomes free."""
        self._landing.clear()
        await self._landing.wait()

    async def watch(self) -> None:
        """Follow the store's changes for ever: rows that came, acts of operators, here or in another process."""
        seen = 0
        while True:
            change = await self._lead.outbox.changed(self.channel, seen)
            seen = change.counter
            self.wake(stale=change.reload, dirty=True)

    async def next(self) -> tuple[Connection, Head]:
        """Wait for a row that may be claimed, and take it into the caller's hands."""
        async with self._scout:
            while True:
                self._wake.clear()
                if self._is_open:
                    # While the server is away nothing is claimed; what moved meanwhile is read when it is back.
                    await self.refresh()
                wait: int | None = None
                if self._is_open and (connection := self.connection) is not None:
                    plan = self.heads.plan(self._lead.clock())
                    if isinstance(plan, Ready):
                        return connection, self.heads.take(plan.head.row)
                    if self._has_more and len(self.heads) < self._window:
                        await self._read_on()
                        continue
                    wait = plan.wait
                await self._sleep(wait)

    @property
    def _is_open(self) -> bool:
        return not self.is_stopping and self.connection is not None and self.connection.is_live

    async def _sleep(self, wait: int | None) -> None:
        """Sleep until woken, or `wait` milliseconds."""
        try:
            async with asyncio.timeout(None if wait is None else wait / 1_000):
                await self._wake.wait()
        except TimeoutError:
            # A row came due.
            return

    async def look_ahead(self, flying: RowId) -> None:
        """Read on and prepare the row that follows `flying` if it is accepted, while its answer is on the way."""
        if self.is_stopping:
            return
        if self._is_dirty or self._is_stale:
            await self.refresh()
        plan = self.heads.plan_after(flying, _NEXT_IF_ACCEPTED, self._lead.clock())
        if isinstance(plan, Ready):
            await self.prepared(plan.head.row)
        elif self._has_more and len(self.heads) < self._window:
            await self._read_on()

    async def prepared(self, row: RowId) -> Prepared | None:
        """Give the row ready to be sent; None when its content cannot be read."""
        ready = self._prepared.get(row)
        if ready is None:
            content = await self._lead.outbox.content(row)
            ready = None if content is None else prepare(content)
            if ready is not None:
                self._prepared[row] = ready
                self._let_go_of_oldest()
        return ready

    def _let_go_of_oldest(self) -> None:
        """Keep no more texts than lanes can use: rows can be discarded, or move, after they were prepared."""
        while len(self._prepared) > self.heads.limit * 2:
            del self._prepared[next(iter(self._prepared))]

    def peek(self, row: RowId) -> Prepared | None:
        """Give the row if it is prepared already."""
        return self._prepared.get(row)

    def forget(self, row: RowId) -> None:
        """Let go of a prepared row's text."""
        self._prepared.pop(row, None)

    async def refresh(self) -> None:
        """Bring the heads up to date with the store, as far as something said they are not."""
        if self._is_stale:
            await self._reload()
        elif self._is_dirty and not self._has_more:
            await self._read_on()
        self._is_dirty = False

    async def _reload(self) -> None:
        """Read everything afresh: halts, rows in doubt, and the first page."""
        async with self._reading:
            self._is_stale = False
            self._is_dirty = False
            self.heads.begin_reading()
            halts = await self._lead.outbox.halts(self.channel)
            doubtful = await self._lead.outbox.inflight(self.channel)
            page = await self._lead.outbox.heads(self.channel, after=RowId(0), limit=self._page)
            self.heads.reset()
            self.heads.set_halts(halt.partition for halt in halts)
            self.heads.insert(doubtful)
            self._take_page(page)

    async def _read_on(self) -> None:
        """Read the page behind the last known row."""
        async with self._reading:
            self._is_dirty = False
            self.heads.begin_reading()
            after = self.heads.last
            page = await self._lead.outbox.heads(self.channel, after=after, limit=self._page)
            self._take_page(page)

    def _take_page(self, page: Sequence[Head]) -> None:
        self.heads.extend(page)
        self._has_more = len(page) >= self._page
