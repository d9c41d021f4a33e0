import asyncio

from gateway.upstream.reconnect import Backoff
from tests.upstream.world import World, linked, message, named, outcome, serving


def waits(backoff: Backoff, count: int) -> list[float]:
    found = []
    for _ in range(count):
        backoff.failed()
        found.append(backoff.wait(None))  # type: ignore[arg-type]  # the state of tenacity is not looked at
    return found


def test_the_wait_doubles_from_one_second_to_thirty() -> None:
    assert waits(Backoff(initial=1.0, longest=30.0, roll=lambda: 1.0), 8) == [1, 2, 4, 8, 16, 30, 30, 30]


def test_the_jitter_is_full() -> None:
    assert waits(Backoff(initial=1.0, longest=30.0, roll=lambda: 0.0), 3) == [0, 0, 0]
    assert waits(Backoff(initial=1.0, longest=30.0, roll=lambda: 0.25), 3) == [0.25, 0.5, 1]


def test_a_thousand_failures_still_give_a_wait() -> None:
    assert waits(Backoff(initial=1.0, longest=30.0, roll=lambda: 1.0), 1000)[-1] == 30


def test_a_connection_that_proved_itself_starts_the_count_again() -> None:
    backoff = Backoff(initial=1.0, longest=30.0, roll=lambda: 1.0)
    waits(backoff, 4)
    backoff.proved()
    assert waits(backoff, 2) == [1, 2]


def rests(world: World) -> list[object]:
    return [each["seconds"] for each in world.events.of("link-resting")]


async def test_a_server_that_closes_after_every_greeting_is_left_in_peace() -> None:
    async with serving() as server, linked(server.url, roll=lambda: 1.0) as world:
        for count in range(4):
            peer = await server.welcome()
            await world.live(after=count)
            peer.cut()
        await world.events.wait("link-resting", 4)
        assert rests(world) == [0.01, 0.02, 0.04, 0.05]


async def test_a_connection_that_brought_an_answer_is_replaced_soon() -> None:
    async with serving() as server, linked(server.url, roll=lambda: 1.0) as world:
        for count in range(3):
            peer = await server.welcome()
            future = (await world.live(after=count)).transmit(message(count))
            await peer.answer(named(count), statusCode=200)
            await outcome(future)
            peer.cut()
        await world.events.wait("link-resting", 3)
        assert rests(world) == [0.01, 0.01, 0.01]


async def test_a_connection_that_lived_long_is_replaced_soon() -> None:
    async with serving() as server, linked(server.url, roll=lambda: 1.0, reconnect_max=0.02) as world:
        for count in range(4):
            peer = await server.welcome()
            connection = await world.live(after=count)
            # It outlives the longest wait, which is watched from here by the loop's own clock.
            await asyncio.wait([asyncio.ensure_future(peer.gone())], timeout=0.04)
            assert connection.is_live
            peer.cut()
        await world.events.wait("link-resting", 4)
        assert rests(world) == [0.01, 0.01, 0.01, 0.01]
