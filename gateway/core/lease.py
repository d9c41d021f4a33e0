"""Arithmetic of the trust window. Never reads a clock."""

from dataclasses import dataclass

from gateway.model.clock import Due, Now


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How long a holder may act on a lease it renewed.

    `asked_at` is the monotonic time in ms from *before* the renewal was sent, so that a slow commit shortens the
    trust and never lengthens it; `ttl` is the lease's life in ms.
    """

    asked_at: int
    ttl: int

    def holds(self, now: int) -> bool:
        """Say whether the lease may still be trusted at monotonic `now` (ms)."""
        return now < self.asked_at + self.ttl

    def renew_at(self) -> int:
        """Give the monotonic time in ms at which to renew: a third of the life."""
        return self.asked_at + self.ttl // 3


def remaining(expires: Due | None, now: Now) -> int:
    """Give the milliseconds left of a stored lease; another boot, or none at all, counts as expired."""
    if expires is None:
        return 0
    return expires.wait(now, foreign=0)
