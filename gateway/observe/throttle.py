"""How often an event that a peer can cause at will is written. Reads no clock."""

from collections.abc import Hashable
from dataclasses import dataclass

BURST = 20
PERIOD = 60_000
MOST_KEYS = 1_024


@dataclass(slots=True)
class _Span:
    began: int
    passed: int = 0
    held: int = 0


class Throttle:
    """Lets 20 of a kind pass in each minute; the next one after it tells how many were held back."""

    def __init__(self) -> None:
        self._spans: dict[Hashable, _Span] = {}

    def passes(self, key: Hashable, now: int) -> int | None:
        """Give how many were held back since one passed, or None if this one is held back too; `now` in ms."""
        span = self._spans.get(key)
        if span is None:
            if len(self._spans) >= MOST_KEYS:
                self._spans.clear()
            span = self._spans[key] = _Span(began=now)
        if now - span.began >= PERIOD:
            span.began, span.passed = now, 0
        if span.passed >= BURST:
            span.held += 1
            return None
        span.passed += 1
        held, span.held = span.held, 0
        return held
