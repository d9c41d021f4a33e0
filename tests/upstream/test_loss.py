"""What the link says of sends when the connection goes: provably unsent, or in doubt, and nothing between."""

import asyncio

import pytest

from gateway.errors import NotLive
from gateway.model.upstream import Answer, LinkLost, Silence
from tests.upstream.relay import relaying
from tests.upstream.world import TLS, callback, linked, message, named, outcome, serving

BIG = "MSH|^~\\&|A\r" + "x" * (8 << 20)


async def test_sends_on_a_cut_connection_are_lost_and_not_too_large() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        futures = [connection.transmit(message(row)) for row in range(3)]
        await peer.hear()
        peer.cut()
        assert [await outcome(future) for future in futures] == [LinkLost(too_large=False)] * 3
    (doubt,) = world.events.of("sends-in-doubt")
    assert doubt["count"] == 3


@pytest.mark.parametrize("tls", [False, True])
async def test_a_send_while_the_connection_closes_is_not_live(tls: bool) -> None:
    ca_file = TLS / "server.pem" if tls else None
    async with serving(tls=tls) as server, linked(server.url, ca_file=ca_file) as world:
        peer = await server.welcome()
        connection = await world.live()
        closing = asyncio.ensure_future(peer.socket.close(1001))
        await world.events.wait("link-down")
        assert not connection.is_live
        with pytest.raises(NotLive):
            connection.transmit(message())
        await closing
        with pytest.raises(NotLive):
            await connection.prepare()


async def test_a_send_the_socket_refuses_is_not_live_though_nobody_noticed_the_loss_yet() -> None:
    async with serving() as server, relaying(server.port) as relay, linked(relay.url) as world:
        await server.welcome()
        connection = await world.live()
        relay.pairs[0].reset()
        # The loop has not turned since: to the link the connection looks alive.
        assert connection.is_live
        with pytest.raises(NotLive):
            connection.transmit(message())
        assert connection.in_flight == 0
        await world.events.wait("link-down")
    assert world.events.of("sends-in-doubt") == []


async def test_a_send_behind_bytes_that_wait_is_in_doubt_when_the_connection_breaks() -> None:
    async with serving() as server, relaying(server.port) as relay, linked(relay.url) as world:
        await server.welcome()
        connection = await world.live()
        relay.flows.clear()
        first = connection.transmit(message(1, body=BIG))
        relay.pairs[0].reset()
        second = connection.transmit(message(2))
        assert [await outcome(each) for each in (first, second)] == [LinkLost(too_large=False)] * 2


