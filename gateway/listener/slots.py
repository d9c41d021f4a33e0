"""A connection's line of answers: who asks, what is answered, and whose turn it is. Knows no sockets and no store."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The other end. `text` is `host:port`, an IPv6 address in brackets; `identity` is the name its client
    certificate maps to (empty without TLS).
    """

    host: str
    text: str
    identity: str = ""

    @property
    def name(self) -> str:
        """What stays the same when it connects again: the identity, else the address."""
        return self.identity or self.host


def peer_at(host: str, port: int) -> Peer:
    """Give the peer at an address."""
    return Peer(host=host, text=f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


Sent = Callable[[bool], None]
"""Told once what became of a reply: True when its bytes were handed to the socket in their turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one frame is answered: an HL7 message without framing (b"": nothing), and whether the link ends then."""

    answer: bytes
    closes: bool = False
    sent: Sent | None = None


class Line(Protocol):
    """An open connection as later answers see it."""

    @property
    def number(self) -> int:
        """Counts the connections of the listener; a higher one is newer."""

    @property
    def peer(self) -> Peer:
        """The other end."""

    @property
    def is_open(self) -> bool:
        """True while answers can still be written."""

    def push(self, answer: bytes) -> bool:
        """Write an answer that belongs to no slot; False if the connection cannot take it any more."""


class Slot:
    """One frame's place in its connection's line of answers; filled once, written in its turn."""

    __slots__ = ("_dropped", "_ready", "line", "reply", "size", "waiting")

    def __init__(self, line: Line, ready: Callable[[], None], *, size: int = 0) -> None:
        self.line = line
        self.size = size
        self.reply: Reply | None = None
        self.waiting: asyncio.Task[None] | None = None
        self._ready = ready
        self._dropped = False

    def fill(self, reply: Reply) -> None:
        """Give the answer. The first one counts; one that comes after the connection is gone is told so."""
        if self.reply is not None:
            return
        self.reply = reply
        if not self._dropped:
            self._ready()
        elif reply.sent is not None:
            reply.sent(False)

    def leave(self) -> None:
        """Note that the answer was handed to the socket."""
        if self.reply is not None and self.reply.sent is not None:
            self.reply.sent(True)

    def drop(self) -> None:
        """Note that the connection is gone: nobody waits here any more."""
        self._dropped = True
        if self.waiting is not None:
            self.waiting.cancel()
        if self.reply is not None and self.reply.sent is not None:
            self.reply.sent(False)
