import asyncio

import pytest

from gateway.model.upstream import LinkLost
from gateway.upstream import address
from gateway.upstream.mailbox import Mailbox
from tests.upstream.relay import relaying
from tests.upstream.world import World, callback, linked, message, named, outcome, serving


async def test_a_link_that_was_never_opened_is_down() -> None:
    world = World("ws://127.0.0.1:1/")
    assert world.link.state == "down"
    assert world.link.last_error is None
    await world.link.close()


async def test_closing_completes_every_unanswered_send_and_says_goodbye() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        future = connection.transmit(message())
        await world.link.close()
        assert future.result() == LinkLost(too_large=False)
        assert not connection.is_live
        assert world.link.state == "down"
        await peer.gone()
        assert peer.socket.close_code == 1000


async def test_closing_ends_a_rest_between_two_tries() -> None:
    async with linked("ws://127.0.0.1:1/", reconnect_initial=3600.0, reconnect_max=3600.0) as world:
        await world.events.wait("link-resting")
        await world.link.close()
        assert world.link.state == "down"


async def test_closing_does_not_wait_for_a_peer_that_reads_nothing() -> None:
    async with serving() as server, relaying(server.port) as relay, linked(relay.url) as world:
        await server.welcome()
        connection = await world.live()
        relay.flows.clear()
        future = connection.transmit(message(body="x" * (8 << 20)))
        async with asyncio.timeout(5):
            await world.link.close()
        assert future.result() == LinkLost(too_large=False)


async def test_a_link_opened_again_bears_the_new_epoch_and_counts_on() -> None:
    async with serving() as server, linked(server.url, epoch=1) as world:
        await server.welcome()
        await world.live()
        await world.link.close()
        await world.link.open(epoch=2)
        peer = await server.accept()
        assert (await peer.greet())["epoch"] == 2
        connection = await world.live()
        assert connection.number == 2
        connection.transmit(message())
        assert (await peer.hear())["epoch"] == 2


async def test_opening_twice_leaves_one_connection() -> None:
    async with serving() as server, linked(server.url, epoch=1) as world:
        first = await server.welcome()
        await world.live()
        await world.link.open(epoch=2)
        await first.gone()
        await server.welcome()
        assert (await world.live()).number == 2


async def test_waiting_for_a_later_connection_passes_over_the_one_at_hand() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        first = await world.live()
        waiting = asyncio.ensure_future(world.live(after=first.number))
        assert await world.live() is first
        assert not waiting.done()
        peer.cut()
        await server.welcome()
        assert (await waiting).number == 2


async def test_several_may_wait_for_the_same_connection() -> None:
    async with serving() as server, linked(server.url) as world:
        waiting = [asyncio.ensure_future(world.live()) for _ in range(5)]
        await server.welcome()
        assert {(await each).number for each in waiting} == {1}


async def test_answers_nobody_reads_are_bounded_and_the_oldest_go() -> None:
    async with serving() as server, linked(server.url, stray_limit=2) as world:
        peer = await server.welcome()
        for row in range(4):
            await peer.answer(named(row), statusCode=200)
        await world.events.wait("stray-answer", 4)
        assert len(world.events.of("stray-dropped")) == 2
        assert [(await world.link.stray()).callback for _ in range(2)] == [callback(2), callback(3)]


async def test_receipts_nobody_reads_are_bounded_too() -> None:
    async with serving() as server, linked(server.url, stray_limit=1) as world:
        peer = await server.welcome()
        for row in range(3):
            await peer.say("gateway:receipt", callback=named(row))
        await world.events.wait("receipt-dropped", 2)
        assert await world.link.receipt() == callback(2)


async def test_giving_up_a_read_loses_nothing() -> None:
    box = Mailbox[int](limit=5, dropped=lambda: None)
    reading = asyncio.ensure_future(box.take())
    await asyncio.wait([reading], timeout=0)
    reading.cancel()
    box.put(1)
    await asyncio.wait([reading])
    box.put(2)
    assert [await box.take(), await box.take()] == [1, 2]


async def test_a_defect_is_not_hidden_behind_an_endless_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> str:
        raise RuntimeError("a defect")

    monkeypatch.setattr(address, "socket_url", broken)
    async with linked("ws://127.0.0.1:1/") as world:
        with pytest.raises(RuntimeError, match="a defect"):
            await world.live()
        assert world.link.state == "down"
        assert [each["error"] for each in world.events.of("link-defect")] == ["RuntimeError"]


async def test_events_name_the_upstream_and_hold_no_content() -> None:
    async with serving() as server, linked(server.url, response_timeout=0.02, token="t0ken") as world:
        peer = await server.welcome()
        connection = await world.live()
        await outcome(connection.transmit(message(body="MSH|PATIENT")))
        await peer.answer(named(), body="MSH|PATIENT")
        await peer.say("agent:error", body="PATIENT")
        await peer.say("PATIENT", callback="PATIENT")
        await peer.say("agent:error", callback="PATIENT", body="PATIENT")
        await peer.socket.close(1011, "PATIENT")
        await world.events.wait("link-down")
        assert {facts["upstream"] for _, facts in world.events.all} == {"main"}
        assert "PATIENT" not in repr(world.events.all)
        assert "t0ken" not in repr(world.events.all)
