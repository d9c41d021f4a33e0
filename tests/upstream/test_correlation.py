import asyncio
from uuid import UUID

import pytest

from gateway.errors import BugError, NotLive
from gateway.model.upstream import Answer, ErrorAnswer, LinkLost, Msa, Silence, StrayAnswer, Unattributed
from gateway.upstream import correlation
from gateway.upstream.correlation import Correlation
from tests.upstream.world import callback, linked, message, named, outcome, serving


async def test_a_send_carries_everything_the_server_needs() -> None:
    async with serving() as server, linked(server.url, epoch=9, token="secret") as world:
        peer = await server.welcome()
        (await world.live()).transmit(message(5, send=3, body="MSH|é|日本"))
        assert await peer.hear() == {
            "type": "agent:transmit:request",
            "accessToken": "secret",
            "channel": "adt",
            "remote": "10.0.0.9:4711",
            "contentType": "x-application/hl7-v2+er7",
            "body": "MSH|é|日本",
            "callback": f"Agent/demo-{UUID(int=5)}#0.3",
            "epoch": 9,
        }


async def test_an_answer_settles_its_send() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        future = connection.transmit(message())
        assert connection.in_flight == 1
        await peer.answer(named(), body="MSH|^~\\&|||||||ACK|9|P|2.5\rMSA|AA|M1\r", statusCode=201)
        answer = await outcome(future)
        assert connection.in_flight == 0
        assert connection._patience._clocks == {}
    assert isinstance(answer, Answer)
    assert answer.status == 201
    assert answer.msa == Msa(code="AA", control_id="M1", errors=())


async def test_answers_out_of_order_reach_their_own_sends() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        futures = [connection.transmit(message(row)) for row in range(20)]
        assert connection.in_flight == 20
        for row in reversed(range(20)):
            await peer.answer(named(row), statusCode=200 + row)
        answers = [await outcome(future) for future in futures]
    assert [each.status for each in answers if isinstance(each, Answer)] == [200 + row for row in range(20)]


async def test_an_error_with_a_callback_settles_its_send() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        first, second = connection.transmit(message(1)), connection.transmit(message(2))
        await peer.say("agent:error", callback=named(2), body="no")
        assert await outcome(second) == ErrorAnswer(body="no")
        assert not first.done()


async def test_the_second_of_two_answers_is_a_stray() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        future = (await world.live()).transmit(message())
        await peer.answer(named(), statusCode=200)
        await peer.answer(named(), statusCode=500)
        answer = await outcome(future)
        stray = await world.link.stray()
    assert isinstance(answer, Answer)
    assert answer.status == 200
    assert stray.callback == callback()
    assert isinstance(stray.outcome, Answer)
    assert stray.outcome.status == 500
    assert len(world.events.of("stray-answer")) == 1


async def test_silence_is_told_and_the_late_answer_is_a_stray() -> None:
    async with serving() as server, linked(server.url, response_timeout=0.03) as world:
        peer = await server.welcome()
        connection = await world.live()
        assert await outcome(connection.transmit(message())) == Silence()
        assert connection.is_live
        assert connection.in_flight == 0
        await peer.say("agent:error", callback=named(), body="late")
        assert await world.link.stray() == StrayAnswer(callback=callback(), outcome=ErrorAnswer(body="late"))
    assert len(world.events.of("response-timeout")) == 1


async def test_an_answer_nobody_waits_for_any_more_is_a_stray() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        future = connection.transmit(message())
        future.cancel()
        assert connection.in_flight == 0
        await peer.answer(named(), statusCode=200)
        assert (await world.link.stray()).callback == callback()


async def test_an_answer_to_another_send_of_the_row_is_a_stray() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        future = (await world.live()).transmit(message(1, send=2))
        await peer.answer(named(1, send=1), statusCode=200)
        assert (await world.link.stray()).callback == callback(1, send=1)
        assert not future.done()


@pytest.mark.parametrize("foreign", ["hello", "Agent/demo-1#1", "", None, 7])
async def test_an_answer_with_an_unreadable_callback_is_dropped_and_counted(foreign: object) -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        future = (await world.live()).transmit(message())
        await peer.say("agent:transmit:response", callback=foreign, statusCode=200)
        await world.events.wait("answer-unknown")
        assert not future.done()


@pytest.mark.parametrize("frame", ["no json", "[1]", '{"type": 1}', b"\xff\xfe"])
async def test_a_broken_frame_is_counted_and_costs_nothing(frame: str | bytes) -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        future = (await world.live()).transmit(message())
        await peer.socket.send(frame)
        await world.events.wait("frame-invalid")
        await peer.answer(named(), statusCode=200)
        assert isinstance(await outcome(future), Answer)


