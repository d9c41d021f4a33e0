"""The one writer thread: every unit whole or not at all, one COMMIT, then the answers. Never before COMMIT."""

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, cast

import apsw

from gateway.errors import StaleEpoch, StoreFailed, Unavailable
from gateway.ports.clock import Clock
from gateway.store.options import StoreOptions
from gateway.store.sqlite.checkpoints import Checkpoints
from gateway.store.sqlite.faults import OVERLOADED, STOPPING, TROUBLE, Fault, fault_of, told
from gateway.store.sqlite.relay import Relay
from gateway.store.sqlite.space import Space
from gateway.store.sqlite.statements import ask
from gateway.store.sqlite.units import Outcome, Replies, Unit

T = TypeVar("T")
Work = Callable[[apsw.Connection], T]

GROUP_UNITS = 512
GROUP_BYTES = 8 << 20
"""Bounds of one commit: a synced write of half a megabyte costs twice one of 4 KB, beyond that it costs by size."""

WATCH_INTERVAL = 0.025
"""Seconds between looks for other processes' commits, while somebody waits for one."""

GONE = "cancelled"
"""Told to nobody: the caller left before its unit's turn."""

SPARE = 2
"""Settles may queue up to this multiple of the bound: a flood of intake must not keep rows from being settled."""


