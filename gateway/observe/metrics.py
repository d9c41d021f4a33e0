"""Counters and histograms of this process, fed by events. Own registry, bounded labels, base units, no content."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.observe.events import EVENTS, TIMINGS, Timing
from gateway.observe.facts import safe_value
from gateway.observe.pump import Pump
from gateway.ports.observe import Fact

PREFIX = "hl7_gateway"
MOST_VALUES = 256
MOST_CHILDREN = 4_096
OTHER = "other"


# One more series for each counter, with the time it was made, would tell nobody anything. (Untyped in the library.)
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """The metrics of one observatory."""

    def __init__(self, *, version: str) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._bounds = _Bounds()
        self._bounds.reserve("event", EVENTS)
        self._events = self._counter("events", ("event",), "Events by name.")
        self._anomalies = self._counter("anomalies", ("channel", "kind"), "Framing anomalies by kind.")
        self._anomalous = self._counter("anomalous_bytes", ("channel", "kind"), "Bytes the anomalies were about.")
        self._redacted = self._counter("redacted_facts", (), "Facts kept out of log and labels by the guard.")
        self._failures = self._counter("observer_failures", (), "Events lost to a defect of the observer itself.")
        countings = {spec.counts.name: spec.counts for spec in EVENTS.values() if spec.counts}
        self._counters = {name: self._counter(name, each.labels, each.help) for name, each in countings.items()}
        self._timings = {name: self._histogram(name, timing) for name, timing in TIMINGS.items()}
        self._readers = _Readers()
        self.registry.register(self._readers)
        build = Gauge(f"{PREFIX}_build_info", "Version of the program.", ("version",), registry=self.registry)
        build.labels(version).set(1)

    def event(self, name: str, facts: Mapping[str, Fact], *, redacted: int) -> None:
        """Count one event with its guarded facts."""
        self._events.child(name).inc()
        if redacted:
            self._redacted.child().inc(redacted)
        spec = EVENTS.get(name)
        if spec is not None and spec.counts is not None:
            counter = self._counters[spec.counts.name]
            counter.child(*map(facts.get, spec.counts.labels)).inc()
        for fact in facts:
            if fact in TIMINGS:
                self._observe(fact, facts)

    def anomaly(self, *, channel: str, kind: str, count: int) -> None:
        """Count one framing anomaly of `count` bytes."""
        self._anomalies.child(channel, kind).inc()
        self._anomalous.child(channel, kind).inc(max(0, count))

    def failed(self) -> None:
        """Count an event that could not be noted."""
        self._failures.child().inc()

    def watch(self, reader: str, pump: Pump[Any]) -> None:
        """Count what a reader of events drops and fails to take."""
        self._readers.pumps[reader] = pump

    def _observe(self, fact: str, facts: Mapping[str, Fact]) -> None:
        seconds = facts[fact]
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or math.isnan(seconds):
            return
        # A wall clock that was set back must not count as a negative time.
        self._timings[fact].child(facts.get("channel")).observe(max(0.0, seconds))

    def _counter(self, name: str, labels: tuple[str, ...], text: str) -> "_Family[Counter]":
        return _Family(Counter(f"{PREFIX}_{name}", text, labels, registry=self.registry), labels, self._bounds)

    def _histogram(self, name: str, timing: Timing) -> "_Family[Histogram]":
        labels = ("channel",)
        metric = Histogram(f"{PREFIX}_{name}", timing.help, labels, buckets=timing.buckets, registry=self.registry)
        return _Family(metric, labels, self._bounds)


class _Bounds:
    """Keeps the values of each label few: a peer must not be able to fill the memory."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}

    def reserve(self, label: str, values: Iterable[str]) -> None:
        """Give these values their place beforehand."""
        self._seen.setdefault(label, set()).update(values)

    def text(self, label: str, value: Fact) -> str:
        """Give the value as label text; `other` once the label has 256 values."""
        text = "" if value is None else str(safe_value(value))
        seen = self._seen.setdefault(label, set())
        if text not in seen:
            if len(seen) >= MOST_VALUES:
                return OTHER
            seen.add(text)
        return text


Kind = TypeVar("Kind", Counter, Histogram)


class _Family(Generic[Kind]):
    """One metric with its labels; keeps the child of each set of values, since looking one up costs most."""

    def __init__(self, metric: Kind, labels: tuple[str, ...], bounds: _Bounds) -> None:
        self._metric: Kind = metric
        self._labels = labels
        self._bounds = bounds
        self._children: dict[tuple[Fact, ...], Kind] = {}

    def child(self, *values: Fact) -> Kind:
        """Give the child for these facts, in the order of the labels."""
        child = self._children.get(values)
        if child is None:
            texts = [self._bounds.text(label, value) for label, value in zip(self._labels, values, strict=True)]
            child = self._metric.labels(*texts) if texts else self._metric
            if len(self._children) < MOST_CHILDREN:
                self._children[values] = child
        return child


class _Readers(Collector):
    """Reads the counts of the queues behind log and subscribers at each scrape."""

    def __init__(self) -> None:
        self.pumps: dict[str, Pump[Any]] = {}

    def collect(self) -> Iterator[Metric]:
        dropped = CounterMetricFamily(
            f"{PREFIX}_reader_dropped", "Events a slow reader left no room for.", labels=["reader"]
        )
        failed = CounterMetricFamily(f"{PREFIX}_reader_failures", "Events a reader failed to take.", labels=["reader"])
        for reader, pump in list(self.pumps.items()):
            dropped.add_metric([reader], pump.dropped)
            failed.add_metric([reader], pump.failed)
        yield from (dropped, failed)
