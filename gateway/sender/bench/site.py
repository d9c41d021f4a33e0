"""A gateway and its server as processes in a folder, and what a suite asks of them. Decides nothing."""

import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gateway.sender.bench.options import BenchFailed, Programs
from gateway.sender.bench.programs import Child, server
from gateway.sender.bench.scrape import scrape
from gateway.sender.bench.vitals import Vitals, reset_peak, vitals

Kind = Literal["ours", "single-normal", "single-full"]
"""The gateway as it is; or with one commit for each unit of work, synced rarely (NORMAL) or always (FULL)."""

NOWHERE = "ws://127.0.0.1:9/ws/agent"
"""A server that is away: port 9 discards, and nothing listens there."""

_HEAD = """\
[gateway]
data_dir = "{data}"
max_connections = {all}
[store]
low_space = 16777216
[metrics]
listen = "127.0.0.1:0"
[[upstream]]
name = "main"
url = "{url}"
agent_id = "bench"
"""

_CHANNEL = """\
[[channel]]
name = "c{number}"
listen = "127.0.0.1:0"
upstream = "main"
sequence = "stamp"
max_connections = {connections}
max_connections_per_address = {connections}
"""


def config(data: Path, *, url: str, channels: int, connections: int) -> str:
    """Write the configuration: the defaults, but for what a bench cannot do without."""
    head = _HEAD.format(data=data, url=url, all=channels * connections)
    return head + "".join(_CHANNEL.format(number=number, connections=connections) for number in range(channels))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A running gateway."""

    child: Child
    targets: tuple[tuple[str, int], ...]
    metrics: str

    def vitals(self) -> Vitals:
        """Read its CPU time and memory."""
        return vitals(self.child.pid)

    def reset_peak(self) -> None:
        """Let its peak memory begin anew."""
        reset_peak(self.child.pid)

    async def counters(self) -> Mapping[str, float]:
        """Read its counters."""
        return await scrape(self.metrics)

    def senders(self, count: int) -> Sequence[tuple[str, int]]:
        """Give the targets of `count` connections, the channels in turn."""
        return [self.targets[number % len(self.targets)] for number in range(count)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The bundled receiver, running."""

    child: Child
    url: str

    def vitals(self) -> Vitals:
        """Read its CPU time and memory."""
        return vitals(self.child.pid)

    def freeze(self) -> None:
        """Let it stand still: its connections stay, and nothing is answered."""
        os.kill(self.child.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        os.kill(self.child.pid, signal.SIGCONT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A folder on the disk to be measured, and the programs that may run in it."""

    programs: Programs
    folder: Path

    @asynccontextmanager
    async def gateway(
        self, name: str, *, kind: Kind = "ours", url: str = NOWHERE, channels: int = 1, connections: int = 256
    ) -> AsyncIterator[Gateway]:
        """Run a gateway with a store of its own."""
        file, ready = self.folder / f"{name}.toml", self.folder / f"{name}.ready"
        file.write_text(config(self.folder / name, url=url, channels=channels, connections=connections))
        command = (*self._program(kind), "-c", str(file), "--ready-file", str(ready))
        async with server(command, ready=ready, log=self.folder / f"{name}.log") as (child, facts):
            targets = tuple(_target(facts["channels"][f"c{number}"]) for number in range(channels))
            yield Gateway(child=child, targets=targets, metrics=facts["metrics"])

    def _program(self, kind: Kind) -> tuple[str, ...]:
        match kind:
            case "ours":
                return self.programs.gateway
            case "single-normal":
                return (*self.programs.single, "--synchronous", "NORMAL")
            case "single-full":
                return (*self.programs.single, "--synchronous", "FULL")

    @asynccontextmanager
    async def server(self, name: str, *, memory: Path) -> AsyncIterator[Server]:
        """Run the bundled receiver; its journal lies in `memory`, so that it takes no turn at the disk."""
        ready, journal = self.folder / f"{name}.ready", memory / f"{name}.journal"
        command = (*self.programs.receiver, "--listen", "127.0.0.1:0")
        command += ("--journal", str(journal), "--ready-file", str(ready))
        async with AsyncExitStack() as stack:
            child, facts = await stack.enter_async_context(
                server(command, ready=ready, log=self.folder / f"{name}.log")
            )
            running = Server(child=child, url=facts["url"])
            stack.callback(_thaw_if_alive, running)
            yield running


def _thaw_if_alive(running: Server) -> None:
    """Wake a program up for its end: one that stands still cannot hear of it."""
    if running.child.returncode is None:
        running.thaw()


def _target(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon:
        raise BenchFailed(f"the gateway named no address but {address}")
    return host.strip("[]"), int(port)
