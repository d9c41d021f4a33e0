"""One connection that misbehaves: raw bytes out, answers in. Frames answers strictly and by itself; judges nothing.

It does not use the gateway's own decoder, which forgives much, and which is one of the things that are tried.
"""

import asyncio
import socket
import struct
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from gateway.sender import judging
from gateway.sender.connection import Unreachable
from gateway.sender.options import Judgement, Target

_PIECE = 1 << 16
_MOST = 4 << 20  # bytes without a whole frame among them: nobody's answer is that long
_SHOWN = 16
_TCP_REPAIR = 19  # Linux: a socket closed in this state says neither FIN nor RST


class End(StrEnum):
    """How the receiver ended the connection."""

    CLOSED = "closed"
    RESET = "reset"
    FLOODED = "flooded"  # it sent what can be no answer, without end


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One frame of the receiver: `code` is MSA-1 and `name` MSA-2 (None: it cannot be read), `positive` what it says;
    `payload` is every byte between VT and FS.
    """

    payload: bytes
    code: str | None
    name: str | None
    positive: bool

    @classmethod
    def read(cls, payload: bytes) -> Self:
        """Read the acknowledgement in a frame."""
        found = judging.read(payload)
        if found is None or found.judgement is Judgement.UNREADABLE:
            return cls(payload=payload, code=None, name=None, positive=False)
        return cls(payload=payload, code=found.code, name=found.ids[0], positive=found.judgement is Judgement.POSITIVE)


class Peer(asyncio.Protocol):
    """An open connection. `ended` tells how the receiver ended it, `stray` holds its first bytes outside of frames."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self.ended: End | None = None
        self.stray = b""
        self._heard = bytearray()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    @classmethod
    async def open(cls, target: Target, *, within: float, receive_buffer: int | None = None) -> Self:
        """Connect within so many seconds; `receive_buffer` bytes are what the kernel may hold unread. Raises
        Unreachable.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(within):
                if receive_buffer is None:
                    _, peer = await loop.create_connection(cls, target.host, target.port)
                    return peer
                sock = await _dialled(target, receive_buffer)
                _, peer = await loop.create_connection(cls, sock=sock)
        except TimeoutError as error:
            raise Unreachable(target=target, reason=f"no connection within {within:g} s") from error
        except OSError as error:
            raise Unreachable(target=target, reason=error.strerror or str(error)) from error
        return peer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # what a stream connection makes
        self._transport = transport
        transport.set_write_buffer_limits(high=0)  # so that `say` returns when the kernel has every byte

    def data_received(self, data: bytes) -> None:
        """Keep what comes until it is asked for."""
        self._heard += data
        if len(self._heard) > _MOST:
            self.ended = self.ended or End.FLOODED
            self._transport.abort()
        self._news.set()

    def eof_received(self) -> bool:
        """Note that no answer can come any more; we may still write."""
        self.ended = self.ended or End.CLOSED
        self._news.set()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end."""
        self.ended = self.ended or (End.RESET if exc else End.CLOSED)
        self._news.set()
        self._room.set()

    def pause_writing(self) -> None:
        """Note that the kernel takes no more for now."""
        self._room.clear()

    def resume_writing(self) -> None:
        """Note that everything written has left."""
        self._room.set()

    async def say(self, data: bytes, *, within: float) -> bool:
        """Write, each 64 KiB within so many seconds; False when the receiver does not take them all."""
        for at in range(0, len(data), _PIECE):
            if self._transport.is_closing():
                return False
            self._transport.write(data[at : at + _PIECE])
            try:
                async with asyncio.timeout(within):
                    await self._room.wait()
            except TimeoutError:
                return False
        return not self._transport.is_closing()

    async def hear(self, *, within: float) -> Answer | None:
        """Wait for the next answer; None when the connection ends or so many seconds pass first."""
        try:
            async with asyncio.timeout(within):
                while True:
                    self._news.clear()
                    if (payload := self._frame()) is not None:
                        return Answer.read(payload)
                    if self.ended is not None:
                        return None
                    await self._news.wait()
        except TimeoutError:
            return None

    def _frame(self) -> bytes | None:
        """Take one frame, strictly VT ... FS CR, from what was heard."""
        begin = self._heard.find(b"\x0b")
        outside = len(self._heard) if begin < 0 else begin
        self.stray = (self.stray + bytes(self._heard[:outside]))[:_SHOWN]
        del self._heard[:outside]
        end = self._heard.find(b"\x1c\r")
        if end < 0:
            return None
        payload = bytes(self._heard[1:end])
        del self._heard[: end + 2]
        return payload

    @property
    def has_half(self) -> bool:
        """True when a frame began that has no end."""
        return bool(self._heard) and b"\x1c\r" not in self._heard

    def deafen(self) -> None:
        """Stop reading."""
        self._transport.pause_reading()

    def listen(self) -> None:
        """Read again."""
        self._transport.resume_reading()

    def finish(self) -> None:
        """Say that nothing more comes, and go on reading."""
        if not self._transport.is_closing():
            self._transport.write_eof()

    def vanish(self) -> bool:
        """Be gone without a word; where the system does not allow that, by a reset, and False."""
        sock = self._transport.get_extra_info("socket")
        try:
            sock.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
            is_silent = True
        except OSError:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            is_silent = False
        self._transport.abort()
        return is_silent

    def close(self) -> None:
        """Hang up; what was not read is given up."""
        self._transport.abort()


async def _dialled(target: Target, receive_buffer: int) -> socket.socket:
    """Connect a socket whose receive buffer is small from the beginning, which the handshake tells the receiver."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    family, kind, protocol, _, address = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        await loop.sock_connect(sock, address)
    except BaseException:
        sock.close()
        raise
    return sock
