"""A bounded queue served by its own thread, so that who offers never waits and never sees a failure."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

Item = TypeVar("Item")


class _Flush:
    """Asks the thread to say when it has come this far; `ends` stops it there."""

    def __init__(self, *, ends: bool) -> None:
        self.reached = threading.Event()
        self.ends = ends


class Pump(Generic[Item]):
    """Calls `take` for each item on its own thread; what does not fit into `limit` waiting items is dropped.

    `dropped` counts those, `failed` the items whose `take` raised; a `take` that hangs only fills the queue.
    """

    def __init__(self, take: Callable[[Item], None], *, limit: int, name: str) -> None:
        self.dropped = 0
        self.failed = 0
        self._take = take
        self._limit = limit
        self._items: SimpleQueue[Item | _Flush] = SimpleQueue()
        # A daemon: a hanging subscriber must not keep a process that wants to end.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def offer(self, item: Item) -> bool:
        """Queue the item; False if it was dropped."""
        if self._items.qsize() >= self._limit or not self._thread.is_alive():
            self.dropped += 1
            return False
        self._items.put(item)
        return True

    def flush(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds until everything offered before was taken; False if it was not."""
        return self._send(_Flush(ends=False), timeout)

    def close(self, timeout: float) -> bool:
        """Do the same and end the thread; False if it hangs and is left behind."""
        return self._send(_Flush(ends=True), timeout)

    def _send(self, flush: _Flush, timeout: float) -> bool:
        if not self._thread.is_alive() or self._thread is threading.current_thread():
            return False
        self._items.put(flush)
        done = flush.reached.wait(timeout)
        if done and flush.ends:
            self._thread.join(timeout)
        return done

    def _run(self) -> None:
        while True:
            item = self._items.get()
            if isinstance(item, _Flush):
                item.reached.set()
                if item.ends:
                    return
                continue
            try:
                self._take(item)
            except Exception:  # noqa: BLE001 - whatever an outside reader raises must not end the thread
                self.failed += 1
