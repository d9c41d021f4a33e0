"""Waiting for the application's answer within the deadline. Every waiter of a row gets the same stored bytes."""

import asyncio

from gateway.model.ids import RowId
from gateway.model.intake import ApplicationAnswer
from gateway.ports.store import Intake


class Waiting:
    """Waits of one channel; `deadline` in seconds, counted anew for each waiter."""

    def __init__(self, store: Intake, *, deadline: float) -> None:
        self._store = store
        self._deadline = deadline
        self._open: set[asyncio.Timeout] = set()

    async def answer(self, row: RowId) -> ApplicationAnswer | None:
        """Give the row's application answer; None when the deadline passed first. Raises what the store raises."""
        limit = asyncio.timeout(self._deadline)
        try:
            async with limit:
                self._open.add(limit)
                return await self._store.wait_answer(row)
        except TimeoutError:
            return None
        finally:
            self._open.discard(limit)

    def hurry(self) -> None:
        """Let every wait end now, as if its deadline had passed."""
        now = asyncio.get_running_loop().time()
        for limit in self._open:
            limit.reschedule(now)
