"""The one WebSocket of an upstream: dials, greets, serves, and dials again for ever while it is open."""

import asyncio
import logging
import os
import socket
import ssl

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus, WebSocketException

from gateway.errors import ConnectFailed
from gateway.model.upstream import Callback, StrayAnswer
from gateway.ports.clock import Clock, Roll
from gateway.ports.observe import Observer
from gateway.upstream import address, tls
from gateway.upstream.auth import tokens_of
from gateway.upstream.connection import LiveConnection, Surroundings
from gateway.upstream.mailbox import Mailbox
from gateway.upstream.options import LinkOptions
from gateway.upstream.pipe import Pipe
from gateway.upstream.reconnect import Backoff, retrying

_SILENT = logging.getLogger("gateway.upstream.websockets")
"""The library writes frame contents at level DEBUG: message content goes into no log."""

_SILENT.setLevel(logging.CRITICAL + 1)
_SILENT.propagate = False

_NEXT_ADDRESS = 0.25
"""Seconds after which the next address of a host is tried beside the first (RFC 8305)."""


class WebSocketLink:
    """Implements ports.upstream.Link."""

    def __init__(self, options: LinkOptions, *, observer: Observer, clock: Clock, roll: Roll) -> None:
        self._options = options
        self._observer = observer
        self._around = Surroundings(
            options=options,
            tokens=tokens_of(options, clock=clock),
            observer=observer,
            clock=clock,
            strays=Mailbox(limit=options.stray_limit, dropped=lambda: self._event("stray-dropped")),
            receipts=Mailbox(limit=options.stray_limit, dropped=lambda: self._event("receipt-dropped")),
        )
        self._backoff = Backoff(initial=options.reconnect_initial, longest=options.reconnect_max, roll=roll)
        self._number = 0
        self._connection: LiveConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._last_error: str | None = None
        self._news = asyncio.Event()

    @property
    def state(self) -> str:
        """`down`, `connecting` or `live`."""
        if self._task is None or self._task.done():
            return "down"
        return "live" if self._connection is not None and self._connection.is_live else "connecting"

    @property
    def last_error(self) -> str | None:
        """The last failure, without content; None since the last success."""
        return self._last_error

    async def open(self, *, epoch: int) -> None:
        """Start dialling under this epoch. Returns at once."""
        await self.close()
        self._task = asyncio.get_running_loop().create_task(self._keep(epoch))
        self._task.add_done_callback(self._ended)

    async def close(self) -> None:
        """Stop, and close the connection; unanswered sends complete with LinkLost."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait((task,))

    async def live(self, *, after: int = 0) -> LiveConnection:
        """Wait for a live connection with a number above `after`. Raises what broke the link, if a defect did."""
        while True:
            connection = self._connection
            if connection is not None and connection.number > after and connection.is_live:
                return connection
            if self._task is not None and self._task.done() and not self._task.cancelled():
                self._task.result()
            await self._news.wait()

    async def stray(self) -> StrayAnswer:
        """Wait for the next answer nobody waits for."""
        return await self._around.strays.take()

    async def receipt(self) -> Callback:
        """Wait for the next receipt."""
        return await self._around.receipts.take()

    async def _keep(self, epoch: int) -> None:
        """Hold a connection for ever; every failure leads through the one backoff."""
        await retrying(self._backoff, resting=self._resting)(self._try, epoch)

    async def _try(self, epoch: int) -> None:
        """Make one connection and serve it to its end, which is always a ConnectFailed."""
        try:
            pipe = await self._dial()
            try:
                await self._serve(pipe, epoch)
            finally:
                await _close(pipe, within=self._options.close_timeout)
        except ConnectFailed as trouble:
            self._backoff.failed()
            self._last_error = str(trouble)
            self._event("link-down", step=trouble.step, reason=trouble.reason)
            raise

    async def _serve(self, pipe: Pipe, epoch: int) -> None:
        self._number += 1
        connection = LiveConnection(pipe, number=self._number, epoch=epoch, around=self._around)
        await connection.greet()
        since = asyncio.get_running_loop().time()
        self._connection = connection
        self._last_error = None
        self._event("link-up", connection=connection.number, granted=",".join(sorted(connection.granted.extensions)))
        self._tell()
        try:
            ended = await connection.run()
        finally:
            self._connection = None
            lived = asyncio.get_running_loop().time() - since
            if connection.has_answered or lived >= self._options.reconnect_max:
                self._backoff.proved()
        raise ended

    async def _dial(self) -> Pipe:
        """Open one WebSocket: token, DNS, TCP, TLS, HTTP. Raises ConnectFailed that names the step."""
        await self._around.tokens.renew()
        url = address.socket_url(self._options.url)
        host, port = address.host_and_port(url)
        try:
            # With host and port given, a redirect cannot lead to another origin and take the token there.
            pipe = await connect(
                url,
                host=host,
                port=port,
                ssl=self._tls() if address.is_secure(url) else None,
                create_connection=Pipe,
                compression=None,
                proxy=None,
                open_timeout=self._options.open_timeout,
                close_timeout=self._options.close_timeout,
                ping_interval=None,
                max_size=self._options.max_size,
                logger=_SILENT,
                happy_eyeballs_delay=_NEXT_ADDRESS,
            )
        except (OSError, EOFError, ValueError, WebSocketException) as trouble:
            raise _failure(trouble) from None
        if not isinstance(pipe, Pipe):
            raise TypeError("the library made a connection of its own")
        return pipe

    def _tls(self) -> ssl.SSLContext:
        options = self._options
        return tls.context(ca_file=options.ca_file, cert_file=options.cert_file, key_file=options.key_file)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Show a defect that ended the link; `live` raises it, too."""
        if not task.cancelled() and (trouble := task.exception()) is not None:
            self._event("link-defect", error=type(trouble).__name__)
        self._tell()

    def _resting(self, seconds: float) -> None:
        self._event("link-resting", seconds=round(seconds, 3))

    def _tell(self) -> None:
        """Wake everybody who waits for a connection."""
        self._news.set()
        self._news = asyncio.Event()

    def _event(self, name: str, **facts: str | float) -> None:
        self._observer.event(name, upstream=self._options.name, **facts)


async def _close(pipe: Pipe, *, within: float) -> None:
    """Close the WebSocket in order, or cut it; a peer that reads nothing could else hold the close frame for ever."""
    try:
        async with asyncio.timeout(within):
            await pipe.close()
    except TimeoutError:
        pass  # it is cut now
    finally:
        pipe.transport.abort()
    await pipe.wait_closed()


def _failure(trouble: Exception) -> ConnectFailed:
    """Name the step at which dialling failed, in words of our own."""
    match trouble:
        case InvalidStatus():
            return ConnectFailed(step="http", reason=f"status {trouble.response.status_code}")
        case socket.gaierror():
            return ConnectFailed(step="dns", reason="the host name cannot be resolved")
        case ssl.SSLCertVerificationError():
            return ConnectFailed(step="tls", reason=f"certificate: {trouble.verify_message}")
        case ssl.SSLError():
            return ConnectFailed(step="tls", reason="the TLS handshake failed")
        case TimeoutError():
            return ConnectFailed(step="tcp", reason="not open in time")
        case OSError():
            return ConnectFailed(step="tcp", reason=os.strerror(trouble.errno) if trouble.errno else "no connection")
        case _:
            return ConnectFailed(step="http", reason=f"no WebSocket: {type(trouble).__name__}")
