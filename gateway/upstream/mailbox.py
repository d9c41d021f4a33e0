"""A bounded queue between the link and its reader. Never waits on the writing side."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Mailbox(Generic[T]):
    """Holds at most `limit` items; when nobody reads, the oldest goes and `dropped` hears of it."""

    def __init__(self, *, limit: int, dropped: Callable[[], None]) -> None:
        self._limit = limit
        self._dropped = dropped
        self._items: deque[T] = deque()
        self._filled = asyncio.Event()

    def put(self, item: T) -> None:
        """Add an item."""
        if len(self._items) >= self._limit:
            self._items.popleft()
            self._dropped()
        self._items.append(item)
        self._filled.set()

    async def take(self) -> T:
        """Wait for the oldest item; being cancelled loses nothing."""
        while not self._items:
            self._filled.clear()
            await self._filled.wait()
        return self._items.popleft()
