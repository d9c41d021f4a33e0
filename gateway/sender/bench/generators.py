"""Several load generators as one load. Adds up what they found; judges no gateway."""

import itertools
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass

import orjson

from gateway.sender.bench.figures import merged, percentile
from gateway.sender.bench.load import Found, Plan
from gateway.sender.bench.message import ADMISSION
from gateway.sender.bench.options import BenchFailed
from gateway.sender.bench.programs import heard, helper, tell

_START_PATIENCE = 30.0
_GRACE = 60.0
_runs = itertools.count()

Target = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a load saw: ACK/s, latencies in seconds, and the largest share of a core a generator used."""

    answered: int
    elapsed: float
    p50: float
    p99: float
    longest: float
    generator_share: float

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answered / self.elapsed


async def send(
    targets: Sequence[Target],
    *,
    seconds: float,
    limit: int = 0,
    window: int = 1,
    size: int = ADMISSION,
    processes: int = 1,
) -> Load:
    """Send on one connection to each target, until `seconds` are over or `limit` messages are sent.

    Raises BenchFailed unless every message is answered with AA and its own control id.
    """
    run = next(_runs)
    shares = [tuple(targets[first::processes]) for first in range(min(processes, len(targets)))]
    plans = [
        Plan(
            name=f"R{run}P{place}N",
            targets=share,
            seconds=seconds,
            limit=_part(limit, place, len(shares)),
            window=window,
            size=size,
        )
        for place, share in enumerate(shares)
    ]
    found = await _driven(plans, patience=seconds + _GRACE)
    return _load(found)


def _part(limit: int, place: int, places: int) -> int:
    return limit // places + (place < limit % places)


async def _driven(plans: Sequence[Plan], *, patience: float) -> list[Found]:
    async with AsyncExitStack() as stack:
        command = (sys.executable, "-m", "gateway.sender.bench.load")
        children = [await stack.enter_async_context(helper(*command)) for _ in plans]
        for child, plan in zip(children, plans, strict=True):
            await tell(child, orjson.dumps(asdict(plan)))
        for child in children:
            await heard(child, patience=_START_PATIENCE)
        for child in children:
            await tell(child, b"go")
        return [_found(await heard(child, patience=patience)) for child in children]


def _found(line: bytes) -> Found:
    facts = orjson.loads(line)
    return Found(**facts | {"counts": {int(number): count for number, count in facts["counts"].items()}})


def _load(found: Sequence[Found]) -> Load:
    wrong, missing = sum(each.wrong for each in found), sum(each.missing for each in found)
    if wrong or missing:
        lost = sum(each.lost for each in found)
        raise BenchFailed(
            f"{wrong} answers were no AA to their message, {missing} never came; {lost} connections were lost"
        )
    counts = merged([each.counts for each in found])
    if not counts:
        raise BenchFailed("no message was answered at all")
    return Load(
        answered=sum(each.answered for each in found),
        elapsed=max(each.elapsed for each in found),
        p50=percentile(counts, 0.5) / 1e6,
        p99=percentile(counts, 0.99) / 1e6,
        longest=max(each.longest for each in found) / 1e6,
        generator_share=max(each.cpu / each.elapsed for each in found),
    )
