"""What an event weighs and what it counts for: one table. An event that is not in it is logged and counted by name."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.model.policy import LogLevel
from gateway.ports.observe import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """A counter `hl7_gateway_<name>_total`; `labels` are facts of the event."""

    name: str
    labels: tuple[str, ...]
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One event.

    `throttled`: a peer can cause it at will, so repeats beyond a burst are counted but not written. `routine` is a
    fact and its value that make it an everyday one: written at `debug` only, since it comes with every message.
    """

    level: LogLevel = LogLevel.INFO
    counts: Counting | None = None
    throttled: bool = False
    routine: tuple[str, str] | None = None

    def weight(self, facts: Mapping[str, Fact]) -> LogLevel:
        """Give the level this one is written at."""
        if self.routine is not None and facts.get(self.routine[0]) == self.routine[1]:
            return LogLevel.DEBUG
        return self.level


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A histogram `hl7_gateway_<name>` fed by the fact of that name, in seconds, whichever event brings it."""

    help: str
    buckets: tuple[float, ...]


_QUICK = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SLOW = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 21600, 86400)

TIMINGS: Mapping[str, Timing] = {
    "commit_seconds": Timing(help="From the offer of a message to its synced commit.", buckets=_QUICK),
    "queue_seconds": Timing(help="From the commit of a message to its first send.", buckets=_SLOW),
    "server_seconds": Timing(help="From a send to the server's answer.", buckets=_SLOW),
    "total_seconds": Timing(help="From the receipt of a message to its settlement.", buckets=_SLOW),
}

ACCEPTED = Counting(name="accepted", labels=("channel",), help="Messages durable and acknowledged.")
REPLAYED = Counting(name="replayed", labels=("channel",), help="Retransmits given their stored answer.")
REFUSED = Counting(name="refused", labels=("channel", "code"), help="Frames answered negatively, by cause.")
SETTLED = Counting(name="settled", labels=("channel", "outcome"), help="Decisions about sends, by outcome.")
CONNECTED = Counting(name="connections_opened", labels=("channel",), help="Connections accepted.")
CLOSED = Counting(name="connections_closed", labels=("channel", "reason"), help="Connections ended, by reason.")
LINK_UP = Counting(name="link_live", labels=("upstream",), help="Times the link to the server became live.")
LINK_DOWN = Counting(name="link_lost", labels=("upstream", "reason"), help="Times the link was lost or refused.")
TAKEN = Counting(name="lease_taken", labels=("group",), help="Times this process became leader.")
LOST = Counting(name="lease_lost", labels=("group",), help="Times leadership ended against its will.")

EVENTS: Mapping[str, Spec] = {
    "accepted": Spec(level=LogLevel.DEBUG, counts=ACCEPTED),
    "replayed": Spec(counts=REPLAYED, throttled=True),
    "refused": Spec(level=LogLevel.WARNING, counts=REFUSED, throttled=True),
    "connected": Spec(level=LogLevel.DEBUG, counts=CONNECTED),
    "disconnected": Spec(level=LogLevel.DEBUG, counts=CLOSED),
    "settled": Spec(counts=SETTLED, routine=("outcome", "accepted")),
    "settled-late": Spec(counts=SETTLED),
    "link-live": Spec(counts=LINK_UP),
    "link-down": Spec(level=LogLevel.WARNING, counts=LINK_DOWN),
    "lease-taken": Spec(counts=TAKEN),
    "lease-lost": Spec(level=LogLevel.WARNING, counts=LOST),
    "anomaly": Spec(level=LogLevel.WARNING, throttled=True),
    "library": Spec(level=LogLevel.WARNING, throttled=True),
    "crashed": Spec(level=LogLevel.ERROR),
}

UNKNOWN = Spec()
