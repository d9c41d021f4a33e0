"""SQLite's own check of the file, in the background after the start, table by table. Repairs nothing."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw

from gateway.errors import StoreFailed, Unavailable
from gateway.store.options import StoreOptions
from gateway.store.sqlite.readers import Readers
from gateway.store.sqlite.statements import ask, named

Q = named("verify")
DAMAGED = "the file is damaged (quick_check)"


class Inspection:
    """One pass over the file. It rests as long as it worked, so that it never takes more than half of the disk."""

    def __init__(self, path: Path, *, options: StoreOptions, on_damage: Callable[[StoreFailed], None]) -> None:
        self._readers = Readers(path, options=options, on_damage=on_damage)
        self._on_damage = on_damage
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, on the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            for (table,) in await self._readers.read(lambda db: ask(db, Q["tables"])):
                begun = loop.time()
                if not await self._readers.read(partial(_is_sound, table)):
                    self._on_damage(StoreFailed(reason=DAMAGED))
                    return
                await asyncio.sleep(loop.time() - begun)
        except (Unavailable, StoreFailed):
            # Interrupted by closing, or damage that the reader has reported already.
            return

    async def close(self) -> None:
        """Stop, wherever it is."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._readers.interrupt()
        await self._readers.close()


def _is_sound(table: str, db: apsw.Connection) -> bool:
    """Check one table and its indexes; one read transaction each, so that the log can begin anew in between."""
    return ask(db, Q["check_table"], (table,)) == [("ok",)]
