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

ACCEPTED = Counting(name="accepted", labels=("channel",), help="Messages made durable.")
REPLAYED = Counting(name="replayed", labels=("channel",), help="Retransmits given their stored answer.")
REFUSED = Counting(name="refused", labels=("channel", "code"), help="Frames answered negatively, by cause.")
SETTLED = Counting(name="settled", labels=("channel", "outcome"), help="Decisions about sends, by outcome.")
LATE = Counting(name="settled_late", labels=("channel",), help="Rows settled by an answer after its time.")
OVERDUE = Counting(name="answers_overdue", labels=("channel",), help="Senders told that the server did not answer.")
OPENED = Counting(name="connections_opened", labels=("channel",), help="Connections of senders taken.")
CLOSED = Counting(name="connections_closed", labels=("channel", "reason"), help="Connections ended, by reason.")
UNSHAKEN = Counting(name="tls_failures", labels=("channel", "reason"), help="TLS handshakes that failed, by reason.")
CROWDED = Counting(name="crowded_out", labels=("channel",), help="Connections closed for want of memory.")
TURNED = Counting(name="connections_refused", labels=("channel", "reason"), help="Connections closed before reading.")
GROUPS = Counting(name="group_failures", labels=("fault",), help="Commits that failed as a whole, by fault.")
STALE = Counting(name="stale_aborts", labels=(), help="Writes of a former leader that the store refused.")
DAMAGED = Counting(name="content_damaged", labels=(), help="Rows whose bytes did not match their hash.")
LINK_UP = Counting(name="link_ups", labels=("upstream",), help="Times the link to the server became live.")
LINK_DOWN = Counting(name="link_downs", labels=("upstream", "step"), help="Times it was lost or not made, by step.")
TAKEN = Counting(name="lease_taken", labels=("group",), help="Times this process became leader.")
STEPPED = Counting(name="stepped_down", labels=("group",), help="Times leadership ended against its will.")

_NOTE = LogLevel.DEBUG
_WARN = LogLevel.WARNING
_BAD = LogLevel.ERROR

INTAKE: Mapping[str, Spec] = {
    "accepted": Spec(level=_NOTE, counts=ACCEPTED),
    "replayed": Spec(counts=REPLAYED, throttled=True),
    "quarantined": Spec(level=_WARN, counts=ACCEPTED, throttled=True),
    "connected": Spec(level=_NOTE, counts=OPENED),
    "disconnected": Spec(level=_NOTE, counts=CLOSED),
    "turned-away": Spec(level=_WARN, counts=TURNED, throttled=True),
    "tls-failed": Spec(level=_WARN, counts=UNSHAKEN, throttled=True),
    "crowded-out": Spec(level=_WARN, counts=CROWDED, throttled=True),
    "certificates-loaded": Spec(),
    "certificates-unusable": Spec(level=_BAD),
    "certificate-expires": Spec(level=_WARN),
    "certificate-expired": Spec(level=_BAD),
    "tls-buffers-large": Spec(level=_WARN),
    "refused": Spec(level=_WARN, counts=REFUSED, throttled=True),
    "sequence-gap": Spec(level=_BAD, throttled=True),
    "sequence-link": Spec(throttled=True),
    "revived": Spec(level=_WARN, throttled=True),
    "refusal-not-recorded": Spec(level=_WARN, throttled=True),
    "intake-failed": Spec(level=_BAD, throttled=True),
    "anomaly": Spec(level=_WARN, throttled=True),
    "application-answer": Spec(level=_NOTE),
    "answer-overdue": Spec(level=_WARN, counts=OVERDUE, throttled=True),
    "answer-not-awaited": Spec(level=_WARN, throttled=True),
    "answer-not-recorded": Spec(level=_WARN, throttled=True),
    "answer-not-passed-on": Spec(level=_WARN, throttled=True),
    "answers-not-looked-up": Spec(level=_WARN, throttled=True),
}

DELIVERY: Mapping[str, Spec] = {
    "settled": Spec(counts=SETTLED, routine=("outcome", "accepted")),
    "settled-late": Spec(counts=LATE),
    "lease-taken": Spec(counts=TAKEN),
    "lease-lost": Spec(level=_WARN),
    "lease-unavailable": Spec(level=_WARN, throttled=True),
    "stepped-down": Spec(level=_WARN, counts=STEPPED),
    "store-unavailable": Spec(level=_WARN, throttled=True),
    "row-unreadable": Spec(level=_BAD),
    "link-up": Spec(counts=LINK_UP),
    "link-down": Spec(level=_WARN, counts=LINK_DOWN, throttled=True),
    "link-resting": Spec(level=_NOTE),
    "link-defect": Spec(level=_BAD),
    "heartbeat-missed": Spec(level=_WARN, throttled=True),
    "sends-in-doubt": Spec(level=_WARN),
    "claim-stopped": Spec(level=_WARN),
    "status-unanswered": Spec(level=_WARN, throttled=True),
    "response-timeout": Spec(level=_WARN, throttled=True),
    "frame-invalid": Spec(level=_WARN, throttled=True),
    "frame-unexpected": Spec(level=_WARN, throttled=True),
    "error-without-callback": Spec(level=_WARN, throttled=True),
    "server-request-refused": Spec(throttled=True),
    "stray-answer": Spec(throttled=True),
    "stray-dropped": Spec(level=_WARN, throttled=True),
    "receipt-dropped": Spec(level=_WARN, throttled=True),
    "stray-unknown": Spec(level=_WARN, throttled=True),
    "answer-unknown": Spec(level=_WARN, throttled=True),
}

STORE: Mapping[str, Spec] = {
    "intake-closed": Spec(level=_BAD),
    "intake-opened": Spec(),
    "store-failed": Spec(level=_BAD),
    "store-trouble": Spec(level=_WARN, throttled=True),
    "group-failed": Spec(level=_BAD, counts=GROUPS, throttled=True),
    "stale-abort": Spec(level=_WARN, counts=STALE),
    "content-damaged": Spec(level=_BAD, counts=DAMAGED),
    "folder-open-to-others": Spec(level=_WARN),
    "store-unreadable": Spec(level=_WARN, throttled=True),
}

PROCESS: Mapping[str, Spec] = {
    "capture-began": Spec(level=_WARN),
    "capture-unwritable": Spec(level=_BAD),
    "capture-failed": Spec(level=_BAD, throttled=True),
    "anomalies-not-recorded": Spec(level=_WARN, throttled=True),
    "library": Spec(level=_WARN, throttled=True),
    "crashed": Spec(level=_BAD),
    "loop-trouble": Spec(level=_WARN, throttled=True),
}

EVENTS: Mapping[str, Spec] = {**INTAKE, **DELIVERY, **STORE, **PROCESS}

UNKNOWN = Spec()
