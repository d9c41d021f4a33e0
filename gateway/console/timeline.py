"""Reads the events in order, to their end or for ever. Never writes, never waits by itself."""

from collections.abc import AsyncIterator, Awaitable, Callable

from gateway.model.ids import RowId
from gateway.model.review import EventRow
from gateway.ports.store import Desk

_PAGE = 500


class Timeline:
    """The events of one store."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def events(self, *, row: RowId | None = None, after: int = 0) -> AsyncIterator[EventRow]:
        """Give the events of one row, or of all, that come after event number `after`."""
        while True:
            page = await self._desk.events(row=row, after=after, limit=_PAGE)
            for event in page:
                yield event
            if len(page) < _PAGE:
                return
            after = page[-1].id

    async def follow(self, *, after: int, pause: Callable[[], Awaitable[None]]) -> AsyncIterator[EventRow]:
        """Give events as they come, for ever; `pause` is awaited whenever there is nothing new."""
        while True:
            async for event in self.events(after=after):
                after = event.id
                yield event
            await pause()

    async def newest(self) -> int:
        """Give the number of the newest event, 0 if there is none, in a few dozen small reads."""
        low, high = 0, 1
        while await self._has_event_after(high):
            low, high = high, high * 2
        while low < high:
            middle = (low + high) // 2
            if await self._has_event_after(middle):
                low = middle + 1
            else:
                high = middle
        return low

    async def _has_event_after(self, number: int) -> bool:
        return bool(await self._desk.events(row=None, after=number, limit=1))
