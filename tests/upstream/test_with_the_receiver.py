"""The link against the bundled server: both ends of the protocol, written apart, have to agree."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.model.upstream import Answer, Extension, Known, LinkLost, Msa, Silence, Unattributed
from gateway.receiver.options import ReceiverOptions
from gateway.receiver.script import parse
from gateway.receiver.server import Receiver
from tests.upstream.tokens import endpoint
from tests.upstream.world import callback, linked, message, outcome

BODY = "MSH|^~\\&|LAB|A|GW|B|20250101||ADT^A01|M1|P|2.5\rPID|1||4711||Müller^Jürgen\r"


@asynccontextmanager
async def receiving(*, script: dict[str, Any] | None = None, **options: Any) -> AsyncIterator[Receiver]:
    receiver = Receiver(ReceiverOptions(script=parse(script or {}), **options))
    await receiver.start()
    try:
        yield receiver
    finally:
        await receiver.stop()


async def test_a_message_arrives_whole_and_is_accepted() -> None:
    async with receiving() as receiver, linked(receiver.url, epoch=4) as world:
        connection = await world.live()
        answer = await outcome(connection.transmit(message(body=BODY)))
        (taken,) = receiver.taken
    assert isinstance(answer, Answer)
    assert answer.msa == Msa(code="AA", control_id="M1", errors=())
    assert (taken.body, taken.channel, taken.remote, taken.epoch) == (BODY, "adt", "10.0.0.9:4711", 4)


async def test_every_extension_is_granted_with_the_window() -> None:
    async with receiving(dedupe_window=600.0) as receiver, linked(receiver.url) as world:
        granted = (await world.live()).granted
    assert granted.extensions == frozenset(Extension)
    assert granted.dedupe_window == 600.0


async def test_a_plain_receiver_grants_nothing_and_still_answers() -> None:
    async with receiving(plain=True) as receiver, linked(receiver.url) as world:
        connection = await world.live()
        assert connection.granted.extensions == frozenset()
        assert isinstance(await outcome(connection.transmit(message(body=BODY))), Answer)


async def test_the_receipt_names_the_send() -> None:
    async with receiving() as receiver, linked(receiver.url) as world:
        (await world.live()).transmit(message(3, send=2, body=BODY))
        assert await world.link.receipt() == callback(3, send=2)


async def test_after_a_cut_the_status_tells_what_became_of_a_send() -> None:
    script = {"M1": [{"close": "after-storing"}]}
    async with receiving(script=script) as receiver, linked(receiver.url) as world:
        connection = await world.live()
        assert await outcome(connection.transmit(message(1, body=BODY))) == LinkLost(too_large=False)
        connection = await world.live(after=1)
        done, unknown = await connection.status([callback(1), callback(2)]) or ()
        assert done.known is Known.DONE
        assert done.answer is not None
        assert done.answer.msa == Msa(code="AA", control_id="M1", errors=())
        assert unknown.known is Known.UNKNOWN


async def test_a_send_in_the_works_is_running() -> None:
    script = {"M1": {"delay": 3600}}
    async with receiving(script=script) as receiver, linked(receiver.url, response_timeout=0.05) as world:
        connection = await world.live()
        assert await outcome(connection.transmit(message(1, body=BODY))) == Silence()
        (running,) = await connection.status([callback(1)]) or ()
    assert running.known is Known.RUNNING


async def test_a_repeat_gets_the_stored_answer_and_the_row_is_taken_once() -> None:
    script = {"M1": [{"close": "after-storing"}]}
    async with receiving(script=script) as receiver, linked(receiver.url) as world:
        await outcome((await world.live()).transmit(message(1, send=1, body=BODY)))
        answer = await outcome((await world.live(after=1)).transmit(message(1, send=2, body=BODY)))
        assert isinstance(answer, Answer)
        assert [(each.repeat, each.runs) for each in receiver.taken] == [(False, True), (True, False)]


async def test_a_scripted_close_code_names_the_send_as_too_large() -> None:
    script = {"M1": {"close": "before-storing", "closeCode": 1009}}
    async with receiving(script=script) as receiver, linked(receiver.url) as world:
        assert await outcome((await world.live()).transmit(message(body=BODY))) == LinkLost(too_large=True)
        assert receiver.taken == ()


async def test_a_scripted_error_that_names_nothing_is_pinned_on_the_send() -> None:
    async with receiving(script={"M1": {"error": "bare"}}) as receiver, linked(receiver.url) as world:
        assert await outcome((await world.live()).transmit(message(body=BODY))) == Unattributed(body="scripted error")


async def test_a_wait_the_server_asks_for_is_read() -> None:
    script = {"M1": {"statusCode": 503, "retryAfter": 7}}
    async with receiving(script=script) as receiver, linked(receiver.url) as world:
        answer = await outcome((await world.live()).transmit(message(body=BODY)))
    assert isinstance(answer, Answer)
    assert (answer.status, answer.retry_after) == (503, 7.0)


async def test_a_stale_leader_is_not_let_in() -> None:
    async with receiving() as receiver, linked(receiver.url, epoch=2) as new:
        await new.live()
        async with linked(receiver.url, epoch=1) as old:
            (down, *_) = await old.events.wait("link-down", 2)
    assert (down["step"], down["reason"]) == ("connect", "the server refused the connect request")


async def test_answers_survive_a_restart_of_the_server(tmp_path: Path) -> None:
    journal = tmp_path / "taken.jsonl"
    async with receiving(journal=journal) as first:
        host, port = first.address
        world_of = linked(first.url)
        world = await world_of.__aenter__()
        await outcome((await world.live()).transmit(message(1, body=BODY)))
    try:
        async with receiving(journal=journal, host=host, port=port):
            connection = await world.live(after=1)
            (done,) = await connection.status([callback(1)]) or ()
            assert done.known is Known.DONE
    finally:
        await world_of.__aexit__(None, None, None)


async def test_many_sends_at_once_are_all_answered_and_taken_in_order() -> None:
    async with receiving() as receiver, linked(receiver.url) as world:
        connection = await world.live()
        futures = [connection.transmit(message(row, body=BODY.replace("M1", f"M{row}"))) for row in range(300)]
        answers = [await outcome(future) for future in futures]
        assert [each.control_id for each in receiver.taken] == [f"M{row}" for row in range(300)]
    assert [each.msa.control_id for each in answers if isinstance(each, Answer) and each.msa] == [
        f"M{row}" for row in range(300)
    ]


async def test_no_content_and_no_secret_reaches_any_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with endpoint() as tokens, receiving() as receiver:
        given: dict[str, Any] = {"token_url": tokens.url, "client_id": "a", "client_secret": "s3cret"}
        async with linked(receiver.url, **given) as world:
            await outcome((await world.live()).transmit(message(body=BODY)))
            receiver.cut()
            await world.live(after=1)
    # The library would show the beginning and the end of every frame.
    assert "agent:" not in caplog.text
    assert "Jürgen" not in caplog.text
    assert "4711" not in caplog.text
    assert "s3cret" not in caplog.text
    assert "token-1" not in caplog.text
