"""The status server: uvicorn inside the running loop. Takes no signal handler and never ends the process."""

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Callable, Iterator

import uvicorn

from gateway.errors import OperatorError
from gateway.observe.observatory import Observatory
from gateway.observe.snapshot import Gauges, Summaries
from gateway.observe.status import Health, Readiness, StatusPages

MOST_REQUESTS = 64
"""Requests at once; more get 503, so that a scraper gone wild takes nothing from the senders."""

LONGEST_STOP = 2


def _well() -> str | None:
    return None


class StatusServer:
    """Serves /metrics, /healthz and /readyz; port 0 picks a free one."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        observatory: Observatory,
        readiness: Readiness,
        summaries: Summaries,
        gauges: Callable[[], Gauges] = Gauges,
        health: Health = _well,
    ) -> None:
        self._host = host
        self._port = port
        self._pages = StatusPages(observatory, readiness=readiness, summaries=summaries, gauges=gauges, health=health)
        self._server: _Server | None = None
        self._running: asyncio.Task[None] | None = None
        self._bound: tuple[str, int] | None = None

    @property
    def address(self) -> str:
        """The `HOST:PORT` it is bound to. Only once started."""
        if self._bound is None:
            raise RuntimeError("the status server was not started")
        host, port = self._bound
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def start(self) -> None:
        """Bind and serve. Raises OperatorError, naming the address, when it cannot be bound."""
        listening = await self._bind()
        self._bound = listening.getsockname()[:2]
        config = uvicorn.Config(
            self._pages,
            loop="none",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_REQUESTS,
            timeout_graceful_shutdown=LONGEST_STOP,
        )
        self._server = _Server(config)
        self._running = asyncio.create_task(self._server.serve(sockets=[listening]), name="status-server")
        await self._server.serving.wait()

    async def stop(self) -> None:
        """Answer what was asked, at most 2 seconds, and close the port."""
        if self._server is None or self._running is None:
            return
        self._server.should_exit = True
        await self._running
        self._server = self._running = None

    async def _bind(self) -> socket.socket:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, _, _, _, where = found[0]
            return _listen(family, where)
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            reason = (
                "the port is taken"
                if taken
                else os.strerror(error.errno)
                if error.errno and error.errno > 0
                else ("the host name is not known")
            )
            raise OperatorError(f"metrics.listen: cannot listen on {self._host} port {self._port}: {reason}") from None


def _listen(family: int, where: tuple[object, ...]) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(where)
        listening.listen(128)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


class _Server(uvicorn.Server):
    """uvicorn without its hold on the process."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.serving = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the program, which stops every room in its order."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self.serving.set()