async def test_answers_right_before_the_end_of_the_connection_are_not_lost() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        futures = [connection.transmit(message(row)) for row in range(30)]
        for row in range(30):
            await peer.answer(named(row), statusCode=200)
        await peer.socket.close()
        outcomes = [await outcome(future) for future in futures]
    assert all(isinstance(each, Answer) for each in outcomes)


async def test_an_error_that_names_nothing_is_pinned_on_the_only_unanswered_send() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        answered = connection.transmit(message(1))
        await peer.answer(named(1), statusCode=200)
        await outcome(answered)
        future = connection.transmit(message(2))
        await peer.say("agent:error", body="unknown channel")
        assert await outcome(future) == Unattributed(body="unknown channel")
        assert connection.in_flight == 0
    assert [each["attributed"] for each in world.events.of("error-without-callback")] == [True]


async def test_an_error_that_names_nothing_is_pinned_on_nobody_while_two_are_unanswered() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        futures = [connection.transmit(message(row)) for row in (1, 2)]
        await peer.say("agent:error", body="oops")
        await world.events.wait("error-without-callback")
        assert not any(future.done() for future in futures)
    assert [each["attributed"] for each in world.events.of("error-without-callback")] == [False]


async def test_a_timed_out_send_counts_as_unanswered_for_an_error_that_names_nothing() -> None:
    async with serving() as server, linked(server.url, response_timeout=0.3) as world:
        peer = await server.welcome()
        connection = await world.live()
        assert await outcome(connection.transmit(message(1))) == Silence()
        second = connection.transmit(message(2))
        await peer.say("agent:error", body="oops")
        await world.events.wait("error-without-callback")
        assert not second.done()
        assert await outcome(second) == Silence()


async def test_an_error_that_names_nothing_answers_the_only_timed_out_send() -> None:
    async with serving() as server, linked(server.url, response_timeout=0.3) as world:
        peer = await server.welcome()
        connection = await world.live()
        await outcome(connection.transmit(message(1)))
        await peer.say("agent:error", body="late")
        await world.events.wait("error-without-callback")
        # It is answered now, so the next error speaks of the next send.
        second = connection.transmit(message(2))
        await peer.say("agent:error", body="oops")
        assert await outcome(second) == Unattributed(body="oops")


async def test_a_late_answer_is_an_answer_for_an_error_that_names_nothing() -> None:
    async with serving() as server, linked(server.url, response_timeout=0.3) as world:
        peer = await server.welcome()
        connection = await world.live()
        await outcome(connection.transmit(message(1)))
        await peer.answer(named(1), statusCode=200)
        await world.link.stray()
        second = connection.transmit(message(2))
        await peer.say("agent:error", body="oops")
        assert await outcome(second) == Unattributed(body="oops")


async def test_an_error_with_a_foreign_callback_is_pinned_on_nobody() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        future = (await world.live()).transmit(message())
        await peer.say("agent:error", callback="somebody-else", body="oops")
        await world.events.wait("frame-invalid")
        assert not future.done()


async def test_no_send_number_is_used_twice_on_a_connection() -> None:
    async with serving() as server, linked(server.url) as world:
        await server.welcome()
        connection = await world.live()
        future = connection.transmit(message())
        with pytest.raises(BugError):
            connection.transmit(message())
        assert not future.done()


async def test_a_send_after_the_end_is_not_live() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        peer.cut()
        await world.events.wait("link-down")
        assert not connection.is_live
        with pytest.raises(NotLive):
            connection.transmit(message())


async def test_only_so_many_unanswered_sends_are_remembered_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlation, "OVERDUE_LIMIT", 2)
    table = Correlation()
    for row in range(4):
        table.expect(callback(row))
        assert table.fall_silent(callback(row))
    assert table.unanswered == 4
    for row in (2, 3):
        assert not table.answer(callback(row), ErrorAnswer(body=None))
    # Two are forgotten by name, not by number: nothing may be pinned on the one that is left.
    future = table.expect(callback(9))
    assert not table.blame("oops")
    assert table.lose(too_large=True) == 1
    assert future.result() == LinkLost(too_large=False)


async def test_giving_up_twice_is_harmless() -> None:
    table = Correlation()
    future = table.expect(callback())
    future.cancel()
    assert not table.fall_silent(callback())
    assert not table.fall_silent(callback())
    assert table.unanswered == 1
    await asyncio.wait((future,))
