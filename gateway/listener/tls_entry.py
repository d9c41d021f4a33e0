"""Between the door and the session: the handshake, and who the peer turns out to be. Reads no message."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gateway.listener import tls_buffers
from gateway.listener.door import Door, peer_of, tune
from gateway.listener.options import TlsOptions
from gateway.listener.session import Session
from gateway.listener.slots import peer_at
from gateway.listener.tls_files import TlsFiles
from gateway.listener.tls_senders import Stranger, identify
from gateway.model.ids import ChannelName
from gateway.ports.observe import Observer

_REASONS = {
    "UNSUPPORTED_PROTOCOL": "version",
    "VERSION_TOO_LOW": "version",
    "NO_SHARED_CIPHER": "no-shared-cipher",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "certificate-missing",
    "CERTIFICATE_VERIFY_FAILED": "certificate-refused",
    "HTTP_REQUEST": "not-tls",
    "HTTPS_PROXY_REQUEST": "not-tls",
    "WRONG_VERSION_NUMBER": "not-tls",
    "TLSV1_ALERT_UNKNOWN_CA": "our-certificate-refused",
    "SSLV3_ALERT_BAD_CERTIFICATE": "our-certificate-refused",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "our-certificate-refused",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "our-certificate-refused",
}
"""OpenSSL's names for what happened, and ours."""

_CLOSING = 2.0
"""Seconds a peer has to agree to the end of its connection."""


class Entrance:
    """Makes one channel's TLS connections, each let in by the door before its handshake."""

    def __init__(
        self,
        options: TlsOptions,
        *,
        channel: ChannelName,
        files: TlsFiles,
        door: Door,
        observer: Observer,
        session: Callable[[], Session],
    ) -> None:
        self.options = options
        self.channel = channel
        self.files = files
        self.door = door
        self.observer = observer
        self.session = session
        self._tasks: set[asyncio.Task[None]] = set()

    def shake(self, guest: "Handshake") -> None:
        """Begin a handshake."""
        task = asyncio.get_running_loop().create_task(guest.shake())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Give up every handshake that is on its way."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Handshake(asyncio.Protocol):
    """One connection until its session begins; stands for it at the door."""

    def __init__(self, entrance: Entrance) -> None:
        self.peer = peer_at("", 0)
        self._entrance = entrance
        self._number = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, or close at once whom the door turns away."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # what a stream server makes
        self.peer = peer_of(transport)
        admitted = self._entrance.door.admit(self)
        if isinstance(admitted, str):
            self._turn_away(admitted)
            transport.close()
            return
        self._number = admitted
        self._transport = transport
        tune(transport)
        # Nothing may be read before the handshake takes over.
        transport.pause_reading()
        self._entrance.shake(self)

    def drain(self) -> None:
        """Close: nothing was read yet."""
        self.abort()

    def abort(self) -> None:
        """Close now."""
        if self._transport is not None:
            self._transport.abort()

    async def shake(self) -> None:
        """Shake hands, and let the session begin with whoever may send here."""
        try:
            await self._shake()
        finally:
            self._entrance.door.lost(self)

    async def _shake(self) -> None:
        entrance = self._entrance
        assert self._transport is not None  # noqa: S101  # set before the task was made
        threshold = _Threshold()
        try:
            secure = await asyncio.get_running_loop().start_tls(
                self._transport,
                threshold,
                entrance.files.current(),
                server_side=True,
                ssl_handshake_timeout=entrance.options.handshake_timeout,
                ssl_shutdown_timeout=_CLOSING,
            )
        except (OSError, ValueError) as why:
            self._failed(_reason(why))
            return
        # None where the connection was closed in the middle, whatever the signature says.
        if secure is None or threshold.is_lost:
            self._failed("closed")
            return
        self._begin(secure, threshold)

    def _begin(self, secure: asyncio.Transport, threshold: "_Threshold") -> None:
        found = self._identify(secure)
        if isinstance(found, Stranger):
            self._turn_away(found.reason)
            secure.abort()
            return
        tls_buffers.limit(secure)
        session = self._entrance.session()
        self._entrance.door.hand_over(self, session)
        assert self._transport is not None  # noqa: S101  # below the secure one
        peer = replace(self.peer, identity=found)
        session.secured(secure, below=self._transport, number=self._number, peer=peer)
        secure.set_protocol(session)
        threshold.give_on(session)

    def _identify(self, secure: asyncio.Transport) -> str | Stranger:
        tls: Any = secure.get_extra_info("ssl_object")
        return identify(self._entrance.options, tls.getpeercert(binary_form=True), tls.getpeercert())

    def _failed(self, reason: str) -> None:
        entrance = self._entrance
        entrance.observer.event("tls-failed", channel=entrance.channel, peer=self.peer.host, reason=reason)

    def _turn_away(self, reason: str) -> None:
        entrance = self._entrance
        entrance.observer.event("turned-away", channel=entrance.channel, peer=self.peer.host, reason=reason)


class _Threshold(asyncio.Protocol):
    """Keeps what comes between the end of the handshake and the start of the session, one turn of the loop later."""

    def __init__(self) -> None:
        self.is_lost = False
        self._came: list[bytes] = []
        self._has_ended = False

    def data_received(self, data: bytes) -> None:
        self._came.append(data)

    def eof_received(self) -> None:
        self._has_ended = True

    def connection_lost(self, _: Exception | None) -> None:
        self.is_lost = True

    def give_on(self, session: Session) -> None:
        for data in self._came:
            session.data_received(data)
        if self._has_ended:
            session.eof_received()


def _reason(why: Exception) -> str:
    """Name a failed handshake; of a foreign text nothing is told."""
    match why:
        case ssl.SSLError():
            return _REASONS.get(why.reason or "", "handshake")
        case ConnectionAbortedError():  # what asyncio gives for one that takes too long
            return "timeout"
        case ConnectionError():
            return "closed"
        case _:
            return "handshake"
