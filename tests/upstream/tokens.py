"""A token endpoint by hand: plain HTTP, one request a connection."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs


@dataclass
class Endpoint:
    """Gives token-1, token-2, ... that live for `life` seconds, or whatever `raw` says instead."""

    url: str = ""
    life: Any = 3600
    status: int = 200
    raw: bytes | None = None
    asked: list[tuple[str, str, dict[str, list[str]]]] = field(default_factory=list)
    holds: asyncio.Event | None = None
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_asked(self, count: int) -> None:
        async with asyncio.timeout(10), self.news:
            await self.news.wait_for(lambda: len(self.asked) >= count)

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:] if line)
        body = (await reader.readexactly(int(fields["content-length"]))).decode()
        basic = next(line.split(" ")[2] for line in head.splitlines() if line.lower().startswith("authorization: "))
        self.asked.append((head.split(" ")[1], base64.b64decode(basic).decode(), parse_qs(body)))
        async with self.news:
            self.news.notify_all()
        if self.holds is not None:
            await self.holds.wait()
        found = {"access_token": f"token-{len(self.asked)}", "token_type": "Bearer"}
        if self.life is not None:
            found["expires_in"] = self.life
        answer = json.dumps(found).encode() if self.raw is None else self.raw
        writer.write(f"HTTP/1.1 {self.status} X\r\nContent-Length: {len(answer)}\r\n\r\n".encode() + answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def endpoint(**options: Any) -> AsyncIterator[Endpoint]:
    made = Endpoint(**options)
    async with await asyncio.start_server(made.meet, "127.0.0.1", 0) as listening:
        made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/oauth2/token"
        yield made
