"""What is odd about a sender's bytes is seen by another process, and frames are captured on its request."""

import asyncio
import json
from pathlib import Path

from tests.processes import command
from tests.system.site import Site, exchange, message
from tests.waiting import until_async


async def say(address: str, data: bytes) -> bytes:
    """Send bytes and read until the gateway closes."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    writer.write_eof()
    rest = await reader.read()
    writer.close()
    return rest


async def test_anomalies_and_captures_work_across_processes(site: Site) -> None:
    await site.serve()
    config = str(site.config())
    gateway = await site.gateway(Path(config))
    address = gateway.ready["channels"]["adt"]
    secret = message("A1", note="SECRETNAME")
    assert b"MSA|AA|A1" in await say(address, b"\n\n\x0b" + secret + b"\x1c")
    assert await say(address, b"\x16\x03\x01\x02\x00\x01") == b""
    assert await say(address, b"GET / HTTP/1.1\r\n\r\n") == b""

    async def listed() -> list[dict[str, object]]:
        output = await command("anomalies", "adt", "--json", "-c", config)
        return [json.loads(line) for line in output.splitlines()]

    async def is_all() -> bool:
        return len(await listed()) >= 4

    await until_async(is_all, patience=20)
    found = await listed()
    assert [each["kind"] for each in found] == ["looks-like-http", "looks-like-tls", "missing-cr", "stray-lf"]
    assert (found[3]["offset"], found[3]["count"], found[3]["bytes"]) == (0, 2, "0a")
    assert "SECRETNAME" not in json.dumps(found)
    shown = (await command("anomalies", "adt", "--limit", "2", "-c", config)).decode()
    assert "looks-like-tls" in shown
    assert "stray-lf" not in shown
    [channel] = json.loads(await command("status", "--json", "-c", config))["channels"]
    assert channel["anomalies"] == {"looks-like-http": 1, "looks-like-tls": 1, "missing-cr": 1, "stray-lf": 1}
    assert "speaks TLS" in " ".join((await command("status", "-c", config)).decode().split())

    folder = site.folder / "var" / "captures"
    assert not folder.exists()
    await command("capture", "adt", "--next", "1", "--reason", "their people ask", "-c", config)

    async def is_captured() -> bool:
        await exchange(address, secret)  # a retransmit: nothing new is stored
        return folder.exists() and len(list(folder.iterdir())) == 2

    await until_async(is_captured, patience=20)
    [raw] = folder.glob("*.raw")
    assert raw.read_bytes() == b"\x0b" + secret + b"\x1c\r"
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    events = [json.loads(line) for line in (await command("events", "--json", "-c", config)).splitlines()]
    assert [each["kind"] for each in events if each["kind"].startswith("capture")] == ["capture-asked", "capture-ended"]
    assert await gateway.stop() == 0
    assert b"SECRETNAME" not in site.log.read_bytes()


async def test_anomalies_of_the_last_second_are_written_when_the_gateway_stops(site: Site) -> None:
    await site.serve()
    config = site.config()
    gateway = await site.gateway(config)
    assert await say(gateway.ready["channels"]["adt"], b"\x00") == b""
    assert await gateway.stop() == 0
    output = await command("anomalies", "adt", "--json", "-c", str(config))
    assert [json.loads(line)["kind"] for line in output.splitlines()] == ["stray-nul"]
