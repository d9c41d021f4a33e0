"""The SQLite store: one file, one writer thread, a few readers. Wires its parts; decides nothing."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import UUID

import apsw

from gateway.errors import StoreFailed, Unavailable
from gateway.model.ids import ChannelName
from gateway.ports.clock import Clock, Passing, pass_by
from gateway.ports.observe import Observer
from gateway.store.options import StoreOptions
from gateway.store.sqlite.anomalies import SqliteAnomalies
from gateway.store.sqlite.channels import Channels, register
from gateway.store.sqlite.checkpoints import Checkpoints
from gateway.store.sqlite.desk import SqliteDesk
from gateway.store.sqlite.faults import STOPPING
from gateway.store.sqlite.inspection import Inspection
from gateway.store.sqlite.intake import SqliteIntake
from gateway.store.sqlite.leases import SqliteLeases
from gateway.store.sqlite.opening import Role, open_writer
from gateway.store.sqlite.outbox import SqliteOutbox
from gateway.store.sqlite.policies import Policies
from gateway.store.sqlite.readers import Readers
from gateway.store.sqlite.relay import Relay
from gateway.store.sqlite.space import Space
from gateway.store.sqlite.statements import ask
from gateway.store.sqlite.watch import Watch
from gateway.store.sqlite.writer import Writer


class SqliteStore:
    """The doors, and the life of the file behind them. Made by `open_store`."""

    def __init__(
        self,
        db: apsw.Connection,
        path: Path,
        *,
        clock: Clock,
        observer: Observer,
        passing: Passing,
        options: StoreOptions,
        role: Role,
        random: Callable[[int], bytes],
    ) -> None:
        store_id, acts = ask(db, "SELECT store_id, acts FROM meta")[0]
        self._channels = Channels(db)
        relay = Relay(observer)
        self._space = Space(path, options=options, observer=relay)
        if role == "gateway":
            self._space.prepare()
        self._space.look(clock().ms)
        checkpoints = Checkpoints(db, path, options)
        self._writer = Writer(
            db, space=self._space, checkpoints=checkpoints, clock=clock, observer=relay, options=options
        )
        self._readers = Readers(path, options=options, on_damage=self._writer.fail)
        policies = Policies()
        self._watch = Watch(self._writer, acts=acts)
        self.outbox = SqliteOutbox(
            writer=self._writer,
            readers=self._readers,
            watch=self._watch,
            channels=self._channels,
            policies=policies,
            observer=observer,
        )
        self._watch.read_with(acts=self.outbox.acts, answers=self.outbox.answers)
        self.intake = SqliteIntake(
            writer=self._writer,
            readers=self._readers,
            space=self._space,
            watch=self._watch,
            channels=self._channels,
            passing=passing,
        )
        self.leases = SqliteLeases(
            writer=self._writer, watch=self._watch, policies=policies, options=options, random=random
        )
        self.desk = SqliteDesk(
            store_id=UUID(bytes=store_id), writer=self._writer, readers=self._readers, watch=self._watch
        )
        self.anomalies = SqliteAnomalies(
            writer=self._writer, readers=self._readers, space=self._space, channels=self._channels
        )
        self._inspection = Inspection(path, options=options, on_damage=self._writer.fail)
        self._writer.failure.add_done_callback(self._end)
        self._writer.start()
        if role == "gateway":
            self._inspection.start()

    @property
    def commits(self) -> int:
        """How many transactions were committed since the start."""
        return self._writer.commits

    @property
    def stale_aborts(self) -> int:
        """How often the fence's trigger had to stop a stale leader; anything but 0 is worth a look."""
        return self._writer.stale_aborts

    async def register(self, channels: Mapping[ChannelName, str]) -> None:
        """Make channels and their dispatch groups known; the same again changes nothing.

        Raises OperatorError when a channel with a row in the air would move to another group.
        """
        numbers = await self._writer.submit(lambda db: register(db, channels))
        self._channels.learn(numbers)

    async def failure(self) -> StoreFailed:
        """Wait until the store has failed for good; the process should end then."""
        return await asyncio.shield(self._writer.failure)

    async def close(self) -> None:
        """Write what is queued, then close. Everybody who still waits gets Unavailable."""
        self.intake.is_stopping = True
        self._watch.end(Unavailable(reason=STOPPING))
        await self._watch.close()
        await self._inspection.close()
        await self._readers.close()
        await self._writer.close()

    def _end(self, failure: asyncio.Future[StoreFailed]) -> None:
        if not failure.cancelled():
            self._watch.end(failure.result())


async def open_store(
    path: Path,
    *,
    clock: Clock,
    observer: Observer,
    options: StoreOptions,
    random: Callable[[int], bytes],
    passing: Passing = pass_by,
    role: Role = "gateway",
    migrate: bool = True,
) -> SqliteStore:
    """Open the store at `path`. Raises StoreRefused, which says which file and why.

    `role` is `desk` for commands that work beside a gateway: they make no file and reserve no room.
    `random` gives random bytes; a new store takes its id from them.
    """
    db = await asyncio.to_thread(
        open_writer,
        path,
        clock=clock,
        observer=Relay(observer),
        options=options,
        role=role,
        random=random,
        with_migrations=migrate,
    )
    return SqliteStore(
        db,
        path,
        clock=clock,
        observer=observer,
        passing=passing,
        options=options,
        role=role,
        random=random,
    )
