import asyncio

from gateway.model.upstream import Answer, Known, StatusResult, Unattributed
from tests.upstream.world import callback, linked, message, named, outcome, serving


async def test_what_the_server_knows_is_told() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome(extensions=["status"])
        connection = await world.live()
        asking = asyncio.ensure_future(connection.status([callback(row) for row in (1, 2, 3)]))
        assert await peer.hear() == {"type": "gateway:status:request", "callbacks": [named(row) for row in (1, 2, 3)]}
        await peer.say(
            "gateway:status:response",
            results=[
                {"callback": named(1), "state": "done", "statusCode": 404},
                {"callback": named(2), "state": "running"},
                {"callback": named(3), "state": "unknown"},
            ],
        )
        done, running, unknown = await asking or ()
    assert (done.known, running, unknown) == (
        Known.DONE,
        StatusResult(callback=callback(2), known=Known.RUNNING, answer=None),
        StatusResult(callback=callback(3), known=Known.UNKNOWN, answer=None),
    )
    assert isinstance(done.answer, Answer)
    assert done.answer.status == 404


async def test_a_server_that_did_not_grant_it_is_not_asked() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome(extensions=["dedupe"])
        connection = await world.live()
        assert await connection.status([callback()]) is None
        connection.transmit(message())
        assert (await peer.hear())["type"] == "agent:transmit:request"


async def test_nothing_is_asked_about_nothing() -> None:
    async with serving() as server, linked(server.url) as world:
        await server.welcome(extensions=["status"])
        assert await (await world.live()).status([]) == ()


async def test_no_answer_in_time_counts_as_not_granted_and_is_not_waited_for_again() -> None:
    async with serving() as server, linked(server.url, status_timeout=0.03) as world:
        peer = await server.welcome(extensions=["status"])
        connection = await world.live()
        assert await connection.status([callback()]) is None
        assert await connection.status([callback()]) is None
        assert connection.is_live
        connection.transmit(message())
        assert [(await peer.hear())["type"] for _ in range(2)] == ["gateway:status:request", "agent:transmit:request"]
    assert len(world.events.of("status-unanswered")) == 1


async def test_the_end_of_the_connection_ends_the_question() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome(extensions=["status"])
        connection = await world.live()
        asking = asyncio.ensure_future(connection.status([callback()]))
        await peer.hear()
        peer.cut()
        async with asyncio.timeout(5):
            assert await asking is None
        assert await connection.status([callback()]) is None


async def test_a_response_to_another_question_is_not_taken_for_this_one() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome(extensions=["status"])
        connection = await world.live()
        asking = asyncio.ensure_future(connection.status([callback(1)]))
        await peer.hear()
        await peer.say("gateway:status:response", results=[{"callback": named(2), "state": "unknown"}])
        await world.events.wait("frame-unexpected")
        assert not asking.done()
        await peer.say("gateway:status:response", results=[{"callback": named(1), "state": "running"}])
        (result,) = await asking or ()
        assert result.known is Known.RUNNING


async def test_questions_of_several_channels_take_turns() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome(extensions=["status"])
        connection = await world.live()
        asking = [asyncio.ensure_future(connection.status([callback(row)])) for row in range(3)]
        for row in range(3):
            assert (await peer.hear())["callbacks"] == [named(row)]
            await peer.say("gateway:status:response", results=[{"callback": named(row), "state": "unknown"}])
        results = [await each for each in asking]
    assert [result[0].callback for result in results if result] == [callback(row) for row in range(3)]


async def test_an_error_that_names_nothing_is_not_pinned_on_a_send_while_a_question_is_open() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome(extensions=["status"])
        connection = await world.live()
        future = connection.transmit(message(1))
        asking = asyncio.ensure_future(connection.status([callback(2)]))
        await peer.hear_of("gateway:status:request")
        await peer.say("agent:error", body="which one?")
        await world.events.wait("error-without-callback")
        assert not future.done()
        await peer.say("gateway:status:response", results=[])
        assert await asking == ()
        await peer.say("agent:error", body="the send")
        assert await outcome(future) == Unattributed(body="the send")
