"""One channel's listening socket: bind, let in, drain. Knows nothing about messages."""

import asyncio
import errno
import os
from collections.abc import Mapping

from gateway.errors import CannotListen, ConfigError, PortTaken
from gateway.listener import tls_buffers
from gateway.listener.door import Door
from gateway.listener.intake import FrameIntake
from gateway.listener.later import LaterAnswers
from gateway.listener.lines import Lines
from gateway.listener.options import ChannelOptions
from gateway.listener.premises import Premises
from gateway.listener.rate import Rate
from gateway.listener.session import Session
from gateway.listener.tls_entry import Entrance, Handshake
from gateway.listener.tls_files import TlsFiles, reason
from gateway.listener.trace import Trace
from gateway.model.policy import BatchMode
from gateway.ports.capture import NoTap, Tap
from gateway.ports.clock import Clock, NewId, Passing, pass_by
from gateway.ports.observe import Observer
from gateway.ports.store import Intake

_WAITING_PEERS = 1024
"""Connections the system holds for us while we are busy: a restart brings every sender back at once."""

_LAST_SHARE = 0.2
"""Share of the grace kept for answers that are hurried at its end."""


class Listener:
    """One channel's intake over MLLP."""

    def __init__(
        self,
        options: ChannelOptions,
        *,
        store: Intake,
        observer: Observer,
        clock: Clock,
        new_id: NewId,
        passing: Passing = pass_by,
        premises: Premises | None = None,
        tap: Tap | None = None,
    ) -> None:
        if options.batch is BatchMode.WHOLE:
            raise ConfigError((f'channel {options.name}: batch = "whole" is not built yet; use split or reject',))
        self._options = options
        self._observer = observer
        self._clock = clock
        self._tap: Tap = tap or NoTap()
        self._later = LaterAnswers(options.name, store=store, observer=observer, clock=clock, lines=Lines())
        self._intake = FrameIntake(
            options,
            store=store,
            observer=observer,
            clock=clock,
            new_id=new_id,
            passing=passing,
            later=self._later,
        )
        self._rate = Rate(options.rate_limit)
        self._premises = premises or Premises()
        self._door = Door(options, self._premises)
        self._files: TlsFiles | None = None
        self._entrance: Entrance | None = None
        if options.tls is not None:
            self._files = TlsFiles(options.tls, channel=options.name, observer=observer, clock=clock)
            self._entrance = Entrance(
                options.tls,
                channel=options.name,
                files=self._files,
                door=self._door,
                observer=observer,
                session=self._session,
            )
        self._server: asyncio.Server | None = None
        self._address = (options.host, options.port)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens; the port is the real one once it is started."""
        return self._address

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._door)

    @property
    def is_serving(self) -> bool:
        """True from `start` until `stop`."""
        return self._server is not None

    @property
    def certificate_ends(self) -> Mapping[str, int]:
        """When the first certificate of each TLS file ends, as Unix time in ms."""
        return {} if self._files is None else self._files.ends

    async def start(self) -> None:
        """Bind and serve. Raises PortTaken, or CannotListen for any other reason the system or OpenSSL gives."""
        loop = asyncio.get_running_loop()
        options = self._options
        self._open_files()
        try:
            self._server = await loop.create_server(self._protocol, options.host, options.port, backlog=_WAITING_PEERS)
        except OSError as why:
            self._close_files()
            raise _refused(options, why) from None
        self._address = self._server.sockets[0].getsockname()[:2]
        self._observer.event("listening", channel=options.name, address=self._address[0], port=self._address[1])

    async def stop(self, *, grace: float) -> None:
        """Stop accepting, answer what was read, close between frames; returns within `grace` seconds, port free."""
        if self._server is None:
            return
        self._server.close()
        ends = asyncio.get_running_loop().time() + grace
        self._door.drain()
        if not await self._emptied_by(ends - grace * _LAST_SHARE):
            self._intake.hurry()
            if not await self._emptied_by(ends):
                self._door.abort()
                await self._door.emptied()
        self._close_files()
        if self._entrance is not None:
            await self._entrance.close()
        await self._intake.close()
        await self._later.close()
        await self._server.wait_closed()
        self._server = None
        self._observer.event("stopped-listening", channel=self._options.name)

    def _protocol(self) -> asyncio.Protocol:
        return self._session() if self._entrance is None else Handshake(self._entrance)

    def _session(self) -> Session:
        return Session(
            self._options,
            intake=self._intake,
            observer=self._observer,
            rate=self._rate,
            door=self._door,
            premises=self._premises,
            trace=Trace(self._tap, channel=self._options.name, wall=lambda: self._clock().wall),
            loop=asyncio.get_running_loop(),
        )

    def _open_files(self) -> None:
        options = self._options
        if self._files is None or options.tls is None:
            return
        if not tls_buffers.shrink():
            self._observer.event("tls-buffers-large", channel=options.name)
        try:
            self._files.open()
        except (OSError, ValueError) as why:
            text = f"its TLS files cannot be used: {reason(why, options.tls)}"
            raise CannotListen(channel=options.name, address=options.host, port=options.port, reason=text) from None

    def _close_files(self) -> None:
        if self._files is not None:
            self._files.close()

    async def _emptied_by(self, when: float) -> bool:
        try:
            async with asyncio.timeout_at(when):
                await self._door.emptied()
        except TimeoutError:
            return False
        return True


def _refused(options: ChannelOptions, why: OSError) -> CannotListen:
    if why.errno == errno.EADDRINUSE:
        return PortTaken(channel=options.name, address=options.host, port=options.port)
    reason = os.strerror(why.errno) if why.errno and why.errno > 0 else "the address is not known here"
    return CannotListen(channel=options.name, address=options.host, port=options.port, reason=reason)
