"""A whole site in a folder: the bundled server and gateways, as real processes, and senders over real sockets."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.processes import Program, command
from tests.waiting import until_async

CONFIG = """
[gateway]
data_dir = "{data}"
shutdown_grace = 5
[metrics]
listen = "127.0.0.1:0"
[lease]
ttl = {ttl}
[store]
low_space = 16777216
[[upstream]]
name = "main"
url = "{url}"
agent_id = "demo"
{upstream}
[[channel]]
name = "adt"
listen = "127.0.0.1:{port}"
upstream = "main"
sequence = "stamp"
{channel}
"""

LIVE = frozenset({"queued", "claimed", "inflight"})


def message(control_id: str, *, note: str = "") -> bytes:
    """Make a synthetic admission."""
    return (
        f"MSH|^~\\&|SNDAPP|SNDFAC|RCVAPP|RCVFAC|20260101120000||ADT^A01^ADT_A01|{control_id}|P|2.5.1\r"
        f"EVN|A01|20260101120000\rPID|1||1001^^^HOSP^MR||TEST^ANNA{note}\r"
    ).encode()


@dataclass(kw_only=True)
class Site:
    """One site. `upstream` and `channel` are more lines for these tables of the configuration."""

    folder: Path
    upstream: str = ""
    channel: str = ""
    ttl: float = 1.0
    script: dict[str, Any] | None = None
    plain: bool = False
    programs: list[Program] = field(default_factory=list)
    server: Program | None = None

    @property
    def log(self) -> Path:
        """Where every gateway's standard error goes."""
        return self.folder / "gateway.log"

    @property
    def journal(self) -> Path:
        """What the server took."""
        return self.folder / "taken"

    async def serve(self, *, listen: str = "127.0.0.1:0") -> Program:
        """Start the bundled server."""
        ready = self.folder / "server.ready"
        arguments = ["-m", "gateway", "receive", "--listen", listen, "--journal", str(self.journal)]
        arguments += ["--ready-file", str(ready)]
        if self.script is not None:
            script = self.folder / "script.json"
            script.write_text(json.dumps(self.script))
            arguments += ["--script", str(script)]
        if self.plain:
            arguments += ["--plain"]
        self.server = await Program.start(arguments, ready=ready, log=self.folder / "server.log")
        self.programs.append(self.server)
        return self.server

    def config(self, name: str = "one", *, port: int = 0, url: str | None = None) -> Path:
        """Write a configuration; all of a site share one store."""
        if url is None:
            assert self.server is not None
            url = self.server.ready["url"]
        file = self.folder / f"{name}.toml"
        text = CONFIG.format(
            data=self.folder / "var", url=url, port=port, upstream=self.upstream, channel=self.channel, ttl=self.ttl
        )
        file.write_text(text)
        return file

    async def gateway(self, config: Path) -> Program:
        """Start a gateway."""
        ready = self.folder / f"{config.stem}.ready"
        arguments = ["-m", "gateway", "run", "-c", str(config), "--ready-file", str(ready)]
        program = await Program.start(arguments, ready=ready, log=self.log)
        self.programs.append(program)
        return program

    async def close(self) -> None:
        """Kill whatever still runs."""
        for program in self.programs:
            await program.kill()

    def taken(self) -> list[dict[str, Any]]:
        """Give the server's journal."""
        return [json.loads(line) for line in self.journal.read_bytes().splitlines()] if self.journal.exists() else []

    def control_ids(self) -> set[str]:
        """Give the control ids the server took."""
        return {line["body"].split("|")[9] for line in self.taken()}

    async def rows(self, config: Path) -> list[dict[str, Any]]:
        """Give every row."""
        output = await command("list", "--json", "-c", str(config))
        return [json.loads(line) for line in output.splitlines()]

    async def settled(self, config: Path, count: int) -> list[dict[str, Any]]:
        """Wait until there are `count` rows and none of them waits any more."""
        rows: list[dict[str, Any]] = []

        async def is_settled() -> bool:
            rows[:] = await self.rows(config)
            return len(rows) >= count and not any(row["state"] in LIVE for row in rows)

        await until_async(is_settled, patience=30)
        return rows


async def exchange(address: str, *frames: bytes) -> list[bytes]:
    """Send payloads on one connection and give the payloads of their answers."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(b"".join(b"\x0b" + frame + b"\x1c\r" for frame in frames))
        async with asyncio.timeout(10):
            return [(await reader.readuntil(b"\x1c\r"))[1:-2] for _ in frames]
    finally:
        writer.close()
        await writer.wait_closed()
