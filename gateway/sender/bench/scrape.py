"""Reads the gateway's own counters from its status server."""

import asyncio
from collections.abc import Mapping

from gateway.sender.bench.options import BenchFailed

_PATIENCE = 10.0
COMMITS = "hl7_gateway_store_commits_total"
DEPTH = "hl7_gateway_queue_depth"
CONNECTIONS = "hl7_gateway_connections"
LINK = "hl7_gateway_link_live"


def event(name: str) -> str:
    """Name the counter of one event."""
    return f'hl7_gateway_events_total{{event="{name}"}}'


async def scrape(address: str) -> Mapping[str, float]:
    """Give every sample of /metrics by its name and labels. Raises BenchFailed."""
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(_PATIENCE):
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
            try:
                writer.write(b"GET /metrics HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
                answer = await reader.read()
            finally:
                writer.close()
    except (OSError, TimeoutError) as trouble:
        raise BenchFailed(f"the gateway's metrics cannot be read ({type(trouble).__name__})") from trouble
    return samples(answer.partition(b"\r\n\r\n")[2].decode())


def samples(page: str) -> dict[str, float]:
    """Read a page of metrics; lines that are no sample are left out."""
    found: dict[str, float] = {}
    for line in page.splitlines():
        name, space, value = line.rpartition(" ")
        if space and not line.startswith("#"):
            found[name] = float(value)
    return found


def total(found: Mapping[str, float], name: str) -> float:
    """Add up one metric over its labels."""
    return sum(value for key, value in found.items() if key == name or key.startswith(name + "{"))