async def test_a_frame_cut_in_the_middle_is_in_doubt() -> None:
    async with serving() as server, relaying(server.port) as relay, linked(relay.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        relay.cut_after = 50_000
        assert await outcome(connection.transmit(message(body=BIG))) == LinkLost(too_large=False)
        await peer.gone()


async def test_a_half_closed_connection_is_gone() -> None:
    async with serving() as server, relaying(server.port) as relay, linked(relay.url) as world:
        await server.welcome()
        connection = await world.live()
        future = connection.transmit(message())
        relay.pairs[0].half_close()
        assert await outcome(future) == LinkLost(too_large=False)
        with pytest.raises(NotLive):
            connection.transmit(message(2))
        await server.welcome()
        assert (await world.live(after=1)).number == 2


async def test_a_close_with_1009_names_the_only_send_as_too_large() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        future = (await world.live()).transmit(message())
        await peer.hear()
        await peer.socket.close(1009)
        assert await outcome(future) == LinkLost(too_large=True)


async def test_a_server_with_a_size_limit_names_the_only_send_as_too_large() -> None:
    async with serving(max_size=1000) as server, linked(server.url) as world:
        await server.welcome()
        future = (await world.live()).transmit(message(body="x" * 1000))
        assert await outcome(future) == LinkLost(too_large=True)


async def test_a_close_with_1009_names_nobody_while_two_are_unanswered() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        futures = [connection.transmit(message(row)) for row in (1, 2)]
        await peer.hear()
        await peer.socket.close(1009)
        assert [await outcome(each) for each in futures] == [LinkLost(too_large=False)] * 2


async def test_a_timed_out_send_keeps_1009_from_naming_anybody() -> None:
    async with serving() as server, linked(server.url, response_timeout=0.3) as world:
        peer = await server.welcome()
        connection = await world.live()
        assert await outcome(connection.transmit(message(1))) == Silence()
        future = connection.transmit(message(2))
        await peer.socket.close(1009)
        assert await outcome(future) == LinkLost(too_large=False)


async def test_another_close_code_is_no_verdict_on_the_size() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        future = (await world.live()).transmit(message())
        await peer.hear()
        await peer.socket.close(1011)
        assert await outcome(future) == LinkLost(too_large=False)


async def test_our_own_1009_is_no_verdict_on_the_send() -> None:
    async with serving() as server, linked(server.url, max_size=1000) as world:
        peer = await server.welcome()
        future = (await world.live()).transmit(message())
        await peer.hear()
        await peer.answer(named(), body="x" * 2000)
        assert await outcome(future) == LinkLost(too_large=False)
        await peer.gone()
        assert peer.socket.close_code == 1009


async def test_the_response_timeout_runs_from_when_the_frame_has_left_the_write_buffer() -> None:
    async with (
        serving() as server,
        relaying(server.port) as relay,
        linked(relay.url, response_timeout=0.05) as world,
    ):
        peer = await server.welcome()
        connection = await world.live()
        relay.flows.clear()
        future = connection.transmit(message(body=BIG))
        # Six timeouts long the frame stands in the buffer: nobody may say that the server is silent.
        assert await asyncio.wait((future,), timeout=0.3) == (set(), {future})
        relay.flows.set()
        assert (await peer.hear_of("agent:transmit:request"))["callback"] == named()
        assert await outcome(future) == Silence()


async def test_a_frame_has_left_though_the_next_one_still_waits() -> None:
    async with (
        serving() as server,
        relaying(server.port) as relay,
        linked(relay.url, response_timeout=0.01) as world,
    ):
        await server.welcome()
        connection = await world.live()
        relay.drip = 65_536
        first, second = connection.transmit(message(1, body=BIG)), connection.transmit(message(2, body=BIG * 3))
        assert await outcome(first) == Silence()
        assert connection._pipe.buffered > 0
        assert not second.done()


@pytest.mark.parametrize("tls", [False, True])
async def test_nothing_is_written_to_a_pipe_that_is_not_open(tls: bool) -> None:
    ca_file = TLS / "server.pem" if tls else None
    async with serving(tls=tls) as server, linked(server.url, ca_file=ca_file) as world:
        peer = await server.welcome()
        connection = await world.live()
        peer.cut()
        await world.events.wait("link-down")
        with pytest.raises(NotLive):
            connection._pipe.write("{}")


async def test_an_answer_in_the_same_moment_as_a_long_frame_leaves_is_not_silence() -> None:
    async with (
        serving() as server,
        relaying(server.port) as relay,
        linked(relay.url, response_timeout=5.0) as world,
    ):
        peer = await server.welcome()
        connection = await world.live()
        relay.flows.clear()
        future = connection.transmit(message(body=BIG))
        behind = connection.transmit(message(2))
        relay.flows.set()
        for row in (1, 2):
            await peer.hear_of("agent:transmit:request")
            await peer.answer(named(row), statusCode=200)
        assert isinstance(await outcome(future), Answer)
        assert isinstance(await outcome(behind), Answer)
        assert connection.in_flight == 0
        # Nothing is left behind that could ring later.
        assert connection._patience._clocks == {}
        assert world.events.of("response-timeout") == []


async def test_an_answer_on_a_later_connection_is_a_stray() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        future = (await world.live()).transmit(message())
        await peer.hear()
        peer.cut()
        assert await outcome(future) == LinkLost(too_large=False)
        peer = await server.welcome()
        await peer.answer(named(), statusCode=200)
        assert (await world.link.stray()).callback == callback()
