"""A small MLLP listener for tests, written without the gateway's own framing: it answers by a script."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from gateway.sender.options import Outgoing, Target


@dataclass(frozen=True)
class Heard:
    """A message as it arrived: its payload, its place among all (from 0), its connection (from 0)."""

    payload: bytes
    place: int
    connection: int

    @property
    def control_id(self) -> bytes:
        return self.payload.split(self.payload[3:4])[9]


class Hangup:
    """Close the connection now."""


Script = Callable[[Heard], list[bytes | Hangup]]


def message(control_id: str, *, body: str = "") -> bytes:
    header = f"MSH|^~\\&|APP|FAC|GW|GWFAC|20260105083000||ADT^A01^ADT_A01|{control_id}|P|2.5.1"
    return f"{header}\rEVN|A01|20260105083000\r{body}".encode()


def outgoing(*control_ids: str) -> tuple[Outgoing, ...]:
    return tuple(Outgoing(payload=message(one), origin=f"{one}.hl7") for one in control_ids)


def ack(control_id: bytes, code: str = "AA", *, text: str = "") -> bytes:
    head = b"MSH|^~\\&|GW|GWFAC|APP|FAC|20260105083001||ACK^A01^ACK|G1|P|2.5.1\r"
    tail = f"|{text}" if text else ""
    return head + f"MSA|{code}|".encode() + control_id + tail.encode() + b"\r"


def framed(payload: bytes) -> bytes:
    return b"\x0b" + payload + b"\x1c\r"


def agree(heard: Heard) -> list[bytes | Hangup]:
    return [framed(ack(heard.control_id))]


@dataclass
class Listening:
    """An async context manager; `heard` is every message in order, `streams` the raw bytes of each connection."""

    script: Script = agree
    context: ssl.SSLContext | None = None
    heard: list[Heard] = field(default_factory=list)
    streams: list[bytearray] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    port: int = 0

    async def __aenter__(self) -> Self:
        self.tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self.context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        async with asyncio.timeout(5):
            await asyncio.gather(*self.tasks)

    @property
    def target(self) -> Target:
        return Target(host="127.0.0.1", port=self.port)

    @property
    def payloads(self) -> list[bytes]:
        return [heard.payload for heard in self.heard]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        connection = len(self.streams)
        stream = bytearray()
        self.streams.append(stream)
        self.writers.append(writer)
        pending = b""
        try:
            while data := await reader.read(65536):
                stream += data
                pending += data
                while b"\x1c\r" in pending:
                    frame, pending = pending.split(b"\x1c\r", 1)
                    heard = Heard(frame[1:], len(self.heard), connection)
                    self.heard.append(heard)
                    for step in self.script(heard):
                        if isinstance(step, Hangup):
                            return
                        writer.write(step)
        except ConnectionError:
            pass
        finally:
            writer.close()
