"""What everything under one term shares: the term itself, the doors, and the world handed in."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from gateway.dispatcher.receipts import Receipts
from gateway.errors import LeaseLost, Unavailable
from gateway.model.delivery import Term
from gateway.model.ids import RowId, row_uuid
from gateway.model.upstream import Callback
from gateway.ports.clock import Clock, NewId, Passing, Roll
from gateway.ports.observe import Observer
from gateway.ports.store import Outbox
from gateway.ports.upstream import Link

T = TypeVar("T")

STORE_PAUSE = 1.0
"""Seconds before a write the store could not take (full, busy) is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """One term of leadership. `is_trusted` is read right before every socket write."""

    term: Term
    is_trusted: Callable[[], bool]
    agent_id: str
    store_id: UUID
    outbox: Outbox
    link: Link
    receipts: Receipts
    clock: Clock
    roll: Roll
    new_id: NewId
    observer: Observer
    passing: Passing

    def demand_trust(self) -> None:
        """Raise LeaseLost unless the lease may still be trusted."""
        if not self.is_trusted():
            raise LeaseLost(epoch=self.term.epoch, reason="the trust window is over")

    def callback(self, row: RowId, *, generation: int, send: int) -> Callback:
        """Name one send to the server."""
        public = row_uuid(self.store_id, row)
        return Callback(agent=self.agent_id, row=public, generation=generation, send=send)

    async def insist(self, write: Callable[[], Awaitable[T]]) -> T:
        """Try a write until the store takes it or the trust is over: a decision is never lost to passing trouble."""
        while True:
            try:
                return await write()
            except Unavailable as trouble:
                self.observer.event("store-unavailable", group=self.term.group, reason=trouble.reason)
                await asyncio.sleep(STORE_PAUSE)
                self.demand_trust()
