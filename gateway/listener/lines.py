"""Which open connections a sender can be reached on. Remembers connections, never messages."""

from gateway.listener.slots import Line

_MOST_SENDERS = 256
"""A connection is remembered for this many pairs of MSH-3 and MSH-4; the oldest is forgotten first."""


class Lines:
    """Finds the newest open connection of a sender: same certificate name (else address), same MSH-3 and MSH-4."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], set[Line]] = {}
        self._keys: dict[Line, dict[tuple[str, str], None]] = {}

    def note(self, line: Line, sender: str) -> bool:
        """Remember that this connection brought a message of `sender`; True if that is news."""
        key = (line.peer.name, sender)
        keys = self._keys.setdefault(line, {})
        if key in keys:
            return False
        keys[key] = None
        self._open.setdefault(key, set()).add(line)
        if len(keys) > _MOST_SENDERS:
            oldest = next(iter(keys))
            del keys[oldest]
            self._remove(line, oldest)
        return True

    def forget(self, line: Line) -> None:
        """Forget a connection that is gone."""
        for key in self._keys.pop(line, {}):
            self._remove(line, key)

    def newest(self, name: str, sender: str) -> Line | None:
        """Give the newest open connection of that peer and sender."""
        candidates = [line for line in self._open.get((name, sender), ()) if line.is_open]
        return max(candidates, key=lambda line: line.number, default=None)

    def _remove(self, line: Line, key: tuple[str, str]) -> None:
        lines = self._open[key]
        lines.discard(line)
        if not lines:
            del self._open[key]
