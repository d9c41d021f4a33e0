"""The arithmetic of a bench: medians, spreads, percentiles. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

_STEP = math.log(1.01)
"""Latencies are counted in classes one percent wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One value of every round. The median counts; `spread` says how far the rounds lay apart, as a share of it."""

    values: tuple[float, ...]

    @property
    def middle(self) -> float:
        """The median."""
        return median(self.values)

    @property
    def spread(self) -> float:
        """Largest minus smallest, over the median; 0 for a single round."""
        return (max(self.values) - min(self.values)) / self.middle if self.middle else 0.0


def series(values: Iterable[float]) -> Series:
    """Make a series; it holds at least one value."""
    return Series(values=tuple(values))


def classes(latencies: Iterable[float]) -> dict[int, int]:
    """Count latencies (any unit above 0) by class."""
    return dict(Counter(round(math.log(each) / _STEP) for each in latencies))


def merged(counts: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """Add up what several generators counted."""
    total: Counter[int] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def percentile(counts: Mapping[int, int], share: float) -> float:
    """Give the latency that `share` of all do not exceed, right to one percent; 0 if there is none."""
    wanted = math.ceil(share * sum(counts.values()))
    seen = 0
    for number in sorted(counts):
        seen += counts[number]
        if seen >= wanted:
            return math.exp(number * _STEP)
    return 0.0
