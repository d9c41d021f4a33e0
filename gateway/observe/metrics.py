"""Counters and histograms of this process, fed by events. Own registry, bounded labels, base units, no content."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.observe.events import EVENTS, TIMINGS, Counting
from gateway.observe.facts import is_word
from gateway.observe.pump import Pump
from gateway.ports.observe import Fact

PREFIX = "hl7_gateway"
MOST_VALUES = 256
OTHER = "other"


# One more series for each counter, with the time it was made, would tell nobody anything.
disable_created_metrics()


class Metrics:
    """The metrics of one observatory."""

    def __init__(self, *, version: str) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._seen: dict[str, set[str]] = {}
        self._events = self._counter("events", ("event",), "Events by name.")
        self._anomalies = self._counter("anomalies", ("channel", "kind"), "Framing anomalies by kind.")
        self._anomalous = self._counter("anomalous_bytes", ("channel", "kind"), "Bytes the anomalies were about.")
        self._redacted = self._counter("redacted_facts", (), "Facts kept out of log and labels by the guard.")
        self._failures = self._counter("observer_failures", (), "Events lost to a defect of the observer itself.")
        self._readers = _Readers()
        self.registry.register(self._readers)
        countings = {spec.counts.name: spec.counts for spec in EVENTS.values() if spec.counts}
        self._counters = {name: self._counter(name, each.labels, each.help) for name, each in countings.items()}
        self._timings = {
            name: Histogram(
                f"{PREFIX}_{name}", timing.help, ("channel",), buckets=timing.buckets, registry=self.registry
            )
            for name, timing in TIMINGS.items()
        }
        build = Gauge(f"{PREFIX}_build_info", "Version of the program.", ("version",), registry=self.registry)
        build.labels(version).set(1)

    def event(self, name: str, facts: Mapping[str, Fact], *, redacted: int) -> None:
        """Count one event with its guarded facts."""
        known = name if name in EVENTS else self._bounded("event", name if is_word(name) else OTHER)
        self._events.labels(known).inc()
        if redacted:
            self._redacted.inc(redacted)
        spec = EVENTS.get(name)
        if spec is not None and spec.counts is not None:
            self._count(spec.counts, facts)
        for fact in TIMINGS.keys() & facts.keys():
            self._observe(fact, facts)

    def anomaly(self, *, channel: str, kind: str, count: int) -> None:
        """Count one framing anomaly of `count` bytes."""
        labels = (self._bounded("channel", channel), self._bounded("kind", kind))
        self._anomalies.labels(*labels).inc()
        self._anomalous.labels(*labels).inc(max(0, count))

    def failed(self) -> None:
        """Count an event that could not be noted."""
        self._failures.inc()

    def watch(self, reader: str, pump: Pump[Any]) -> None:
        """Count what a reader of events drops and fails to take."""
        self._readers.pumps[reader] = pump

    def _count(self, counting: Counting, facts: Mapping[str, Fact]) -> None:
        values = (self._bounded(label, facts.get(label)) for label in counting.labels)
        self._counters[counting.name].labels(*values).inc()

    def _observe(self, fact: str, facts: Mapping[str, Fact]) -> None:
        seconds = facts[fact]
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or math.isnan(seconds):
            return
        # A wall clock that was set back must not count as a negative time.
        self._timings[fact].labels(self._bounded("channel", facts.get("channel"))).observe(max(0.0, seconds))

    def _bounded(self, label: str, value: Fact) -> str:
        """Give the value as label text, `other` once a label has 256 values: a peer must not fill the memory."""
        text = "" if value is None else str(value)
        seen = self._seen.setdefault(label, set())
        if text in seen:
            return text
        if len(seen) >= MOST_VALUES:
            return OTHER
        seen.add(text)
        return text

    def _counter(self, name: str, labels: tuple[str, ...], text: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", text, labels, registry=self.registry)


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
