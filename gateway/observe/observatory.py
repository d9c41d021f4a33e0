"""The observer of the whole gateway: events become log lines, metrics, and calls of subscribers. Never disturbs."""

from collections.abc import Callable, Mapping
from typing import TextIO

from gateway.model.clock import Now
from gateway.model.policy import LogLevel
from gateway.observe.events import EVENTS, UNKNOWN
from gateway.observe.facts import REDACTED, guarded, is_word
from gateway.observe.log import Line, Log
from gateway.observe.metrics import Metrics
from gateway.observe.options import LogOptions
from gateway.observe.pump import Pump
from gateway.observe.throttle import Throttle
from gateway.observe.trouble import describe
from gateway.ports.clock import Clock
from gateway.ports.observe import Fact

Subscriber = Callable[[str, Mapping[str, Fact]], None]
Seen = tuple[str, Mapping[str, Fact]]

KINDS = ("channel", "upstream", "group", "kind", "code", "step", "logger")
"""Facts that tell throttled events apart."""

BACKLOG = 1_000
"""Events that may wait for one subscriber."""


class Observatory:
    """Implements ports.observe.Observer; callable from every thread."""

    def __init__(self, options: LogOptions, *, clock: Clock, version: str = "", stream: TextIO | None = None) -> None:
        self.metrics = Metrics(version=version)
        self._clock = clock
        self._log = Log(options, stream)
        self._throttle = Throttle()
        self.metrics.watch("log", self._log.pump)
        self._subscribers: list[Pump[Seen]] = []

    def event(self, name: str, /, **facts: Fact) -> None:
        """Note one event; facts that could be content are replaced by a marker."""
        try:
            self._note(name, facts, None)
        except Exception:  # noqa: BLE001 - an observer that raises could cost a message
            self.metrics.failed()

    def anomaly(self, *, channel: str, peer: str, kind: str, offset: int, bytes_hex: str, count: int = 1) -> None:
        """Note one framing anomaly."""
        try:
            self.metrics.anomaly(channel=channel, kind=kind, count=count)
            facts = {"channel": channel, "peer": peer, "kind": kind, "offset": offset, "count": count}
            self._note("anomaly", facts | ({"bytes": bytes_hex} if bytes_hex else {}), None)
        except Exception:  # noqa: BLE001 - see event
            self.metrics.failed()

    def error(self, name: str, error: BaseException, /, **facts: Fact) -> None:
        """Note an exception: types, places, and the text of our own errors only."""
        try:
            self._note(name, facts, error)
        except Exception:  # noqa: BLE001 - see event
            self.metrics.failed()

    def subscribe(self, subscriber: Subscriber, *, name: str) -> None:
        """Call `subscriber` for each event, on a thread of its own. One that raises or hangs is counted by `name`."""
        pump: Pump[Seen] = Pump(lambda seen: subscriber(*seen), limit=BACKLOG, name=f"subscriber-{name}")
        self._subscribers.append(pump)
        self.metrics.watch(name, pump)

    def now(self) -> Now:
        """Read the clock the observatory was handed."""
        return self._clock()

    def flush(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds until every line so far is written; False if the reader is stuck."""
        return self._log.pump.flush(timeout)

    def close(self, timeout: float) -> None:
        """Write what is left, at most `timeout` seconds for each reader, and end their threads."""
        for pump in self._subscribers:
            pump.close(timeout)
        self._log.pump.close(timeout)

    def _note(self, name: str, facts: Mapping[str, object], error: BaseException | None) -> None:
        word = name if is_word(name) else REDACTED
        spec = EVENTS.get(word, UNKNOWN)
        shown, redacted = guarded(facts)
        level = spec.weight(shown) if error is None else LogLevel.ERROR
        self.metrics.event(word, shown, redacted=redacted)
        for pump in self._subscribers:
            pump.offer((word, shown))
        if not self._log.writes(level):
            return
        now = self._clock()
        quiet = 0
        if spec.throttled:
            passed = self._throttle.passes((word, *(shown.get(fact) for fact in KINDS)), now.ms)
            if passed is None:
                return
            quiet = passed
        trouble = {} if error is None else {"errors": describe(error)}
        silent = {"suppressed": quiet} if quiet else {}
        self._log.pump.offer(Line(wall=now.wall, level=level, event=word, facts={**shown, **trouble, **silent}))
