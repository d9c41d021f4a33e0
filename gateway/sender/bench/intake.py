"""Suite `intake`: durable answers a second while the server is away (B1, B2, B4, B5, B6)."""

from contextlib import AsyncExitStack

from gateway.sender.bench import scrape
from gateway.sender.bench.options import BenchFailed
from gateway.sender.bench.site import Gateway
from gateway.sender.bench.stage import Stage

PROCESSES = 2
"""Generators of the busy loads."""

ONE, MANY, LONG = "1 sender", "64 senders", "64 senders, long"
BASELINE = "64 senders, one NORMAL commit a message"


def steps(rounds: int, *, has_baseline: bool) -> int:
    """Count the steps the suite will tell of."""
    return rounds * (3 if has_baseline else 2) + 1


async def intake(stage: Stage) -> None:
    """Run the suite: one sender and many, interleaved, then many for a long time."""
    options, ledger = stage.options, stage.ledger
    async with AsyncExitStack() as stack:
        ours = await stack.enter_async_context(stage.site.gateway("intake"))
        other: Gateway | None = None
        if options.has_baseline:
            other = await stack.enter_async_context(stage.site.gateway("intake-single", kind="single-normal"))
        for _ in range(options.rounds):
            await _one(stage, ours)
            rate = await _many(stage, ours, MANY, is_measured=True)
            if other is not None:
                ledger.note("B4", rate / await _many(stage, other, BASELINE))
        await _tail(stage, ours)
        await _check(stage, ours)


async def _one(stage: Stage, gateway: Gateway) -> None:
    """One sender, one message in the air."""
    stage.told(f"intake: {ONE}")
    raw = await stage.sync_rate()
    load, cost = await stage.load(gateway, gateway.senders(1), seconds=stage.options.seconds)
    raw = (raw + await stage.sync_rate()) / 2
    stage.ledger.trace(ONE).add(load.rate, cost, load=load, share=load.generator_share)
    stage.ledger.note("B1", load.rate / raw)


async def _many(stage: Stage, gateway: Gateway, name: str, *, is_measured: bool = False) -> float:
    """Many senders, one message of each in the air; gives answers a second."""
    stage.told(f"intake: {name}")
    raw = await stage.sync_rate()
    targets = gateway.senders(stage.options.senders)
    load, cost = await stage.load(gateway, targets, seconds=stage.options.seconds, processes=PROCESSES)
    raw = (raw + await stage.sync_rate()) / 2
    stage.ledger.trace(name).add(load.rate, cost, load=load, share=load.generator_share)
    if is_measured:
        stage.ledger.note("B2", load.rate / raw)
        stage.ledger.note("B5", cost.cpu)
    return load.rate


async def _tail(stage: Stage, gateway: Gateway) -> None:
    """Many senders for a long time: checkpoints run meanwhile, and slow answers show."""
    seconds = stage.options.tail_seconds
    stage.told(f"intake: 64 senders for {seconds:g} s")
    targets = gateway.senders(stage.options.senders)
    load, cost = await stage.load(gateway, targets, seconds=seconds, processes=PROCESSES)
    stage.ledger.trace(LONG).add(load.rate, cost, load=load, share=load.generator_share)
    stage.ledger.note("B6", load.p99 / load.p50)


async def _check(stage: Stage, gateway: Gateway) -> None:
    """Hold the answers against the store: each of them must be a row. Raises BenchFailed."""
    answered = sum(load.answered for name in (ONE, MANY, LONG) for load in stage.ledger.trace(name).loads)
    stored = scrape.total(await gateway.counters(), scrape.DEPTH)
    if stored != answered:
        raise BenchFailed(f"{answered} messages were answered, and {stored:.0f} are stored")
