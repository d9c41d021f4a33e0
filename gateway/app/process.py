"""The life of one gateway process, from opened store to released lease. Orders; decides nothing."""

import asyncio
import os
import shutil
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from gateway.app import world
from gateway.app.captures import Captures
from gateway.app.oddities import MOST, Oddities
from gateway.app.ready import write_ready
from gateway.app.storage import opened
from gateway.app.translate import channel_options, dispatch_options, link_options
from gateway.config.settings import Settings
from gateway.config.upstream import Upstream
from gateway.dispatcher.supervisor import Doors, Supervisor, World
from gateway.errors import GatewayError, StoreFailed
from gateway.listener.premises import Premises
from gateway.listener.server import Listener
from gateway.observe.http import StatusServer
from gateway.observe.observatory import Observatory
from gateway.observe.snapshot import Gauges
from gateway.ports.clock import Passing
from gateway.store.sqlite.engine import SqliteStore
from gateway.upstream.link import WebSocketLink

LAST_SECONDS = 1.0
"""Seconds the dispatcher has for answers on the way, even when the listeners used up the grace."""


class Process:
    """Everything one process runs."""

    def __init__(self, settings: Settings, observatory: Observatory, passing: Passing) -> None:
        self._settings = settings
        self._observatory = observatory
        self._passing = passing
        self._premises = Premises(
            max_connections=settings.gateway.max_connections, max_buffered_bytes=settings.gateway.max_buffered_bytes
        )
        self._oddities = Oddities(observatory, clock=world.clock)
        self._listeners: dict[str, Listener] = {}
        self._supervisors: dict[str, Supervisor] = {}
        self._links: dict[str, WebSocketLink] = {}
        self._store: SqliteStore | None = None
        self.was_ready = False

    async def serve(self, stop: asyncio.Event, ready_file: Path | None) -> None:
        """Serve until `stop`; raises StoreFailed as soon as nothing positive may be said any more."""
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(
                opened(self._settings, observer=self._observatory, passing=self._passing)
            )
            self._store = store
            await store.register({channel.channel_name: channel.upstream for channel in self._settings.channel})
            status = await self._start_status(stack, store)
            captures = self._captures(store)
            await self._bind(stack, store, captures)
            self._announce(ready_file, status)
            await self._work(store, captures, stop)

    async def _start_status(self, stack: AsyncExitStack, store: SqliteStore) -> StatusServer:
        """Serve /metrics, /healthz and /readyz from the first moment on."""
        listen = self._settings.metrics.listen
        status = StatusServer(
            listen.host,
            listen.port,
            observatory=self._observatory,
            readiness=self._readiness,
            summaries=store.desk.summaries,
            gauges=self._gauges,
            health=self._health,
        )
        await status.start()
        stack.push_async_callback(status.stop)
        return status

    async def _bind(self, stack: AsyncExitStack, store: SqliteStore, captures: Captures) -> None:
        """Bind every channel; one that cannot be bound refuses the start as a whole, and nothing stays bound."""
        new_id = world.answer_ids()
        for channel in self._settings.channel:
            listener = Listener(
                channel_options(channel),
                store=store.intake,
                observer=self._oddities,
                clock=world.clock,
                new_id=new_id,
                passing=self._passing,
                premises=self._premises,
                tap=captures,
            )
            await listener.start()
            stack.push_async_callback(listener.stop, grace=0.0)
            self._listeners[channel.name] = listener

    def _announce(self, ready_file: Path | None, status: StatusServer) -> None:
        """Say that everything listens."""
        self.was_ready = True
        channels = {name: _text(listener.address) for name, listener in self._listeners.items()}
        metrics = status.address
        self._observatory.event("ready", pid=os.getpid(), channels=len(channels), metrics=metrics)
        if ready_file is not None:
            facts = {"pid": os.getpid(), "channels": channels, "metrics": metrics, "console": None}
            write_ready(ready_file, facts)

    def _captures(self, store: SqliteStore) -> Captures:
        data_dir = self._settings.gateway.data_dir
        return Captures(store.anomalies, data_dir=data_dir, clock=world.clock, observer=self._observatory)

    async def _work(self, store: SqliteStore, captures: Captures, stop: asyncio.Event) -> None:
        """Lead where we may, until told to stop or the store fails."""
        holder = world.holder(self._settings.gateway.node_name)
        async with asyncio.TaskGroup() as tasks:
            failure = tasks.create_task(_fail_with(store))
            aside = [tasks.create_task(self._oddities.run(store.anomalies)), tasks.create_task(captures.run())]
            leading = [
                tasks.create_task(self._supervisor(store, upstream, holder).run())
                for upstream in self._settings.upstream
            ]
            await stop.wait()
            self._observatory.event("stopping", grace=self._settings.gateway.shutdown_grace)
            await self._wind_down()
            for task in (*leading, *aside, failure):
                task.cancel()
        with suppress(GatewayError):
            await captures.write()
            await self._oddities.flush(store.anomalies, limit=MOST)
        self._observatory.event("stopped")

    async def _wind_down(self) -> None:
        """Answer what was read, then settle what is in flight, then release the leases: all within the grace."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._settings.gateway.shutdown_grace
        grace = max(0.0, self._settings.gateway.shutdown_grace - LAST_SECONDS)
        await asyncio.gather(*(listener.stop(grace=grace) for listener in self._listeners.values()))
        left = max(LAST_SECONDS, end - loop.time())
        await asyncio.gather(*(supervisor.drain(grace=left) for supervisor in self._supervisors.values()))

    def _supervisor(self, store: SqliteStore, upstream: Upstream, holder: str) -> Supervisor:
        link = WebSocketLink(link_options(upstream), observer=self._observatory, clock=world.clock, roll=world.roll)
        supervisor = Supervisor(
            dispatch_options(self._settings, upstream, holder=holder),
            doors=Doors(
                outbox=store.outbox,
                leases=store.leases,
                link=link,
                store_id=store.desk.store_id,
                find_row=store.desk.row,
            ),
            world=World(
                clock=world.clock,
                roll=world.roll,
                new_id=world.answer_ids(),
                observer=self._observatory,
                passing=self._passing,
            ),
        )
        self._links[upstream.name] = link
        self._supervisors[upstream.name] = supervisor
        return supervisor

    def _readiness(self) -> Mapping[str, str | None]:
        """Say for each thing that must be so why it is not (None: it is)."""
        intake = "store is not open" if self._store is None else self._store.intake.closed_because
        return {"intake": intake, "bound": None if self.was_ready else "channels are not bound yet"}

    def _gauges(self) -> Gauges:
        """Give what this process alone knows, for one scrape."""
        return Gauges(
            connections={name: listener.connections for name, listener in self._listeners.items()},
            certificates={name: listener.certificate_ends for name, listener in self._listeners.items()},
            buffered_bytes=self._premises.buffered,
            links={name: link.state for name, link in self._links.items()},
            leading={name: supervisor.is_leading for name, supervisor in self._supervisors.items()},
            free_bytes=shutil.disk_usage(self._settings.gateway.data_dir).free,
            commits=0 if self._store is None else self._store.commits,
        )

    def _health(self) -> str | None:
        """Say why this process should be ended and started again."""
        return (
            "the store has failed"
            if self._store is not None and self._store.intake.closed_because == "failed"
            else None
        )


async def _fail_with(store: SqliteStore) -> None:
    """Turn the store's end into an exception that stops everything."""
    failed: StoreFailed = await store.failure()
    raise failed


def _text(address: tuple[str, int]) -> str:
    """Write an address as HOST:PORT."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
