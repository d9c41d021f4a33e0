"""The status pages over a real socket."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Mapping, Sequence

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from gateway.errors import OperatorError
from gateway.model.ids import ChannelName
from gateway.model.review import ChannelSummary, Halt
from gateway.observe import status
from gateway.observe.http import StatusServer
from gateway.observe.snapshot import Gauges
from tests.observe.lines import NOON, Watched

HALT = Halt(channel=ChannelName("lab"), partition=None, row=None, who="anna", why="x", since=0)


def summary(
    name: str, *, depth: int, oldest_at: int | None, in_review: int, halted: tuple[Halt, ...] = ()
) -> ChannelSummary:
    return ChannelSummary(
        channel=ChannelName(name),
        counts={},
        depth=depth,
        oldest_at=oldest_at,
        head=None,
        head_state=None,
        head_attempts=0,
        head_due=None,
        last_error=None,
        last_sequence=None,
        in_review=in_review,
        halted=halted,
    )


class World:
    """What the pages are told; changed by the tests."""

    def __init__(self) -> None:
        self.checks: dict[str, str | None] = {"intake": None, "bound": None}
        self.failed: str | None = None
        self.gauges = Gauges(
            connections={"adt": 3},
            links={"main": "live", "spare": "down"},
            leading={"main": True, "spare": False},
            certificates={"adt": {"cert": NOON + 90_000, "client-ca": NOON - 1_500}, "lab": {}},
            buffered_bytes=70_000,
            free_bytes=5_000,
        )
        self.trouble: Exception | None = None
        self.held: asyncio.Event | None = None

    def readiness(self) -> Mapping[str, str | None]:
        return self.checks

    async def summaries(self) -> Sequence[ChannelSummary]:
        if self.held is not None:
            await self.held.wait()
        if self.trouble is not None:
            raise self.trouble
        return [
            summary("adt", depth=4, oldest_at=NOON - 2_500, in_review=1),
            summary("lab", depth=0, oldest_at=None, in_review=0, halted=(HALT,)),
        ]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def client(world: World, watched: Watched) -> AsyncIterator[httpx.AsyncClient]:
    server = StatusServer(
        "127.0.0.1",
        0,
        observatory=watched.observatory,
        readiness=world.readiness,
        summaries=world.summaries,
        gauges=lambda: world.gauges,
        health=lambda: world.failed,
    )
    await server.start()
    async with httpx.AsyncClient(base_url=f"http://{server.address}") as client:
        yield client
    await server.stop()


def samples(page: str) -> dict[tuple[str, str], float]:
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


async def test_metrics_hold_counters_and_the_gauges_of_the_moment(client: httpx.AsyncClient, watched: Watched) -> None:
    watched.observatory.event("accepted", channel="adt", commit_seconds=0.001)
    answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    found = samples(answer.text)
    expected = {
        ("hl7_gateway_accepted_total", "adt"): 1,
        ("hl7_gateway_commit_seconds_count", "adt"): 1,
        ("hl7_gateway_store_readable", ""): 1,
        ("hl7_gateway_queue_depth", "adt"): 4,
        ("hl7_gateway_queue_oldest_seconds", "adt"): 2.5,
        ("hl7_gateway_queue_oldest_seconds", "lab"): 0,
        ("hl7_gateway_in_review", "adt"): 1,
        ("hl7_gateway_halted", "adt"): 0,
        ("hl7_gateway_halted", "lab"): 1,
        ("hl7_gateway_connections", "adt"): 3,
        ("hl7_gateway_buffered_bytes", ""): 70_000,
        ("hl7_gateway_certificate_expiry_seconds", "adt,cert"): 90,
        ("hl7_gateway_certificate_expiry_seconds", "adt,client-ca"): -1.5,
        ("hl7_gateway_link_live", "main"): 1,
        ("hl7_gateway_link_live", "spare"): 0,
        ("hl7_gateway_lease_held", "main"): 1,
        ("hl7_gateway_lease_held", "spare"): 0,
        ("hl7_gateway_free_bytes", ""): 5_000,
    }
    assert {key: found.get(key) for key in expected} == expected


async def test_a_scraper_that_asks_for_openmetrics_gets_it(client: httpx.AsyncClient) -> None:
    answer = await client.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert any(family.name == "hl7_gateway_queue_depth" for family in openmetrics(answer.text))  # type: ignore[no-untyped-call]  # the library leaves it untyped


async def test_a_store_that_cannot_be_read_costs_its_gauges_only(
    client: httpx.AsyncClient, world: World, watched: Watched
) -> None:
    world.trouble = ValueError("PID|1||ZZMARKERZZ")
    answer = await client.get("/metrics")
    found = samples(answer.text)
    assert answer.status_code == 200
    assert found["hl7_gateway_store_readable", ""] == 0
    assert ("hl7_gateway_queue_depth", "adt") not in found
    assert found["hl7_gateway_connections", "adt"] == 3
    assert "ZZMARKERZZ" not in answer.text + watched.text()


async def test_a_store_that_hangs_costs_its_gauges_only(
    client: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "PATIENCE", 0.01)
    world.held = asyncio.Event()
    assert samples((await client.get("/metrics")).text)["hl7_gateway_store_readable", ""] == 0


async def test_a_free_disk_nobody_knows_is_left_out(client: httpx.AsyncClient, world: World) -> None:
    world.gauges = Gauges()
    assert ("hl7_gateway_free_bytes", "") not in samples((await client.get("/metrics")).text)


async def test_healthz_says_that_the_process_lives_until_the_store_failed(
    client: httpx.AsyncClient, world: World
) -> None:
    answer = await client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"healthy": True, "reason": None})
    world.checks["intake"] = "low-space"
    assert (await client.get("/healthz")).status_code == 200
    world.failed = "disk I/O error"
    answer = await client.get("/healthz")
    assert (answer.status_code, answer.json()) == (503, {"healthy": False, "reason": "disk I/O error"})


async def test_readyz_says_what_is_missing_and_shows_links_and_leadership(
    client: httpx.AsyncClient, world: World
) -> None:
    answer = await client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {
        "ready": True,
        "checks": {"intake": None, "bound": None},
        "links": {"main": "live", "spare": "down"},
        "leading": {"main": True, "spare": False},
    }
    world.checks["bound"] = "channels are not bound yet"
    answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["ready"] is False
    assert answer.json()["checks"]["bound"] == "channels are not bound yet"


async def test_a_failed_store_is_not_ready_either(client: httpx.AsyncClient, world: World) -> None:
    world.failed = "disk I/O error"
    assert (await client.get("/readyz")).status_code == 503


async def test_a_reason_that_looks_like_content_is_not_shown(client: httpx.AsyncClient, world: World) -> None:
    world.checks["bound"] = "PID|1||ZZMARKERZZ"
    answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert "ZZMARKERZZ" not in answer.text


async def test_a_page_that_fails_is_an_answer_and_a_line(
    client: httpx.AsyncClient, world: World, watched: Watched
) -> None:
    world.checks = None  # type: ignore[assignment]  # on purpose
    answer = await client.get("/readyz")
    assert answer.status_code == 500
    assert watched.lines()[-1]["event"] == "status-page-failed"


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [("GET", "/", 404), ("GET", "/metrics/x", 404), ("POST", "/metrics", 405), ("DELETE", "/healthz", 405)],
)
async def test_everything_else_is_refused(method: str, path: str, code: int, client: httpx.AsyncClient) -> None:
    assert (await client.request(method, path)).status_code == code


async def test_head_has_no_body(client: httpx.AsyncClient) -> None:
    answer = await client.head("/healthz")
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > 0


async def test_a_page_is_not_cached_and_tells_nothing_of_the_server(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz")
    assert answer.headers["cache-control"] == "no-store"
    assert "server" not in answer.headers


def lonely(watched: Watched, host: str, port: int) -> StatusServer:
    world = World()
    return StatusServer(
        host, port, observatory=watched.observatory, readiness=world.readiness, summaries=world.summaries
    )


async def test_a_taken_port_is_named(watched: Watched) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            OperatorError, match=rf"metrics.listen: cannot listen on 127.0.0.1 port {port}: the port is taken"
        ):
            await lonely(watched, "127.0.0.1", port).start()


@pytest.mark.parametrize(
    ("host", "reason"), [("192.0.2.1", "Cannot assign"), ("no-such-host.invalid", "the host name is not known")]
)
async def test_an_address_that_cannot_be_bound_is_named(host: str, reason: str, watched: Watched) -> None:
    with pytest.raises(OperatorError, match=f"metrics.listen: cannot listen on {host} port 1: {reason}"):
        await lonely(watched, host, 1).start()


async def test_the_address_is_known_once_started_and_the_port_is_free_after_the_stop(watched: Watched) -> None:
    server = lonely(watched, "::1", 0)
    with pytest.raises(RuntimeError, match="not started"):
        assert server.address
    await server.stop()
    await server.start()
    host, _, port = server.address.rpartition(":")
    assert host == "[::1]"
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"http://{server.address}/healthz")).json()["healthy"] is True
    await server.stop()
    again = lonely(watched, "::1", int(port))
    await again.start()
    await again.stop()


async def test_signals_stay_the_programs(watched: Watched) -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    server = lonely(watched, "127.0.0.1", 0)
    await server.start()
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
    await server.stop()


async def test_a_stop_does_not_wait_for_an_idle_client(watched: Watched) -> None:
    server = lonely(watched, "127.0.0.1", 0)
    await server.start()
    host, _, port = server.address.partition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    async with asyncio.timeout(10):
        await server.stop()
    writer.close()
