"""One WebSocket that can be written to at once or not at all. Knows frames and buffers, not what they mean.

`ClientConnection.send` is a coroutine: between the call and the bytes lies a chance to wait, to be cancelled, or to
find the connection gone, and then nobody can say whether the frame left. So `write` uses the library's synchronous
entry, `broadcast`, on this one connection. It passes the frame through the protocol object and straight into
`transport.write`, which tries the socket before it returns; what the kernel does not take at once waits in the
transport's own buffer, from where it leaves without us. The connection's state is checked first, because `broadcast`
skips a connection that is not open without a word.
"""

import asyncio
import fcntl
import sys
import termios

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.server import broadcast
from websockets.protocol import State

from gateway.errors import NotLive

_UPLOAD = 4_096
"""Bytes on their way from which on their movement is a sign of life; far more than some heartbeats."""


class Pipe(ClientConnection):
    """A client connection that counts what moves.

    `moved_at` is the loop time at which a byte last moved, in either direction.
    """

    moved_at: float = 0.0
    _appended: int = 0
    _seen_outstanding: int = 0
    _written_since: int = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start counting."""
        super().connection_made(transport)
        self.moved_at = self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Note that something came, be it only a part of a frame."""
        self.moved_at = self.loop.time()
        super().data_received(data)

    @property
    def is_open(self) -> bool:
        """True while a write can go out."""
        return self.state is State.OPEN and not self.transport.is_closing()

    def write(self, text: str) -> int | None:
        """Hand one text frame to the socket now. Gives None if it has left the write buffer, else a mark for
        `has_left`.

        Raises NotLive if provably no byte of it was handed to the socket.
        """
        if not self.is_open:
            raise NotLive("the connection is closing")
        before = self.buffered
        try:
            broadcast((self,), text, raise_exceptions=True)
        except ExceptionGroup:
            # Nobody can say how far it came. The loss of the connection will tell whoever waits for the answer.
            self.transport.abort()
            return None
        self._written_since += len(text)
        after = self.buffered
        if self._was_refused(before):
            raise NotLive("the socket took nothing")
        self._appended += max(0, after - before)
        return self._appended if after else None

    def _was_refused(self, before: int) -> bool:
        """Say whether the socket refused the frame whole.

        With an empty buffer the transport tries the socket at once, and closes itself when that fails; the one try
        took nothing then. With TLS between, or bytes waiting, this proves nothing.
        """
        plain = self.transport.get_extra_info("sslcontext") is None
        return plain and before == 0 and self.transport.is_closing()

    @property
    def buffered(self) -> int:
        """Bytes that wait in the write buffer."""
        return self.transport.get_write_buffer_size()

    def has_left(self, mark: int) -> bool:
        """Say whether the frame with this mark has left the write buffer: what still waits was written after it."""
        return self.buffered <= self._appended - mark

    def look(self) -> None:
        """Note movement towards the server: less is on its way than last time, though more was written.

        A frame handed to the kernel has not moved yet, so this counts what the other side has not confirmed. Only an
        upload of some size counts: heartbeats are confirmed even by a kernel whose server is frozen.
        """
        outstanding = self.buffered + self._unconfirmed()
        if self._seen_outstanding >= _UPLOAD and outstanding < self._seen_outstanding + self._written_since:
            self.moved_at = self.loop.time()
        self._seen_outstanding, self._written_since = outstanding, 0

    def _unconfirmed(self) -> int:
        """Give the bytes in the kernel's send queue; 0 where the system does not tell."""
        socket = self.transport.get_extra_info("socket")
        if socket is None or socket.fileno() < 0:
            return 0
        try:
            size = fcntl.ioctl(socket.fileno(), termios.TIOCOUTQ, bytes(4))
        except OSError:
            return 0  # only a finer measure: the write buffer is still counted
        return int.from_bytes(size, sys.byteorder)
