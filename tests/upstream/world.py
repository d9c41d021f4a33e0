"""What surrounds a link in these tests: an observer that can be awaited, a clock moved by hand, a server played by
hand over a real WebSocket.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from websockets.asyncio.server import ServerConnection, serve

from gateway.model.clock import Now
from gateway.model.upstream import Callback, Outcome, Transmit
from gateway.ports.observe import Fact
from gateway.upstream.connection import LiveConnection
from gateway.upstream.link import WebSocketLink
from gateway.upstream.options import LinkOptions

TLS = Path(__file__).parent / "tls"
EXTENSIONS = ["dedupe", "status", "receipt"]


class Events:
    """An observer that keeps everything and can be waited for."""

    def __init__(self) -> None:
        self.all: list[tuple[str, dict[str, Fact]]] = []
        self._news = asyncio.Event()

    def event(self, name: str, /, **facts: Fact) -> None:
        self.all.append((name, facts))
        self._news.set()
        self._news = asyncio.Event()

    def anomaly(self, *, channel: str, peer: str, kind: str, offset: int, bytes_hex: str, count: int = 1) -> None:
        raise AssertionError("a link sees no MLLP")

    def of(self, name: str) -> list[dict[str, Fact]]:
        return [facts for known, facts in self.all if known == name]

    async def wait(self, name: str, count: int = 1) -> list[dict[str, Fact]]:
        async with asyncio.timeout(10):
            while len(self.of(name)) < count:
                await self._news.wait()
        return self.of(name)


class Hands:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> Now:
        return Now(wall=1_750_000_000_000 + self.ms, boot_id="boot", ms=self.ms)

    def forward(self, seconds: float) -> None:
        self.ms += int(seconds * 1_000)


class Peer:
    """One connection as the server sees it."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket

    async def hear(self) -> dict[str, Any]:
        async with asyncio.timeout(10):
            found = json.loads(await self.socket.recv())
        assert isinstance(found, dict)
        return found

    async def hear_of(self, type_: str) -> dict[str, Any]:
        """Give the next frame of this type; others are passed over."""
        while (found := await self.hear())["type"] != type_:
            pass
        return found

    async def say(self, type_: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def greet(self, **fields: Any) -> dict[str, Any]:
        request = await self.hear_of("agent:connect:request")
        await self.say("agent:connect:response", **fields)
        return request

    async def answer(self, callback: str, **fields: Any) -> None:
        await self.say("agent:transmit:response", callback=callback, **fields)

    async def gone(self) -> None:
        async with asyncio.timeout(10):
            await self.socket.wait_closed()

    def cut(self) -> None:
        self.socket.transport.abort()


class Server:
    """Gives the test every connection that comes in, to play the server's part by hand."""

    def __init__(self) -> None:
        self.url = ""
        self.arrivals: asyncio.Queue[Peer] = asyncio.Queue()

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1].split("/")[0])

    async def meet(self, socket: ServerConnection) -> None:
        self.arrivals.put_nowait(Peer(socket))
        await socket.wait_closed()

    async def accept(self) -> Peer:
        async with asyncio.timeout(10):
            return await self.arrivals.get()

    async def welcome(self, **fields: Any) -> Peer:
        """Accept the next connection and answer its connect request."""
        peer = await self.accept()
        await peer.greet(**fields)
        return peer


@asynccontextmanager
async def serving(*, tls: bool = False, **more: Any) -> AsyncIterator[Server]:
    server = Server()
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
    more = {"port": 0, "max_size": None} | more
    async with serve(
        server.meet,
        "127.0.0.1",
        compression=None,
        ping_interval=None,
        max_queue=None,
        close_timeout=0.5,
        ssl=context,
        **more,
    ) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        server.url = f"{'wss://localhost' if tls else 'ws://127.0.0.1'}:{port}/ws/agent"
        yield server


class World:
    """A link with everything it is handed."""

    def __init__(self, url: str, *, roll: Callable[[], float] = lambda: 0.5, **options: Any) -> None:
        # Short waits where the test does not say otherwise, so that every retry comes at once.
        options = {"reconnect_initial": 0.01, "reconnect_max": 0.05, "close_timeout": 0.3} | options
        self.options = LinkOptions(name="main", url=url, agent_id="demo", **options)
        self.events = Events()
        self.clock = Hands()
        self.link = WebSocketLink(self.options, observer=self.events, clock=self.clock, roll=roll)

    async def live(self, *, after: int = 0) -> LiveConnection:
        async with asyncio.timeout(10):
            return await self.link.live(after=after)


@asynccontextmanager
async def linked(url: str, *, epoch: int = 7, **options: Any) -> AsyncIterator[World]:
    world = World(url, **options)
    await world.link.open(epoch=epoch)
    try:
        yield world
    finally:
        async with asyncio.timeout(10):
            await world.link.close()


def callback(row: int = 1, *, generation: int = 0, send: int = 1, agent: str = "demo") -> Callback:
    return Callback(agent=agent, row=UUID(int=row), generation=generation, send=send)


def named(row: int = 1, *, generation: int = 0, send: int = 1) -> str:
    """The callback as text, written by hand."""
    return f"Agent/demo-{UUID(int=row)}#{generation}.{send}"


def message(row: int = 1, *, send: int = 1, body: str = "MSH|^~\\&|A|B|C|D|||ADT^A01|M1|P|2.5\r") -> Transmit:
    return Transmit(channel="adt", remote="10.0.0.9:4711", body=body, callback=callback(row, send=send))


async def outcome(future: "asyncio.Future[Outcome]") -> Outcome:
    async with asyncio.timeout(10):
        return await future
