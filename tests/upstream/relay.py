"""A TCP proxy that misbehaves on purpose: stalls, drips, cuts in the middle, swallows, resets."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Pair:
    """One connection through the relay."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.near = near
        self.far = far
        self.tasks: list[asyncio.Task[None]] = []

    def reset(self) -> None:
        """Send RST to the near side at once, before the loop turns again."""
        for each in (self.near, self.far):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def half_close(self) -> None:
        """Send FIN to the near side, and go on reading from it."""
        self.near.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close both sides; the loop must not watch a number that the next socket gets."""
        loop = asyncio.get_running_loop()
        for each in (self.near, self.far):
            if each.fileno() >= 0:
                loop.remove_reader(each.fileno())
                loop.remove_writer(each.fileno())
                each.close()
        for task in self.tasks:
            if task is not asyncio.current_task():
                task.cancel()


class Relay:
    """Passes bytes on, as long as nothing else was asked for.

    `flows` cleared: nothing is read from the near side. `swallows`: what comes is read and thrown away, both ways.
    `drip`: at most so many bytes at a time, then a pause. `cut_after`: that many bytes go up, then both sides close.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self.url = ""
        self.flows = asyncio.Event()
        self.flows.set()
        self.swallows = False
        self.drip: int | None = None
        self.cut_after: int | None = None
        self.pairs: list[Pair] = []

    async def serve(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            near, _ = await loop.sock_accept(listening)
            far = socket.socket()
            for each in (near, far):
                each.setblocking(False)
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(far, ("127.0.0.1", self._target))
            pair = Pair(near, far)
            self.pairs.append(pair)
            pair.tasks = [loop.create_task(self._pump(pair, up=up)) for up in (True, False)]

    async def _pump(self, pair: Pair, *, up: bool) -> None:
        source, sink = (pair.near, pair.far) if up else (pair.far, pair.near)
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self.flows.wait()
                data = await loop.sock_recv(source, self.drip or 65_536)
                if not data:
                    break
                if self.swallows:
                    continue
                if up and self.cut_after is not None:
                    data, self.cut_after = data[: self.cut_after], self.cut_after - len(data)
                await loop.sock_sendall(sink, data)
                if up and self.cut_after is not None and self.cut_after <= 0:
                    break
                if self.drip is not None:
                    await asyncio.sleep(0.005)  # the pace of the slow line that is played here
        except (OSError, ValueError):
            pass  # the test closed it
        pair.close()

    async def close(self) -> None:
        for pair in self.pairs:
            pair.close()
            await asyncio.gather(*pair.tasks, return_exceptions=True)


@asynccontextmanager
async def relaying(port: int) -> AsyncIterator[Relay]:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    listening.setblocking(False)
    relay = Relay(port)
    relay.url = f"ws://127.0.0.1:{listening.getsockname()[1]}/ws/agent"
    serving = asyncio.get_running_loop().create_task(relay.serve(listening))
    try:
        yield relay
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await relay.close()
        listening.close()
