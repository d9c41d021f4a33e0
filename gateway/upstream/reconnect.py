"""The one reconnect mechanism: for ever, exponential, full jitter. Decides when, never how, to dial again."""

from collections.abc import Callable

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_never

from gateway.errors import ConnectFailed
from gateway.ports.clock import Roll

_DOUBLINGS = 30
"""Beyond these the wait is the maximum anyway; the bound keeps the number small."""


class Backoff:
    """Counts tries that came to nothing; a connection that proved itself starts the count again."""

    def __init__(self, *, initial: float, longest: float, roll: Roll) -> None:
        self._initial = initial
        self._longest = longest
        self._roll = roll
        self._failures = 0

    def failed(self) -> None:
        """Count one more failure."""
        self._failures += 1

    def proved(self) -> None:
        """Forget the failures: a connection did its work."""
        self._failures = 0

    def wait(self, _: RetryCallState) -> float:
        """Give the seconds until the next try: anything between nothing and the doubled step, at most `longest`."""
        step = self._initial * (2.0 ** min(max(self._failures - 1, 0), _DOUBLINGS))
        return self._roll() * min(step, self._longest)


def retrying(backoff: Backoff, *, resting: Callable[[float], None]) -> AsyncRetrying:
    """Give the policy under which a link lives: every ConnectFailed leads to another try, nothing else does.

    `resting` hears how many seconds it will wait.
    """

    def rest(state: RetryCallState) -> None:
        resting(state.upcoming_sleep)

    return AsyncRetrying(
        retry=retry_if_exception_type(ConnectFailed),
        wait=backoff.wait,
        stop=stop_never,
        before_sleep=rest,
        reraise=True,
    )
