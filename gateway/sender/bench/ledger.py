"""What the suites have found so far, round by round. Adds nothing up but its own lists."""

from dataclasses import dataclass, field

from gateway.sender.bench.generators import Load
from gateway.sender.bench.probe import Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one message cost the gateway: CPU in microseconds, commits; and its most memory in MiB during the load."""

    cpu: float
    commits: float
    peak: float


@dataclass(slots=True, kw_only=True)
class Trace:
    """One kind of load: what every round of it brought. `rates` are messages a second."""

    name: str
    rates: list[float] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    def add(self, rate: float, cost: Cost, *, load: Load | None = None, share: float | None = None) -> None:
        """Take one round; `share` is the part of a core that the busiest program beside the gateway used."""
        self.rates.append(rate)
        self.costs.append(cost)
        if load is not None:
            self.loads.append(load)
        if share is not None:
            self.shares.append(share)


@dataclass(slots=True)
class Ledger:
    """Everything measured: the disk's own rate, the loads, and the values of each target."""

    probes: list[Probe] = field(default_factory=list)
    traces: dict[str, Trace] = field(default_factory=dict)
    values: dict[str, list[float]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def trace(self, name: str) -> Trace:
        """Give the trace of that name."""
        return self.traces.setdefault(name, Trace(name=name))

    def note(self, target: str, value: float) -> None:
        """Take one round's value of a target."""
        self.values.setdefault(target, []).append(value)

    def warn(self, text: str) -> None:
        """Keep a warning, once."""
        if text not in self.warnings:
            self.warnings.append(text)
