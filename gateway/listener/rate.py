"""A channel's rate limit, as arithmetic on the loop's clock. Counts messages and knows nothing else."""


class Rate:
    """At most `limit` messages per second, evenly, with a burst of one second's worth; 0: no limit."""

    def __init__(self, limit: float) -> None:
        self._interval = 1 / limit if limit else 0.0
        self._next = float("-inf")

    def reserve(self, now: float, *, longest: float) -> float | None:
        """Give the seconds until the next message's turn, and reserve it; None if that is more than `longest`."""
        if not self._interval:
            return 0.0
        begins = max(self._next, now - 1.0 + self._interval)
        wait = max(0.0, begins - now)
        if wait > longest:
            return None
        self._next = begins + self._interval
        return wait
