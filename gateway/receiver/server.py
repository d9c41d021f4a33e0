"""The bundled server: a WebSocket endpoint around the service. Listens on loopback unless told otherwise."""

import asyncio
import logging
import time
from collections.abc import Callable

from websockets.asyncio.server import Server, ServerConnection, serve

from gateway.errors import OperatorError
from gateway.receiver.frames import Reaction
from gateway.receiver.options import ReceiverOptions
from gateway.receiver.peer import Peer
from gateway.receiver.service import Service, Take
from gateway.receiver.values import Taken

_SILENT = logging.getLogger("gateway.receiver.websockets")
"""The library writes frame contents at level DEBUG: message content goes into no log."""

_SILENT.setLevel(logging.CRITICAL + 1)
_SILENT.propagate = False


def _unix_ms() -> int:
    return time.time_ns() // 1_000_000


class Receiver:
    """A server for gateways, in process or behind `hl7-gateway receive`.

    `take` is the application (None: AA to everything); if it raises, the message failed with status 500 and a repeat
    is run again. `wall` gives Unix milliseconds.
    """

    def __init__(
        self, options: ReceiverOptions, *, take: Take | None = None, wall: Callable[[], int] = _unix_ms
    ) -> None:
        self._options = options
        self._service = Service(options, take=take, wall=wall, changed=self._look)
        self._server: Server | None = None
        self._peers: dict[int, Peer] = {}
        self._arrivals = 0
        self._waiters: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    async def start(self) -> None:
        """Read the journal, finish what a crash left unfinished, and listen. Raises OperatorError."""
        self._service.open()
        try:
            self._server = await serve(
                self._converse,
                self._options.host,
                self._options.port,
                compression=None,
                max_size=self._options.max_size,
                ping_interval=None,
                close_timeout=1,
                logger=_SILENT,
            )
        except OSError as trouble:
            await self._service.close()
            where = f"{self._options.host}:{self._options.port}"
            raise OperatorError(f"receiver cannot listen on {where}: {trouble.strerror}") from trouble

    async def stop(self) -> None:
        """Close every connection, stop the runs, and finish the journal."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None
        await self._service.close()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port it is bound to."""
        if self._server is None:
            raise RuntimeError("not started")
        host, port = next(iter(self._server.sockets)).getsockname()[:2]
        return str(host), int(port)

    @property
    def url(self) -> str:
        """Where a gateway connects to."""
        host, port = self.address
        return f"ws://[{host}]:{port}/ws/agent" if ":" in host else f"ws://{host}:{port}/ws/agent"

    @property
    def taken(self) -> tuple[Taken, ...]:
        """Messages this process took, once durable, in order of arrival; at most `remember` of them."""
        return tuple(self._service.taken)

    @property
    def reactions(self) -> tuple[Reaction, ...]:
        """What gateways answered to requests of the server."""
        return tuple(self._service.reactions)

    @property
    def connections(self) -> int:
        """How many connect requests were answered so far."""
        return self._service.connections

    @property
    def live(self) -> int:
        """How many open connections have had their connect request answered."""
        return sum(peer.agent_id is not None for peer in self._peers.values())

    async def wait_taken(self, count: int) -> tuple[Taken, ...]:
        """Wait until this process has taken `count` messages in all; gives `taken`."""
        await self.until(lambda: self._service.taken_count >= count)
        return self.taken

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds` is true; it is asked again whenever something happened here."""
        if holds():
            return
        waiter = (holds, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        try:
            await waiter[1]
        finally:
            self._waiters.remove(waiter)

    def cut(self) -> int:
        """Cut every connection's TCP without a word; gives how many there were."""
        for peer in self._peers.values():
            peer.abort()
        return len(self._peers)

    async def push(self, text: str) -> None:
        """Send one text frame, such as a request of the server, to every gateway."""
        for peer in tuple(self._peers.values()):
            await peer.send(text)

    async def _converse(self, socket: ServerConnection) -> None:
        """Serve one connection until it is gone."""
        self._arrivals += 1
        peer = Peer(socket, number=self._arrivals)
        self._peers[peer.number] = peer
        try:
            while (data := await peer.receive()) is not None:
                await self._service.meet(peer, data)
        finally:
            del self._peers[peer.number]
            self._service.left(self._peers)
            self._look()

    def _look(self) -> None:
        """Wake whoever waits for something that is true now."""
        for holds, waiter in self._waiters:
            if not waiter.done() and holds():
                waiter.set_result(None)
