"""A TCP proxy that writes down what passes. It changes nothing, half-closes included."""

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass
class Passed:
    """One connection: the bytes the sender put on the wire, and those it got back."""

    there: bytearray = field(default_factory=bytearray)
    back: bytearray = field(default_factory=bytearray)


class Tap:
    """An async context manager that listens on its own port and passes everything on to the target."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections: list[Passed] = []
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        async with asyncio.timeout(10):
            await asyncio.gather(*self._tasks)

    @property
    def payloads(self) -> list[bytes]:
        """What stood between VT and FS CR on the wire, in order; any other byte fails the test that asks."""
        return [payload for passed in self.connections for payload in unwrapped(bytes(passed.there))]

    @property
    def answers(self) -> list[bytes]:
        """The same of what came back."""
        return [payload for passed in self.connections for payload in unwrapped(bytes(passed.back))]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        passed = Passed()
        self.connections.append(passed)
        up_reader, up_writer = await asyncio.open_connection(*self._target)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, up_writer, passed.there))
                group.create_task(_pump(up_reader, writer, passed.back))
        finally:
            writer.close()
            up_writer.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, kept: bytearray) -> None:
    """Copy until the source ends its input, then pass the end on."""
    try:
        while data := await source.read(65536):
            kept += data
            sink.write(data)
            await sink.drain()
        sink.write_eof()
    except OSError:
        sink.close()  # one side reset its connection: the other is told by an end


def unwrapped(stream: bytes) -> list[bytes]:
    """Cut a stream into payloads, independently of the gateway's own decoder."""
    *frames, rest = stream.split(b"\x1c\r")
    assert rest.strip(b"\r\n") == b"", "the stream ends outside a frame"
    starts = [frame.lstrip(b"\r\n")[:1] for frame in frames]
    assert starts == [b"\x0b"] * len(frames), "a frame does not begin with VT"
    return [frame.lstrip(b"\r\n")[1:] for frame in frames]
