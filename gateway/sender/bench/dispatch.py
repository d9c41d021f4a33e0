"""Suite `dispatch`: messages settled a second, in order, each `inflight` and synced before it is sent (B8, B9).

The server stands still while the queue is filled, and then goes on: what is timed is the way from a full queue to
an empty one. The busiest end of it is left out on both sides.
"""

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass

from gateway.sender.bench import scrape
from gateway.sender.bench.generators import send
from gateway.sender.bench.ledger import Cost
from gateway.sender.bench.options import BenchFailed
from gateway.sender.bench.site import Gateway, Kind, Server
from gateway.sender.bench.stage import Stage

ONE, MANY, BASELINE = "1 channel", "32 channels", "32 channels, one FULL commit a mark"

_MESSAGES = {ONE: 1_000, MANY: 5_000, BASELINE: 600}
"""Messages queued for each second of the load: about what is settled in one."""

_WINDOW = 8
_LOOK_EVERY = 0.1
_LOOKS = 3
"""Looks at the gateway's counters in the time of one load: each costs it some milliseconds."""
_PATIENCE = 60.0
"""Seconds without a settlement after which nothing more is expected."""

_EDGE = 0.05
_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A gateway and its server."""

    gateway: Gateway
    server: Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """One look at a pair while the queue empties."""

    at: float
    settled: float
    commits: float
    cpu: float
    server_cpu: float


def steps(rounds: int, *, has_baseline: bool) -> int:
    """Count the steps the suite will tell of."""
    return rounds * (3 if has_baseline else 2)


async def dispatch(stage: Stage) -> None:
    """Run the suite: one channel and many, interleaved."""
    options, ledger = stage.options, stage.ledger
    async with AsyncExitStack() as stack:
        ours = await _pair(stage, stack, "ours")
        other = await _pair(stage, stack, "single-full") if options.has_baseline else None
        for _ in range(options.rounds):
            raw = await stage.sync_rate()
            rate, _ = await _settled(stage, ours, ONE, channels=1)
            ledger.note("B8", rate / ((raw + await stage.sync_rate()) / 2))
            rate, cost = await _settled(stage, ours, MANY, channels=options.channels)
            ledger.note("B9c", cost.commits)
            if other is not None:
                slow, _ = await _settled(stage, other, BASELINE, channels=options.channels)
                ledger.note("B9", rate / slow)


async def _pair(stage: Stage, stack: AsyncExitStack, kind: Kind) -> Pair:
    """Start a server and a gateway, and wait until they know each other."""
    name = f"dispatch-{kind}"
    server = await stack.enter_async_context(stage.site.server(f"{name}-server", memory=stage.memory))
    gateway = await stack.enter_async_context(
        stage.site.gateway(name, kind=kind, url=server.url, channels=stage.options.channels)
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            # Another process makes the connection: there is no event to wait for.
            while not scrape.total(await gateway.counters(), scrape.LINK):  # noqa: ASYNC110 - see above
                await asyncio.sleep(_LOOK_EVERY)
    except TimeoutError:
        raise BenchFailed("the gateway found no way to its server") from None
    return Pair(gateway=gateway, server=server)


async def _settled(stage: Stage, pair: Pair, name: str, *, channels: int) -> tuple[float, Cost]:
    """Fill the queue, let the server go on, and time how it empties; gives messages a second and what one cost."""
    stage.told(f"dispatch: {name}")
    count = max(channels * 4, round(_MESSAGES[name] * stage.options.seconds))
    begun = await _glance(pair)
    pair.server.freeze()
    try:
        await send(pair.gateway.targets[:channels], seconds=_PATIENCE, limit=count, window=_WINDOW)
    finally:
        pair.server.thaw()
    pair.gateway.reset_peak()
    glances = await _emptied(pair, begun.settled + count, every=stage.options.seconds / _LOOKS)
    first, last = _ends(glances, begun.settled, count)
    settled = last.settled - first.settled
    rate = settled / (last.at - first.at)
    cost = Cost(
        cpu=(last.cpu - first.cpu) / settled * 1e6,
        commits=(last.commits - first.commits) / settled,
        peak=pair.gateway.vitals().peak / _MIB,
    )
    share = (last.server_cpu - first.server_cpu) / (last.at - first.at)
    stage.ledger.trace(name).add(rate, cost, share=share)
    return rate, cost


async def _emptied(pair: Pair, goal: float, *, every: float) -> list[Glance]:
    """Look again and again until everything is settled. Raises BenchFailed when it does not go on."""
    glances = [await _glance(pair)]
    moved = time.monotonic()
    while glances[-1].settled < goal:
        await asyncio.sleep(every)
        glances.append(await _glance(pair))
        if glances[-1].settled > glances[-2].settled:
            moved = time.monotonic()
        elif time.monotonic() - moved > _PATIENCE:
            raise BenchFailed(f"{goal - glances[-1].settled:.0f} messages were never settled")
    return glances


def _ends(glances: list[Glance], begun: float, count: int) -> tuple[Glance, Glance]:
    """Choose where the clock starts and stops: inside the edges, where the queue is long enough for that."""
    inner = [each for each in glances if begun + _EDGE * count <= each.settled <= begun + (1 - _EDGE) * count]
    return (inner[0], inner[-1]) if len(inner) >= 2 and inner[0].settled < inner[-1].settled else (
        glances[0], glances[-1],
    )  # fmt: skip


async def _glance(pair: Pair) -> Glance:
    found = await pair.gateway.counters()
    return Glance(
        at=time.monotonic(),
        settled=scrape.total(found, scrape.event("settled")),
        commits=scrape.total(found, scrape.COMMITS),
        cpu=pair.gateway.vitals().cpu,
        server_cpu=pair.server.vitals().cpu,
    )
