"""The store as an operator's command opens it: beside a running gateway, or without one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.app.storage import opened
from gateway.config.settings import Settings
from gateway.ports.observe import Fact
from gateway.store.sqlite.engine import SqliteStore


class Unwatched:
    """An observer for short commands: what matters to the person is printed, the acts are events in the store."""

    def event(self, name: str, /, **facts: Fact) -> None:
        """Note nothing."""

    def anomaly(self, *, channel: str, peer: str, kind: str, offset: int, bytes_hex: str, count: int = 1) -> None:
        """Note nothing."""


@asynccontextmanager
async def open_desk(settings: Settings) -> AsyncIterator[SqliteStore]:
    """Open the store for an operator. Raises StoreRefused; never changes the schema."""
    async with opened(settings, observer=Unwatched(), role="desk", migrate=False) as store:
        yield store
