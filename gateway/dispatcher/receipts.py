"""What servers said they hold on their own disk. Evidence for rows in doubt; never a verdict."""

from gateway.model.upstream import Callback

MOST = 4_096
"""Receipts kept at most; they matter only until their send is answered."""


class Receipts:
    """Receipts of sends that are not settled yet, the oldest dropped first."""

    def __init__(self) -> None:
        self._known: dict[Callback, None] = {}

    def note(self, callback: Callback) -> None:
        """Keep one."""
        self._known[callback] = None
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    def take(self, callback: Callback) -> bool:
        """Say whether there was one for this send, and let go of it."""
        if callback not in self._known:
            return False
        del self._known[callback]
        return True
