"""One MLLP client connection: opens it, writes frames, gives answers in the order they come. Judges nothing."""

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass
from typing import Self

from gateway.errors import OperatorError, PeerError
from gateway.sender.options import Target, TlsOptions
from gateway.wire.mllp import Anomaly, AnomalyKind, BadFrame, Close, Decoder, Frame, Item, encode

_CHUNK = 1 << 16
_FRAME_SILENCE = 1.0  # seconds after which FS behind a segment end is the end of a frame without its CR
_GOODBYE = 1.0  # seconds for the last bytes and the TLS close to leave
_FOREIGN = {
    AnomalyKind.LOOKS_LIKE_TLS: "the other side speaks TLS",
    AnomalyKind.LOOKS_LIKE_HTTP: "the other side speaks HTTP",
}


class Unreachable(PeerError):
    """No connection could be made to `target`; `reason` is the network's or TLS's own word for it."""

    def __init__(self, *, target: Target, reason: str) -> None:
        super().__init__(f"{target}: {reason}")
        self.target = target
        self.reason = reason


class Closed(PeerError):
    """The other side ended the connection; `reason` says how."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TlsUnusable(OperatorError):
    """The certificate files cannot be used as given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One answer frame: the bytes between VT and FS; `broken` names what was wrong with the frame, if anything."""

    payload: bytes
    broken: str | None = None


def tls_context(options: TlsOptions) -> ssl.SSLContext:
    """Build the TLS side of a client. Raises TlsUnusable."""
    try:
        context = ssl.create_default_context(cafile=options.ca_file)
        if options.cert_file is not None:
            context.load_cert_chain(options.cert_file, options.key_file)
    except OSError as error:  # ssl.SSLError is one
        named = ", ".join(str(f) for f in (options.ca_file, options.cert_file, options.key_file) if f is not None)
        raise TlsUnusable(f"{named}: {error.strerror or error}") from error
    if not options.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class Connection:
    """An open connection; use it as an async context manager, which closes it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, max_answer_bytes: int) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = Decoder(max_message_bytes=max_answer_bytes)
        self._items: deque[Item] = deque()
        self._ended: str | None = None

    @classmethod
    async def open(
        cls,
        target: Target,
        *,
        context: ssl.SSLContext | None = None,
        server_name: str | None = None,
        timeout: float,  # noqa: ASYNC109 - a deadline of the connecting alone, turned into Unreachable
        max_answer_bytes: int = 16 << 20,
    ) -> Self:
        """Connect within `timeout` seconds, TLS hello included. Raises Unreachable."""
        name = (server_name or target.host) if context is not None else None
        try:
            async with asyncio.timeout(timeout):
                reader, writer = await asyncio.open_connection(
                    target.host, target.port, ssl=context, server_hostname=name
                )
        except TimeoutError as error:
            raise Unreachable(target=target, reason=f"no connection within {timeout:g} s") from error
        except OSError as error:
            raise Unreachable(target=target, reason=error.strerror or str(error)) from error
        return cls(reader, writer, max_answer_bytes=max_answer_bytes)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        try:
            async with asyncio.timeout(_GOODBYE):
                await self._writer.wait_closed()
        except (TimeoutError, OSError):
            self._writer.transport.abort()  # a peer that is dead, or was so rude as to reset: nothing is owed any more

    def write(self, payload: bytes) -> None:
        """Hand one frame to the socket, in one write; the answer's deadline also bounds how long it may take."""
        self._writer.write(encode(payload))

    async def receive(self) -> Received:
        """Wait for the next answer; may be cancelled and called again without losing a byte. Raises Closed."""
        while True:
            while self._items:
                received = self._read_item(self._items.popleft())
                if received is not None:
                    return received
            if self._ended is not None:
                raise Closed(reason=self._ended)
            await self._fill()

    def _read_item(self, item: Item) -> Received | None:
        match item:
            case Frame(payload=payload):
                return Received(payload=payload)
            case BadFrame(head=head, kind=kind):
                return Received(payload=head, broken=str(kind))
            case Close(reason=kind):
                self._ended = _FOREIGN.get(kind, f"the answer broke MLLP ({kind})")
                return None
            case Anomaly():
                return None

    async def _fill(self) -> None:
        try:
            async with asyncio.timeout(_FRAME_SILENCE if self._decoder.awaits_silence else None):
                data = await self._reader.read(_CHUNK)
        except TimeoutError:
            self._items.extend(self._decoder.silence())
            return
        except OSError as error:
            self._ended = error.strerror or str(error)
            return
        if data:
            self._items.extend(self._decoder.feed(data))
            return
        self._items.extend(self._decoder.end())
        self._ended = "closed by the other side"
