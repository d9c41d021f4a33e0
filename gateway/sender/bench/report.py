"""What a bench found, as values and as JSON: rates, costs, targets, and how far to trust them. Pure."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway import __version__
from gateway.sender.bench.figures import Series, series
from gateway.sender.bench.generators import Load
from gateway.sender.bench.ledger import Ledger, Trace
from gateway.sender.bench.targets import TARGETS, Grade, Judged

NOISY = 0.3
"""Spread of the sync probe beyond which the machine is called noisy."""

BUSY = 0.8
"""Part of a core beyond which a program beside the gateway may be what is measured."""

_FASTER_THAN_DISKS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One kind of load over all rounds. `p50`, `p99`, `longest` are seconds; None where nobody waits for an answer.

    `share` is the part of a core that the busiest program beside the gateway used.
    """

    name: str
    rate: Series
    cpu: Series
    commits: Series
    peak: float
    p50: float | None
    p99: float | None
    longest: float | None
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole run."""

    raw: Series
    raw_p50: float
    measured: tuple[Measured, ...]
    judged: tuple[Judged, ...]
    warnings: tuple[str, ...]

    @property
    def is_short(self) -> bool:
        """True when a target's floor was missed."""
        return any(each.grade is Grade.SHORT for each in self.judged)


def reported(ledger: Ledger, *, load: float, cores: int) -> Report:
    """Close the ledger; `load` is the machine's load average before the run. The ledger holds at least one probe."""
    raw = series(each.rate for each in ledger.probes)
    measured = tuple(map(_measured, ledger.traces.values()))
    names = [name for name in TARGETS if name in ledger.values]
    return Report(
        raw=raw,
        raw_p50=series(each.p50 for each in ledger.probes).middle,
        measured=measured,
        judged=tuple(Judged(name=name, series=series(ledger.values[name])) for name in names),
        warnings=(*ledger.warnings, *_warnings(raw, measured, load=load, cores=cores)),
    )


def _measured(trace: Trace) -> Measured:
    loads: Sequence[Load] = trace.loads
    return Measured(
        name=trace.name,
        rate=series(trace.rates),
        cpu=series(each.cpu for each in trace.costs),
        commits=series(each.commits for each in trace.costs),
        peak=max(each.peak for each in trace.costs),
        p50=series(each.p50 for each in loads).middle if loads else None,
        p99=series(each.p99 for each in loads).middle if loads else None,
        longest=max(each.longest for each in loads) if loads else None,
        share=max(trace.shares, default=0.0),
    )


def _warnings(raw: Series, measured: Sequence[Measured], *, load: float, cores: int) -> list[str]:
    found: list[str] = []
    if raw.spread > NOISY:
        found.append(f"The machine is noisy: the disk's own sync rate moved by {raw.spread:.0%}. Trust ratios only.")
    if raw.middle > _FASTER_THAN_DISKS:
        found.append("The folder syncs faster than any disk does: it lies in memory, or syncs are not kept.")
    if load > cores / 2:
        found.append(f"Other programs used the {cores} cores before the run (load {load:.1f}).")
    found += [
        f"{each.name}: the program beside the gateway used {each.share:.0%} of a core and may be the limit."
        for each in measured
        if each.share > BUSY
    ]
    return found


def facts(report: Report) -> dict[str, Any]:
    """Give the report as JSON values; latencies in milliseconds, CPU in microseconds, memory in MiB."""
    return {
        "version": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "raw_sync_rate": {**_series(report.raw), "p50_us": report.raw_p50},
        "loads": [_load(each) for each in report.measured],
        "targets": [_target(each) for each in report.judged],
        "warnings": list(report.warnings),
    }


def _series(found: Series) -> dict[str, Any]:
    return {"median": found.middle, "spread": found.spread, "rounds": list(found.values)}


def _load(found: Measured) -> dict[str, Any]:
    return {
        "name": found.name,
        "per_second": _series(found.rate),
        "p50_ms": _milliseconds(found.p50),
        "p99_ms": _milliseconds(found.p99),
        "max_ms": _milliseconds(found.longest),
        "cpu_us_per_message": _series(found.cpu),
        "commits_per_message": _series(found.commits),
        "peak_memory_mib": found.peak,
        "other_program_core_share": found.share,
    }


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1_000


def _target(judged: Judged) -> dict[str, Any]:
    target = judged.target
    return {
        "name": judged.name,
        "text": target.text,
        "unit": target.unit,
        "value": _series(judged.series),
        "floor": target.floor,
        "aim": target.aim,
        "smaller_is_better": target.is_ceiling,
        "grade": judged.grade,
    }
