"""Where a suite runs: the site, the options, the ledger, and the two things every suite does. Judges nothing."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.sender.bench import scrape
from gateway.sender.bench.generators import Load, Target, send
from gateway.sender.bench.ledger import Cost, Ledger
from gateway.sender.bench.message import ADMISSION
from gateway.sender.bench.options import BenchOptions
from gateway.sender.bench.probe import probe
from gateway.sender.bench.site import Gateway, Site

PROBE_SHARE = 0.25
"""Part of a load's time that each look at the disk takes."""

_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """`memory`: a folder that needs no disk, where there is one. `told`: called with each step's words, before it."""

    site: Site
    options: BenchOptions
    ledger: Ledger
    memory: Path
    told: Callable[[str], None]

    async def sync_rate(self) -> float:
        """Measure the disk alone; gives synced writes of 12 KB a second."""
        found = await asyncio.to_thread(probe, self.site.folder, seconds=PROBE_SHARE * self.options.seconds)
        self.ledger.probes.append(found)
        return found.rate

    async def load(
        self,
        gateway: Gateway,
        targets: Sequence[Target],
        *,
        seconds: float,
        size: int = ADMISSION,
        processes: int = 1,
    ) -> tuple[Load, Cost]:
        """Send for so many seconds, one message in the air on each connection; gives what that cost the gateway."""
        gateway.reset_peak()
        before, commits = gateway.vitals(), await _commits(gateway)
        found = await send(targets, seconds=seconds, size=size, processes=processes)
        after = gateway.vitals()
        cost = Cost(
            cpu=(after.cpu - before.cpu) / found.answered * 1e6,
            commits=(await _commits(gateway) - commits) / found.answered,
            peak=after.peak / _MIB,
        )
        return found, cost


async def _commits(gateway: Gateway) -> float:
    return scrape.total(await gateway.counters(), scrape.COMMITS)
