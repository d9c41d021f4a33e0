"""A gateway as its users run it: started, fed, looked at, killed, stopped."""

import asyncio
import json
import signal
import socket
import sys
from pathlib import Path

import httpx
import pytest

from tests.processes import command
from tests.system.site import Site, exchange, message
from tests.waiting import until_async

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"


async def test_a_message_is_acknowledged_delivered_and_settled(site: Site) -> None:
    await site.serve()
    config = site.config()
    gateway = await site.gateway(config)
    payload = (FIXTURES / "adt-a01.hl7").read_bytes()
    answers = await exchange(gateway.ready["channels"]["adt"], payload)
    assert b"MSA|AA|" in answers[0]
    rows = await site.settled(config, 1)
    assert [row["state"] for row in rows] == ["processed"]
    assert await command("show", rows[0]["id"], "--raw", "-c", str(config)) == payload
    assert [line["channel"] for line in site.taken()] == ["adt"]
    assert await gateway.stop() == 0


async def test_a_stop_with_a_silent_client_ends_in_time_and_frees_the_port(site: Site) -> None:
    await site.serve()
    gateway = await site.gateway(site.config())
    host, _, port = gateway.ready["channels"]["adt"].rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    async with asyncio.timeout(8):
        assert await gateway.stop() == 0
    with socket.create_server((host, int(port))):
        pass
    writer.close()


async def test_a_taken_port_is_named_and_nothing_is_started(site: Site) -> None:
    await site.serve()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = site.config(port=port)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway", "run", "-c", str(config)),
            stderr=asyncio.subprocess.PIPE,
            cwd=FIXTURES.parent,
        )
        _, errors = await process.communicate()
    assert process.returncode == 3
    for word in (b"adt", b"127.0.0.1", str(port).encode()):
        assert word in errors
    assert b"Traceback" not in errors


async def test_what_is_queued_survives_and_goes_on_in_order(site: Site) -> None:
    server = await site.serve()
    config = site.config()
    gateway = await site.gateway(config)
    address = gateway.ready["channels"]["adt"]
    await server.kill()
    answers = await exchange(address, *(message(f"Q{number}") for number in range(20)))
    assert all(b"MSA|AA|" in answer for answer in answers)
    await gateway.kill()
    host, _, port = server.ready["url"].split("/")[2].rpartition(":")
    await site.serve(listen=f"{host}:{port}")
    await site.gateway(config)
    rows = await site.settled(config, 20)
    assert {row["state"] for row in rows} == {"processed"}
    bodies = [line["body"].split("|") for line in site.taken()]
    assert [fields[9] for fields in bodies] == [f"Q{number}" for number in range(20)]
    assert [fields[12].split("\r")[0] for fields in bodies] == [str(number) for number in range(1, 21)]


async def test_health_readiness_and_metrics_are_served(site: Site) -> None:
    await site.serve()
    gateway = await site.gateway(site.config())
    await exchange(gateway.ready["channels"]["adt"], message("H1"))
    async with httpx.AsyncClient(base_url=f"http://{gateway.ready['metrics']}") as client:
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/readyz")).status_code == 200
        metrics = (await client.get("/metrics")).text
    assert 'hl7_gateway_accepted_total{channel="adt"} 1.0' in metrics


async def test_a_late_answer_settles_its_own_row_and_no_other(site: Site) -> None:
    site.script = {"L1": {"delay": 1.0}}
    site.upstream = "response_timeout = 0.5"
    await site.serve()
    config = site.config()
    gateway = await site.gateway(config)
    await exchange(gateway.ready["channels"]["adt"], message("L1"), message("L2"))

    async def both_processed() -> bool:
        return [row["state"] for row in await site.rows(config)] == ["processed", "processed"]

    await until_async(both_processed, patience=20)
    events = [json.loads(line) for line in (await command("events", "--json", "-c", str(config))).splitlines()]
    kinds = [event["kind"] for event in events]
    assert "in-doubt" in kinds
    assert "late-accept" in kinds


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_every_signal_to_stop_stops_in_order(site: Site, number: signal.Signals) -> None:
    await site.serve()
    gateway = await site.gateway(site.config())
    gateway.process.send_signal(number)
    async with asyncio.timeout(8):
        assert await gateway.process.wait() == 0
    assert '"event":"stopped"' in site.log.read_text()
