"""Suite `size`: large messages to the disk, and what a header costs in a large one (B10, B11)."""

import time
from statistics import median

from gateway.sender.bench import message
from gateway.sender.bench.site import Gateway
from gateway.sender.bench.stage import Stage
from gateway.wire.header import scan

NAME = "1 MB messages, 8 senders"
_SENDERS = 8
_SCANS = 300
_SMALL = 1_000
_MB = 1_000_000
_MIB = 1 << 20


def steps(rounds: int) -> int:
    """Count the steps the suite will tell of."""
    return rounds + 1


async def size(stage: Stage) -> None:
    """Run the suite."""
    async with stage.site.gateway("size") as gateway:
        resident = gateway.vitals().resident
        for _ in range(stage.options.rounds):
            await _large(stage, gateway, resident)
    stage.told("size: header scan")
    for _ in range(stage.options.rounds):
        stage.ledger.note("B11", header_ratio(stage.options.large))


async def _large(stage: Stage, gateway: Gateway, resident: int) -> None:
    """Send large messages side by side: how much goes through, and how much memory that takes.

    `resident`: bytes the gateway took before the first of them came.
    """
    stage.told(f"size: {NAME}")
    await stage.sync_rate()
    large = stage.options.large
    load, cost = await stage.load(gateway, gateway.senders(_SENDERS), seconds=stage.options.seconds, size=large)
    stage.ledger.trace(NAME).add(load.rate, cost, load=load, share=load.generator_share)
    stage.ledger.note("B10", load.rate * large / _MB)
    stage.ledger.note("B10m", max(0.0, cost.peak * _MIB - resident) / (_SENDERS * large))


def header_ratio(large: int) -> float:
    """Time the header scan of a large message over that of a small one."""
    small, big = (message.payload(b"BENCH000001", each) for each in (_SMALL, large))
    times: dict[bool, list[int]] = {False: [], True: []}
    for number in range(2 * _SCANS):
        is_big = bool(number % 2)
        begin = time.perf_counter_ns()
        scan(big if is_big else small)
        times[is_big].append(time.perf_counter_ns() - begin)
    return median(times[True]) / median(times[False])
