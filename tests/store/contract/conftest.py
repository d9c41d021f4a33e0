"""One contract, every engine: a second engine is one more entry in ENGINES."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from gateway.model.delivery import Taken, Term
from gateway.model.ids import ChannelName, RowId
from gateway.model.policy import OutcomePolicy
from gateway.ports.store import Anomalies, Desk, Intake, Leases, Outbox
from gateway.store.options import StoreOptions
from gateway.store.sqlite.engine import open_store
from tests.store.samples import ADT, GROUP, LAB, PARK, TTL, ManualClock, Notes, offer, seal, sending


class Store(Protocol):
    """What the contract asks of an engine."""

    @property
    def intake(self) -> Intake: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def leases(self) -> Leases: ...
    @property
    def anomalies(self) -> Anomalies: ...
    @property
    def desk(self) -> Desk: ...
    async def register(self, channels: Mapping[ChannelName, str]) -> None: ...
    async def close(self) -> None: ...


OpenStore = Callable[[], Awaitable[Store]]
"""Opens the same store once more, as another process would."""


async def _open_sqlite(folder: Path, clock: ManualClock, notes: Notes) -> Store:
    options = StoreOptions(low_space=0, ballast=0, wal_grow=0)
    return await open_store(folder / "queue.db", clock=clock, observer=notes, options=options, random=os.urandom)


ENGINES = {"sqlite": _open_sqlite}


@pytest.fixture(params=sorted(ENGINES))
async def store_factory(
    request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock, notes: Notes
) -> AsyncIterator[OpenStore]:
    opened: list[Store] = []

    async def make() -> Store:
        store = await ENGINES[request.param](tmp_path, clock, notes)
        opened.append(store)
        await store.register({ADT: GROUP, LAB: GROUP})
        return store

    yield make
    for store in opened:
        await store.close()


@pytest.fixture
async def store(store_factory: OpenStore) -> Store:
    return await store_factory()


class Leader:
    """A store with a lease, and the short ways a test needs."""

    def __init__(self, store: Store, term: Term, clock: ManualClock) -> None:
        self.store = store
        self.term = term
        self.clock = clock

    async def accept(self, *control_ids: str, **more: object) -> list[RowId]:
        waiting = [self.store.intake.accept(offer(each, **more), seal) for each in control_ids]  # type: ignore[arg-type]  # passed through
        return [(await each).row for each in waiting]

    async def fly(self, row: RowId, *, generation: int = 0) -> int:
        """Claim and mark a row; gives the number of the send."""
        advance = await self.store.outbox.claim(self.term, sending(row, generation=generation), self.clock())
        assert advance.claim is not None
        assert await self.store.outbox.mark_sent(self.term, row, self.clock())
        return advance.claim.send

    async def state(self, row: RowId) -> str:
        found = await self.store.desk.row(row)
        assert found is not None
        return found.state

    async def kinds(self, row: RowId) -> list[str]:
        return [event.kind for event in await self.store.desk.events(row=row, after=0, limit=100)]


async def take(
    store: Store, clock: ManualClock, *, holder: str = "one", policy: OutcomePolicy = PARK, ttl: int = TTL
) -> Taken:
    taken = await store.leases.take(GROUP, holder=holder, ttl=ttl, channels={ADT: policy, LAB: policy}, now=clock())
    assert isinstance(taken, Taken)
    return taken


@pytest.fixture
async def leader(store: Store, clock: ManualClock) -> Leader:
    return Leader(store, (await take(store, clock)).term, clock)


async def findings(store: Store) -> list[str]:
    return [f"{finding.kind} {finding.row}: {finding.text}" async for finding in store.desk.verify()]