class _GroupLostError(Exception):
    """The transaction is gone, or must go: every unit of the group has failed, also those that ran before."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


class _HalfDoneError(Exception):
    """A unit failed after it had written something, outside a savepoint."""


class Writer:
    """Takes units from the loop and writes them in groups. Made on the loop; the connection is the thread's alone."""

    def __init__(
        self,
        db: apsw.Connection,
        *,
        space: Space,
        checkpoints: Checkpoints,
        clock: Clock,
        observer: Relay,
        options: StoreOptions,
    ) -> None:
        self._db = db
        self._space = space
        self._checkpoints = checkpoints
        self._clock = clock
        self._observer = observer
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[Unit | None] = queue.SimpleQueue()
        self._replies = Replies()
        self._watchers = 0
        self._closing = False
        self._sleeps = False
        self._seen = int(db.pragma("data_version"))
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self.failed: StoreFailed | None = None
        self.failure: asyncio.Future[StoreFailed] = self._loop.create_future()
        self.on_foreign_commit: Callable[[], None] = lambda: None
        self.commits = 0
        self.stale_aborts = 0

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(
        self,
        work: Work[T],
        *,
        after: Callable[[T], None] | None = None,
        rescue: Callable[[Unavailable], Awaitable[T]] | None = None,
        is_intake: bool = False,
        weight: int = 0,
    ) -> asyncio.Future[T]:
        """Queue one unit; its future completes once the commit it was part of is synced, or has failed.

        `after` runs on the loop right after the commit, whether or not anybody still waits. `rescue` may still give a
        result (from what is already stored) when the unit met temporary trouble. A unit whose future is cancelled
        before its turn does not run.
        """
        future: asyncio.Future[T] = self._loop.create_future()
        unit = Unit(work=work, future=future, after=cast("Any", after), rescue=rescue, weight=weight)
        trouble = self._refusal(is_intake=is_intake)
        self._replies.open += 1
        if trouble is not None:
            self._replies.complete([Outcome(unit=unit, result=None, error=trouble)])
        else:
            self._queue.put(unit)
        return future

    def _refusal(self, *, is_intake: bool) -> Exception | None:
        """Say why no unit is taken now."""
        if self.failed is not None:
            return StoreFailed(reason=self.failed.reason)
        if self._closing:
            return Unavailable(reason=STOPPING)
        bound = self._options.queue if is_intake else self._options.queue * SPARE
        return Unavailable(reason=OVERLOADED) if self._replies.open >= bound else None

    def watch(self) -> None:
        """Look for other processes' commits until `unwatch`; calls nest."""
        self._watchers += 1
        if self._watchers == 1 and self._sleeps:
            # A thread that is at work, or sleeps for a moment only, looks at the watchers by itself.
            self._queue.put(None)

    def unwatch(self) -> None:
        """Stop looking."""
        self._watchers -= 1

    def fail(self, error: StoreFailed) -> None:
        """Close the store for good. Called by any thread that met damage."""
        if self.failed is not None:
            return
        self.failed = error
        self._observer.event("store-failed", reason=error.reason)
        self._post(self._tell_failure)

    async def close(self) -> None:
        """Write what is queued, then end the thread and close the connection."""
        self._closing = True
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        await self._replies.drain()

    def _tell_failure(self) -> None:
        if self.failed is not None and not self.failure.done():
            self.failure.set_result(self.failed)

    # --- on the thread ---

    def _run(self) -> None:
        """Live until closed; what was queued before that is still written."""
        is_over = False
        while not is_over:
            try:
                is_over = self._turn()
            except Exception as error:  # noqa: BLE001 - a dead writer must end the process, not hang it
                self.fail(StoreFailed(reason=f"writer stopped ({type(error).__name__})"))
        self._db.close()

    def _turn(self) -> bool:
        """Write one group, or use the pause; True once closed and nothing is left."""
        group = self._collect()
        if group:
            self._write(group)
        elif self._closing and self._queue.empty():
            return True
        else:
            self._idle()
        self._tend()
        return False

    def _collect(self) -> list[Unit]:
        """Take everything queued, up to the bounds; nothing if nothing came in time."""
        group: list[Unit] = []
        weight = 0
        try:
            unit = self._sleep()
            while True:
                if unit is None:
                    # Only a knock at the door: it must not cut the group short.
                    pass
                elif not unit.future.cancelled():
                    group.append(unit)
                    weight += unit.weight
                else:
                    self._post(
                        self._replies.complete, [Outcome(unit=unit, result=None, error=Unavailable(reason=GONE))]
                    )
                if len(group) >= GROUP_UNITS or weight >= GROUP_BYTES:
                    break
                unit = self._queue.get_nowait()
        except queue.Empty:
            pass
        return group

    def _sleep(self) -> Unit | None:
        """Wait for the first unit of a group, or for a knock. Raises queue.Empty when the patience is over."""
        # Said before the watchers are looked at: whoever begins to watch after that look knocks.
        self._sleeps = True
        patience = self._patience()
        self._sleeps = patience is None
        try:
            return self._queue.get(timeout=patience)
        finally:
            self._sleeps = False

    def _patience(self) -> float | None:
        """Give the seconds to wait for work before looking after other things; None: for ever."""
        if self._closing:
            return 0
        if self._watchers:
            return WATCH_INTERVAL
        if self._space.closed_because is not None or self._checkpoints.is_owed:
            return self._options.recheck / 1_000
        return None

    def _write(self, group: Sequence[Unit]) -> None:
        """Run a group in one transaction and answer it."""
        if self.failed is not None:
            error = StoreFailed(reason=self.failed.reason)
            self._post(self._replies.complete, [Outcome(unit=unit, result=None, error=error) for unit in group])
            return
        try:
            outcomes = self._attempt(group)
        except _GroupLostError as lost:
            outcomes = self._all_failed(group, lost.cause)
        except Exception as error:  # noqa: BLE001 - whatever it was, nobody of the group may wait for ever
            outcomes = self._all_failed(group, error)
        self._post(self._replies.complete, outcomes)

    def _attempt(self, group: Sequence[Unit]) -> list[Outcome]:
        """Run the group; only if a unit failed half-way, undo everything and run it again with savepoints.

        Nearly every group is spared the savepoints, which cost a copy of every page a unit touches.
        """
        try:
            return self._transact(group, self._run_plain)
        except _HalfDoneError:
            self._roll_back()
            return self._transact(group, self._run_in_savepoint)

    def _transact(self, group: Sequence[Unit], run: Callable[[Unit], Outcome]) -> list[Outcome]:
        """One BEGIN IMMEDIATE, every unit, one COMMIT."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._notice_foreign()
            outcomes = [run(unit) for unit in group]
            self._db.execute("COMMIT")
        except apsw.Error as error:
            raise _GroupLostError(error) from error
        self.commits += 1
        return outcomes

    def _run_plain(self, unit: Unit) -> Outcome:
        """Run one unit; it may fail alone as long as it has not written anything."""
        before = self._db.total_changes()
        try:
            result = unit.work(self._db)
        except Exception as error:
            self._demand_group(error)
            if self._db.total_changes() != before:
                raise _HalfDoneError from error
            return Outcome(unit=unit, result=None, error=self._told(error))
        if not self._db.in_transaction:
            # Whatever the unit made of it: what ran before it is gone, and what follows would commit by itself.
            raise _GroupLostError(apsw.AbortError("the transaction vanished"))
        return Outcome(unit=unit, result=result, error=None)

    def _run_in_savepoint(self, unit: Unit) -> Outcome:
        """Run one unit; what it raises undoes it alone."""
        self._db.execute("SAVEPOINT unit")
        try:
            result = unit.work(self._db)
        except Exception as error:  # noqa: BLE001 - the unit's own failure is its caller's to judge
            self._demand_group(error)
            self._db.execute("ROLLBACK TO unit")
            self._db.execute("RELEASE unit")
            return Outcome(unit=unit, result=None, error=self._told(error))
        self._db.execute("RELEASE unit")
        return Outcome(unit=unit, result=result, error=None)

    def _demand_group(self, error: Exception) -> None:
        """Give the whole group up if the transaction went with the error, or must go."""
        if not self._db.in_transaction or self._ends_group(error):
            raise _GroupLostError(error) from error

    def _ends_group(self, error: Exception) -> bool:
        return isinstance(error, apsw.Error) and fault_of(error) in {Fault.FATAL, Fault.FULL, Fault.PASSING}

    def _told(self, error: Exception) -> Exception:
        """Give what the unit's caller is told; stale leaders are counted."""
        if isinstance(error, StaleEpoch):
            self._observer.event("stale-epoch", epoch=error.epoch)
        elif isinstance(error, apsw.Error) and fault_of(error) is Fault.STALE:
            self.stale_aborts += 1
            self._observer.event("stale-abort")
        return told(error)

    def _all_failed(self, group: Sequence[Unit], cause: Exception) -> list[Outcome]:
        """Undo what is left of the transaction; every unit of the group has failed."""
        fault = fault_of(cause)
        self._roll_back()
        # Whose fault it was matters to one unit; the others met trouble that may pass, or the end of the store.
        error: Exception = Unavailable(reason=TROUBLE)
        if fault in {Fault.FATAL, Fault.FULL, Fault.BUSY}:
            error = told(cause)
        if fault is Fault.FULL:
            self._space.give_up_ballast()
        if isinstance(error, StoreFailed):
            self.fail(error)
        self._observer.event("group-failed", units=len(group), fault=fault.name.lower())
        return [Outcome(unit=unit, result=None, error=error) for unit in group]

    def _roll_back(self) -> None:
        if not self._db.in_transaction:
            return
        try:
            self._db.execute("ROLLBACK")
        except apsw.Error as error:
            self.fail(StoreFailed(reason=f"cannot roll back ({type(error).__name__})"))

    def _notice_foreign(self) -> None:
        """Tell the loop when another connection has committed since we last looked."""
        version = int(ask(self._db, "PRAGMA data_version")[0][0])
        if version != self._seen:
            self._seen = version
            self._post(self.on_foreign_commit)

    def _idle(self) -> None:
        """Nothing came: look for other processes' commits, and let the log begin anew."""
        if self.failed is not None:
            return
        try:
            if self._watchers:
                self._notice_foreign()
            self._checkpoints.when_idle(self._clock().ms)
        except apsw.Error as error:
            self._mend(error)

    def _tend(self) -> None:
        """Between groups, after the answers left: checkpoint, look at the disk, try whether there is room again."""
        if self.failed is not None:
            return
        try:
            self._checkpoints.when_due()
            if self._space.look(self._clock().ms) and self._space.is_full and self._space.recover():
                self._try_room()
        except apsw.Error as error:
            self._mend(error)

    def _try_room(self) -> None:
        """Write something of size, undo it, and open intake again if that went well."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.execute("CREATE TABLE trial (filler BLOB)")
            self._db.execute("INSERT INTO trial VALUES (zeroblob(65536))")
        finally:
            self._roll_back()
        self._space.reopen()

    def _mend(self, error: apsw.Error) -> None:
        """Judge an error outside any unit."""
        match fault_of(error):
            case Fault.FATAL | Fault.BUG:
                self.fail(StoreFailed(reason=type(error).__name__))
            case Fault.FULL:
                self._space.give_up_ballast()
            case _:
                self._observer.event("store-trouble", error=type(error).__name__)

    def _post(self, call: Callable[..., None], *arguments: object) -> None:
        """Run something on the loop; a loop that is gone has nobody left to tell."""
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            self._closing = True
