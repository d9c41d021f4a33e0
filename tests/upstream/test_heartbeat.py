from gateway import __version__
from gateway.model.upstream import Answer
from tests.upstream.relay import relaying
from tests.upstream.world import linked, message, named, outcome, serving


async def test_a_heartbeat_is_asked_for_at_every_interval() -> None:
    async with serving() as server, linked(server.url, heartbeat_interval=0.01) as world:
        peer = await server.welcome()
        connection = await world.live()
        for _ in range(5):
            assert await peer.hear() == {"type": "agent:heartbeat:request"}
            await peer.say("agent:heartbeat:response", version="1")
        assert connection.is_live


async def test_a_heartbeat_of_the_server_is_answered_at_once_with_our_version() -> None:
    async with serving() as server, linked(server.url):
        peer = await server.welcome()
        await peer.say("agent:heartbeat:request")
        assert await peer.hear() == {"type": "agent:heartbeat:response", "version": __version__}


async def test_two_missed_heartbeats_close_the_connection_and_it_comes_back() -> None:
    async with serving() as server, linked(server.url, heartbeat_interval=0.02, heartbeat_quiet=0.03) as world:
        peer = await server.welcome()
        connection = await world.live()
        await peer.gone()
        await world.events.wait("link-down")
        assert [each["count"] for each in world.events.of("heartbeat-missed")] == [1, 2]
        (down,) = world.events.of("link-down")
        assert (down["step"], down["reason"]) == ("heartbeat", "nothing moved in either direction")
        assert not connection.is_live
        await server.welcome()
        assert (await world.live(after=1)).is_live


async def test_a_server_that_is_frozen_while_its_machine_still_takes_bytes_is_found_out() -> None:
    async with (
        serving() as server,
        relaying(server.port) as relay,
        linked(relay.url, heartbeat_interval=0.02, heartbeat_quiet=0.03) as world,
    ):
        await server.welcome()
        await world.live()
        relay.swallows = True
        (down,) = await world.events.wait("link-down")
        assert down["step"] == "heartbeat"


async def test_one_missed_heartbeat_is_forgiven() -> None:
    async with serving() as server, linked(server.url, heartbeat_interval=0.1, heartbeat_quiet=0.15) as world:
        peer = await server.welcome()
        connection = await world.live()
        for count in (1, 2, 3):
            await world.events.wait("heartbeat-missed", count)
            await peer.say("agent:heartbeat:response", version="1")
        assert [each["count"] for each in world.events.of("heartbeat-missed")] == [1, 1, 1]
        assert connection.is_live


async def test_a_part_of_a_frame_is_a_sign_of_life() -> None:
    async with serving() as server, linked(server.url, heartbeat_interval=0.02, heartbeat_quiet=0.03) as world:
        peer = await server.welcome()
        connection = await world.live()
        peer.socket.transport.write(b"\x81\x7e\x10\x00")  # the head of a text frame of 4,096 bytes
        for _ in range(10):
            await peer.hear_of("agent:heartbeat:request")
            peer.socket.transport.write(b"{")
        assert connection.is_live


async def test_a_slow_upload_is_a_sign_of_life_though_no_heartbeat_is_answered() -> None:
    async with (
        serving() as server,
        relaying(server.port) as relay,
        linked(relay.url, heartbeat_interval=0.05, heartbeat_quiet=0.2) as world,
    ):
        peer = await server.welcome()
        connection = await world.live()
        relay.drip = 65_536
        future = connection.transmit(message(body="x" * (8 << 20)))
        assert (await peer.hear_of("agent:transmit:request"))["callback"] == named()
        await peer.answer(named(), statusCode=200)
        assert isinstance(await outcome(future), Answer)
        assert connection.is_live


async def test_an_upload_that_stands_still_is_no_sign_of_life() -> None:
    async with (
        serving() as server,
        relaying(server.port) as relay,
        linked(relay.url, heartbeat_interval=0.05, heartbeat_quiet=0.08) as world,
    ):
        await server.welcome()
        connection = await world.live()
        relay.flows.clear()
        connection.transmit(message(body="x" * (8 << 20)))
        (down,) = await world.events.wait("link-down")
        assert down["step"] == "heartbeat"
