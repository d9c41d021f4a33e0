"""The gauges of one moment, asked for at each scrape. Facts handed in; nothing here reads a store or a clock."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.model.review import ChannelSummary
from gateway.observe.metrics import PREFIX

Summaries = Callable[[], Awaitable[Sequence[ChannelSummary]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauges:
    """What this process alone knows: open `connections` by channel; `buffered_bytes` of received frames; when the
    `certificates` of a channel end, by file, as Unix time in ms; by upstream the state of its link (`down`,
    `connecting`, `live`) and whether this process leads; `free_bytes` of the disk of data_dir; `commits` so far.
    """

    connections: Mapping[str, int] = field(default_factory=dict)
    certificates: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    buffered_bytes: int = 0
    links: Mapping[str, str] = field(default_factory=dict)
    leading: Mapping[str, bool] = field(default_factory=dict)
    free_bytes: int | None = None
    commits: int = 0


class Scrape(Collector):
    """Counters of the process, its gauges and the store's summaries as one page.

    `channels` is None when the store could not be read, which the page says. `wall` is Unix time in ms.
    """

    def __init__(
        self, counted: Collector, *, gauges: Gauges, channels: Sequence[ChannelSummary] | None, wall: int
    ) -> None:
        self._counted = counted
        self._gauges = gauges
        self._channels = channels
        self._wall = wall

    def collect(self) -> Iterator[Metric]:
        """Give every metric of the page."""
        yield from self._counted.collect()
        reached = GaugeMetricFamily(f"{PREFIX}_store_readable", "1 if the gauges of the channels could be read.")
        reached.add_metric([], self._channels is not None)
        yield reached
        if self._channels is not None:
            yield from _queues(self._channels, self._wall)
        yield from _process(self._gauges)
        yield from _certificates(self._gauges, self._wall)


def _queues(channels: Sequence[ChannelSummary], wall: int) -> Iterator[Metric]:
    depth = _gauge("queue_depth", "Messages accepted and not settled.", "channel")
    oldest = _gauge("queue_oldest_seconds", "Age of the oldest of them; 0 when there is none.", "channel")
    review = _gauge("in_review", "Messages that wait for a person.", "channel")
    halted = _gauge("halted", "1 while the channel or a partition of it is halted.", "channel")
    for each in channels:
        age = 0.0 if each.oldest_at is None else max(0.0, (wall - each.oldest_at) / 1000)
        depth.add_metric([each.channel], each.depth)
        oldest.add_metric([each.channel], age)
        review.add_metric([each.channel], each.in_review)
        halted.add_metric([each.channel], bool(each.halted))
    yield from (depth, oldest, review, halted)


def _process(gauges: Gauges) -> Iterator[Metric]:
    connections = _gauge("connections", "Open connections of senders.", "channel")
    live = _gauge("link_live", "1 while the link to the server is live.", "upstream")
    leading = _gauge("lease_held", "1 while this process dispatches to the upstream.", "upstream")
    for channel, count in gauges.connections.items():
        connections.add_metric([channel], count)
    for upstream, state in gauges.links.items():
        live.add_metric([upstream], state == "live")
    for upstream, is_leading in gauges.leading.items():
        leading.add_metric([upstream], is_leading)
    buffered = GaugeMetricFamily(f"{PREFIX}_buffered_bytes", "Bytes of received frames in memory.")
    buffered.add_metric([], gauges.buffered_bytes)
    yield from (connections, live, leading, buffered)
    commits = CounterMetricFamily(f"{PREFIX}_store_commits", "Synced commits of this process.")
    commits.add_metric([], gauges.commits)
    yield commits
    if gauges.free_bytes is not None:
        free = GaugeMetricFamily(f"{PREFIX}_free_bytes", "Free bytes on the disk of data_dir.")
        free.add_metric([], gauges.free_bytes)
        yield free


def _certificates(gauges: Gauges, wall: int) -> Iterator[Metric]:
    text = "Seconds until the first certificate of a TLS file ends; below 0: it is over."
    expiry = _gauge("certificate_expiry_seconds", text, "channel", "file")
    for channel, ends in gauges.certificates.items():
        for file, end in ends.items():
            expiry.add_metric([channel, file], (end - wall) / 1000)
    yield expiry


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
