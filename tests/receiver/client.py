"""A gateway by hand: raw JSON over a real WebSocket, so that the receiver is not tested with its own words."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from websockets.asyncio.client import ClientConnection, connect

ALL = ["dedupe", "status", "receipt"]


def hl7(control_id: str, *, name: str = "Test^Patient") -> str:
    return f"MSH|^~\\&|LAB|A|GW|B|20250101120000||ADT^A01|{control_id}|P|2.5\rPID|1||4711^^^A||{name}\r"


def callback(row: int, *, generation: int = 0, send: int = 1, agent: str = "demo") -> str:
    return f"Agent/{agent}-{UUID(int=row, version=4)}#{generation}.{send}"


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text_of(path).splitlines()]


class Client:
    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def say(self, type_: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def hear(self) -> dict[str, Any]:
        found = json.loads(await self.socket.recv())
        assert isinstance(found, dict)
        return found

    async def greet(self, *, extensions: list[str] | None = None, **fields: Any) -> dict[str, Any]:
        wishes = {} if extensions is None else {"extensions": extensions}
        await self.say("agent:connect:request", agentId="demo", **wishes, **fields)
        return await self.hear()

    async def transmit(self, name: str, body: str, **fields: Any) -> None:
        await self.say(
            "agent:transmit:request",
            channel="adt",
            remote="10.0.0.1:4000",
            contentType="x-application/hl7-v2+er7",
            body=body,
            callback=name,
            **fields,
        )

    async def exchange(self, name: str, body: str, **fields: Any) -> dict[str, Any]:
        """Send one message and give its answer, receipts left out."""
        await self.transmit(name, body, **fields)
        while True:
            heard = await self.hear()
            if heard["type"] != "gateway:receipt":
                return heard

    async def ask(self, *names: str) -> list[dict[str, Any]]:
        await self.say("gateway:status:request", callbacks=list(names))
        heard = await self.hear()
        assert heard["type"] == "gateway:status:response"
        results: list[dict[str, Any]] = heard["results"]
        return results

    async def beat(self) -> dict[str, Any]:
        await self.say("agent:heartbeat:request")
        return await self.hear()


@asynccontextmanager
async def dialled(url: str, *, extensions: list[str] | None = None, **fields: Any) -> AsyncIterator[Client]:
    """A connected client; `extensions` None wishes for none."""
    async with connect(url, compression=None, ping_interval=None, max_queue=None, close_timeout=1) as socket:
        client = Client(socket)
        answer = await client.greet(extensions=extensions, **fields)
        assert answer["type"] == "agent:connect:response", answer
        yield client
