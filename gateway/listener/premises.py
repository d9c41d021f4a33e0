"""What the doors of one gateway share: how many may be inside, and how much memory their frames may take.

Knows no sockets and no messages. Frames of up to SMALL bytes are never held back for want of memory, so that an
honest sender is served while others send giants.
"""

from collections.abc import Callable

SMALL = 16 << 10
"""Bytes that every connection may hold of what it has not finished sending, however full memory is."""

OVERFLOW = 1.25
"""Beyond this many times the limit nothing is only held back: what arrives is turned away."""


class Premises:
    """Counts the connections and the buffered bytes of every channel of one process."""

    def __init__(self, *, max_connections: int = 4_096, max_buffered_bytes: int = 64 << 20) -> None:
        self.connections = 0
        self.buffered = 0
        self.is_full = False
        self._most_connections = max_connections
        self._most = max_buffered_bytes
        self._growing: dict[Share, None] = {}
        self._waiting: dict[Share, None] = {}

    def enter(self) -> bool:
        """Count a connection in; False if there is no room for it."""
        if self.connections >= self._most_connections:
            return False
        self.connections += 1
        return True

    def leave(self) -> None:
        """Count a connection out."""
        self.connections -= 1

    @property
    def is_overflowing(self) -> bool:
        """True when holding back was not enough."""
        return self.buffered > self._most * OVERFLOW

    def share(self, *, squeezed: Callable[[], None], eased: Callable[[], None]) -> "Share":
        """Open a connection's account: `squeezed` when it must stop reading now, `eased` when it may go on."""
        return Share(self, squeezed=squeezed, eased=eased)

    def note(self, share: "Share", change: int) -> None:
        """Take a change of what a connection holds, in bytes."""
        if share.growing > SMALL:
            self._growing[share] = None
        else:
            self._growing.pop(share, None)
        self.buffered += change
        was_full, self.is_full = self.is_full, self.buffered > self._most
        if self.is_full and not was_full:
            # At once: whoever else has bytes waiting in this turn of the loop must not read them any more.
            for each in list(self._growing):
                each.squeezed()
        elif not self.is_full and self._waiting:
            eased, self._waiting = self._waiting, {}
            for each in eased:
                each.eased()

    def wait(self, share: "Share") -> None:
        """Note that a connection waits for room."""
        self._waiting[share] = None

    def forget(self, share: "Share") -> None:
        """Note that a connection holds nothing any more, and waits for nothing."""
        self._waiting.pop(share, None)
        self._growing.pop(share, None)


class Share:
    """What one connection holds: `growing` bytes it has not finished sending or that wait for their turn, and more
    that wait for their answer.
    """

    __slots__ = ("_held", "_premises", "eased", "growing", "squeezed")

    def __init__(self, premises: Premises, *, squeezed: Callable[[], None], eased: Callable[[], None]) -> None:
        self.growing = 0
        self.squeezed = squeezed
        self.eased = eased
        self._premises = premises
        self._held = 0

    @property
    def may_grow(self) -> bool:
        """True while more may be read; False: `eased` is called when it may again."""
        if not self._premises.is_full or self.growing <= SMALL:
            return True
        self._premises.wait(self)
        return False

    @property
    def is_overflowing(self) -> bool:
        """True when what has just come must be turned away."""
        return self._premises.is_overflowing

    def hold(self, growing: int, unanswered: int) -> None:
        """Say what is held now, in bytes."""
        held = growing + unanswered
        if held != self._held or growing != self.growing:
            change, self._held, self.growing = held - self._held, held, growing
            self._premises.note(self, change)

    def release(self) -> None:
        """Hold nothing any more."""
        self.hold(0, 0)
        self._premises.forget(self)
