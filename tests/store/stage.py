"""Opens SQLite stores the way engine tests need them."""

import os
from pathlib import Path
from typing import Any

from gateway.ports.clock import Passing, pass_by
from gateway.store.options import StoreOptions
from gateway.store.sqlite.engine import SqliteStore, open_store
from gateway.store.sqlite.opening import Role
from tests.store.samples import ADT, GROUP, LAB, ManualClock, Notes


def options(**more: Any) -> StoreOptions:
    """Give small and quick options: nothing reserved, short waits."""
    plain: dict[str, Any] = {"low_space": 0, "ballast": 0, "wal_grow": 0, "busy_timeout": 10_000, "recheck": 10}
    return StoreOptions(**{**plain, **more})


async def opened(
    path: Path,
    clock: ManualClock,
    notes: Notes | None = None,
    *,
    passing: Passing = pass_by,
    role: Role = "gateway",
    migrate: bool = True,
    **more: Any,
) -> SqliteStore:
    """Open a store and make its channels known."""
    store = await open_store(
        path,
        clock=clock,
        observer=notes or Notes(),
        options=options(**more),
        random=os.urandom,
        passing=passing,
        role=role,
        migrate=migrate,
    )
    if role == "gateway":
        await store.register({ADT: GROUP, LAB: GROUP})
    return store
