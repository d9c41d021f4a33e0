"""Who waits for what: change counters of channels, and answers of rows. Lives on the loop; reads no row itself."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from gateway.errors import StoreError
from gateway.model.delivery import Change
from gateway.model.ids import ChannelName, RowId
from gateway.model.intake import ApplicationAnswer
from gateway.store.sqlite.writer import WATCH_INTERVAL, Writer

ReadAnswers = Callable[[Sequence[RowId]], Awaitable[Sequence[ApplicationAnswer]]]
ReadActs = Callable[[], Awaitable[int]]


@dataclass(slots=True)
class _Channel:
    """One channel's counter, its value at the last reason to reload, and who waits for it to grow."""

    counter: int = 0
    reloaded_at: int = 0
    waiters: set[asyncio.Future[None]] = field(default_factory=set)


class Watch:
    """Wakes the dispatcher and the sessions of this process, whoever made the change."""

    def __init__(self, writer: Writer, *, acts: int) -> None:
        self._writer = writer
        self._acts = acts
        self._channels: dict[ChannelName, _Channel] = {}
        self._answers: dict[RowId, set[asyncio.Future[ApplicationAnswer]]] = {}
        self._error: StoreError | None = None
        self._foreign: asyncio.Task[None] | None = None
        self._is_foreign_again = False
        writer.on_foreign_commit = self.foreign_commit

    def read_with(self, *, acts: ReadActs, answers: ReadAnswers) -> None:
        """Say how committed state is read."""
        self._read_acts = acts
        self._read_answers = answers

    def bump(self, channel: ChannelName, *, reload: bool = False) -> None:
        """Count one change of a channel and wake who waits for it."""
        entry = self._channels.setdefault(channel, _Channel())
        entry.counter += 1
        if reload:
            entry.reloaded_at = entry.counter
        for waiter in entry.waiters:
            if not waiter.done():
                waiter.set_result(None)
        entry.waiters.clear()

    async def changed(self, channel: ChannelName, seen: int) -> Change:
        """Wait until the channel's counter is above `seen`. Raises the store's error once it has failed or closed."""
        self._demand_life()
        entry = self._channels.setdefault(channel, _Channel())
        while entry.counter <= seen:
            await self._wait(entry.waiters)
        return Change(counter=entry.counter, reload=entry.reloaded_at > seen)

    async def _wait(self, waiters: set[asyncio.Future[None]]) -> None:
        self._demand_life()
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiters.add(waiter)
        self._writer.watch()
        try:
            await waiter
        finally:
            self._writer.unwatch()
            waiters.discard(waiter)

    async def answer(self, row: RowId) -> ApplicationAnswer:
        """Wait for a row's application answer; registered before it is looked up, so that none is missed."""
        self._demand_life()
        waiter: asyncio.Future[ApplicationAnswer] = asyncio.get_running_loop().create_future()
        self._answers.setdefault(row, set()).add(waiter)
        self._writer.watch()
        try:
            for found in await self._read_answers([row]):
                return found
            return await waiter
        finally:
            self._writer.unwatch()
            self._forget(row, waiter)

    def _forget(self, row: RowId, waiter: asyncio.Future[ApplicationAnswer]) -> None:
        waiter.cancel()
        waiters = self._answers.get(row)
        if waiters is not None:
            waiters.discard(waiter)
            if not waiters:
                del self._answers[row]

    def answered(self, found: ApplicationAnswer) -> None:
        """Give a committed answer to every session that waits for it."""
        for waiter in self._answers.get(found.row, ()):
            if not waiter.done():
                waiter.set_result(found)

    def foreign_commit(self) -> None:
        """Another connection has committed: look what that means for those who wait here."""
        if self._foreign is not None:
            self._is_foreign_again = True
            return
        self._foreign = asyncio.ensure_future(self._look())
        self._foreign.add_done_callback(self._looked)

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._foreign = None
        if self._is_foreign_again and not task.cancelled() and self._error is None:
            self._is_foreign_again = False
            self.foreign_commit()

    def _look_again(self) -> None:
        if self._error is None:
            self.foreign_commit()

    async def _look(self) -> None:
        """Wake every channel; ask for a reload only if somebody acted on rows a leader holds in memory."""
        try:
            acts = await self._read_acts()
            rows = tuple(self._answers)
            answers = await self._read_answers(rows) if rows else ()
        except StoreError:
            # Passing trouble: nobody may miss a change for it, so look again soon.
            asyncio.get_running_loop().call_later(WATCH_INTERVAL, self._look_again)
            return
        has_acts, self._acts = acts != self._acts, acts
        for channel in tuple(self._channels):
            self.bump(channel, reload=has_acts)
        for found in answers:
            self.answered(found)

    def end(self, error: StoreError) -> None:
        """Nothing will change any more: tell everybody who waits."""
        self._error = error
        waiting: list[asyncio.Future[None] | asyncio.Future[ApplicationAnswer]] = []
        waiting += [waiter for entry in self._channels.values() for waiter in entry.waiters]
        waiting += [waiter for waiters in self._answers.values() for waiter in waiters]
        for waiter in waiting:
            if not waiter.done():
                waiter.set_exception(error)

    async def close(self) -> None:
        """Let the last look at another process's commit end."""
        while self._foreign is not None:
            await asyncio.wait([self._foreign])

    def _demand_life(self) -> None:
        if self._error is not None:
            raise self._error
