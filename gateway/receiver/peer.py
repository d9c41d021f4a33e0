"""One gateway's connection as the server sees it. Knows how to send and close, not what to say."""

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from gateway.model.upstream import Extension


class Peer:
    """A connection; `number` grows with every connection of this process, so that older ones can be told.

    `agent_id` is None until the connect request was met; `granted` is what was granted then.
    """

    def __init__(self, socket: ServerConnection, *, number: int) -> None:
        self._socket = socket
        self.number = number
        self.agent_id: str | None = None
        self.granted: frozenset[Extension] = frozenset()

    async def receive(self) -> bytes | None:
        """Wait for the next frame; None when the connection is gone."""
        try:
            return await self._socket.recv(decode=False)
        except ConnectionClosed:
            return None

    async def send(self, text: str) -> None:
        """Send one text frame; a peer that is gone gets nothing, since what it is told is stored."""
        try:
            await self._socket.send(text)
        except ConnectionClosed:
            return

    def abort(self) -> None:
        """Cut the TCP connection without a close frame."""
        self._socket.transport.abort()

    async def close(self, code: int | None) -> None:
        """Close in order with `code`; None cuts the TCP connection."""
        if code is None:
            self.abort()
        else:
            await self._socket.close(code)
