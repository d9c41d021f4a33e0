"""The gauges of one moment, asked for at each scrape. Facts handed in; nothing here reads a store."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.observe.metrics import PREFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelGauges:
    """One channel. `depth` counts queued, claimed and inflight rows; `oldest` is the age in seconds of the oldest.

    `connections` is None where this process does not listen for the channel.
    """

    channel: str
    depth: int
    oldest: float | None
    in_review: int
    halted: bool
    connections: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamGauges:
    """One upstream: whether this process holds its lease, and the state of the link (`down`, `connecting`, `live`)."""

    upstream: str
    leading: bool
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything that is measured and not counted. `free_bytes` are those of the disk of data_dir."""

    channels: tuple[ChannelGauges, ...] = ()
    upstreams: tuple[UpstreamGauges, ...] = ()
    free_bytes: int | None = None


Probe = Callable[[], Awaitable[Snapshot]]


class Scrape(Collector):
    """Counters of the process and one snapshot, as one page. None: the probe failed, which the page says."""

    def __init__(self, counted: Collector, snapshot: Snapshot | None) -> None:
        self._counted = counted
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        """Give every metric of the page."""
        yield from self._counted.collect()
        reached = GaugeMetricFamily(f"{PREFIX}_probe_up", "1 if the gauges below could be read.")
        reached.add_metric([], self._snapshot is not None)
        yield reached
        if self._snapshot is not None:
            yield from _channels(self._snapshot.channels)
            yield from _upstreams(self._snapshot.upstreams)
            yield from _disk(self._snapshot.free_bytes)


def _channels(channels: tuple[ChannelGauges, ...]) -> Iterator[Metric]:
    depth = _gauge("queue_depth", "Messages accepted and not settled.", "channel")
    oldest = _gauge("queue_oldest_seconds", "Age of the oldest of them; 0 when there is none.", "channel")
    review = _gauge("in_review", "Messages that wait for a person.", "channel")
    halted = _gauge("halted", "1 while the channel or a partition of it is halted.", "channel")
    connections = _gauge("connections", "Open connections of senders.", "channel")
    for each in channels:
        depth.add_metric([each.channel], each.depth)
        oldest.add_metric([each.channel], each.oldest or 0.0)
        review.add_metric([each.channel], each.in_review)
        halted.add_metric([each.channel], each.halted)
        if each.connections is not None:
            connections.add_metric([each.channel], each.connections)
    yield from (depth, oldest, review, halted, connections)


def _upstreams(upstreams: tuple[UpstreamGauges, ...]) -> Iterator[Metric]:
    live = _gauge("link_up", "1 while the link to the server is live.", "upstream")
    leading = _gauge("lease_held", "1 while this process dispatches to the upstream.", "upstream")
    for each in upstreams:
        live.add_metric([each.upstream], each.link == "live")
        leading.add_metric([each.upstream], each.leading)
    yield from (live, leading)


def _disk(free_bytes: int | None) -> Iterator[Metric]:
    if free_bytes is not None:
        free = GaugeMetricFamily(f"{PREFIX}_free_bytes", "Free bytes on the disk of data_dir.")
        free.add_metric([], free_bytes)
        yield free


def _gauge(name: str, text: str, label: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=[label])
