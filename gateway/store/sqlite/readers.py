"""Short reads on connections of their own, off the loop. Never writes, never keeps a read transaction open."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw

from gateway.errors import StoreFailed, Unavailable
from gateway.store.options import StoreOptions
from gateway.store.sqlite.faults import STOPPING, told
from gateway.store.sqlite.opening import configure

T = TypeVar("T")

THREADS = 2


class Readers:
    """A small pool of threads, each with one connection that cannot write."""

    def __init__(self, path: Path, *, options: StoreOptions, on_damage: Callable[[StoreFailed], None]) -> None:
        self._path = path
        self._options = options
        self._on_damage = on_damage
        self._local = threading.local()
        self._open: list[apsw.Connection] = []
        self._pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="store-reader")
        self._closed = False

    async def read(self, query: Callable[[apsw.Connection], T]) -> T:
        """Run one read. Raises Unavailable when the file is busy or closing, StoreFailed on damage."""
        if self._closed:
            raise Unavailable(reason=STOPPING)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._run, query)
        except apsw.Error as error:
            trouble = told(error)
            if isinstance(trouble, StoreFailed):
                self._on_damage(trouble)
            raise trouble from None

    async def snapshot(self, query: Callable[[apsw.Connection], T]) -> T:
        """Run several reads of one moment."""
        return await self.read(lambda db: _within_transaction(db, query))

    def _run(self, query: Callable[[apsw.Connection], T]) -> T:
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = self._connect()
        return query(db)

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
        configure(db, self._options)
        db.pragma("query_only", 1)
        self._open.append(db)
        return db

    def interrupt(self) -> None:
        """End what runs now, soon."""
        for db in tuple(self._open):
            db.interrupt()

    async def close(self) -> None:
        """Let running reads end, then close the connections."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown)
        while self._open:
            self._open.pop().close()


def _within_transaction(db: apsw.Connection, query: Callable[[apsw.Connection], T]) -> T:
    db.execute("BEGIN")
    try:
        return query(db)
    finally:
        db.execute("ROLLBACK")
