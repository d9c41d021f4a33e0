"""Opens the gateway's store with the real clock and the real chance."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from gateway.app import world
from gateway.app.translate import store_options
from gateway.config.settings import Settings
from gateway.errors import StoreRefused
from gateway.ports.clock import Passing, pass_by
from gateway.ports.observe import Observer
from gateway.store.sqlite.engine import SqliteStore, open_store

DATABASE = "queue.db"


def database(settings: Settings) -> Path:
    """Name the store's file."""
    return settings.gateway.data_dir / DATABASE


@asynccontextmanager
async def opened(
    settings: Settings,
    *,
    observer: Observer,
    passing: Passing = pass_by,
    role: Literal["gateway", "desk"] = "gateway",
    migrate: bool = True,
) -> AsyncIterator[SqliteStore]:
    """Open the store, and close it in the end. Raises StoreRefused with the file and the reason."""
    file = database(settings)
    if role == "desk" and not file.exists():
        raise StoreRefused(path=str(file), reason="there is no store yet; start the gateway once")
    _make_folder(file.parent)
    store = await open_store(
        file,
        clock=world.clock,
        observer=observer,
        passing=passing,
        options=store_options(settings),
        role=role,
        random=world.entropy,
        migrate=migrate,
    )
    try:
        yield store
    finally:
        await store.close()


def _make_folder(folder: Path) -> None:
    """Make data_dir with mode 0700; an existing folder is left as it is."""
    try:
        before = os.umask(0o077)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        finally:
            os.umask(before)
    except OSError as trouble:
        raise StoreRefused(path=str(folder), reason=trouble.strerror or "cannot be made") from trouble
