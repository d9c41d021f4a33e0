from pathlib import Path

from tests.receiver.client import ALL, callback, dialled, hl7, lines, text_of
from tests.receiver.conftest import Start


async def test_a_settled_send_is_done_with_its_answer(start: Start) -> None:
    receiver = await start(script={"MSG2": {"statusCode": 404}})
    async with dialled(receiver.url, extensions=ALL) as client:
        first = await client.exchange(callback(1), hl7("MSG1"))
        await client.exchange(callback(2), hl7("MSG2"))
        accepted, refused = await client.ask(callback(1), callback(2))
    assert accepted == {"callback": callback(1), "state": "done", "body": first["body"]}
    assert refused == {"callback": callback(2), "state": "done", "statusCode": 404}


async def test_a_send_in_the_works_is_running(start: Start) -> None:
    receiver = await start(script={"MSG1": {"delay": 3600}})
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.transmit(callback(1), hl7("MSG1"))
        assert (await client.hear())["type"] == "gateway:receipt"
        assert await client.ask(callback(1)) == [{"callback": callback(1), "state": "running"}]


async def test_a_send_that_never_came_is_unknown(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url, extensions=ALL) as client:
        assert await client.ask(callback(1)) == [{"callback": callback(1), "state": "unknown"}]


async def test_an_accepted_row_answers_for_a_later_send_that_never_came(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.exchange(callback(1), hl7("MSG1"))
        (result,) = await client.ask(callback(1, send=2))
    assert (result["callback"], result["state"]) == (callback(1, send=2), "done")


async def test_a_refusal_does_not_answer_for_a_later_send_that_never_came(start: Start) -> None:
    receiver = await start(script={"MSG1": {"statusCode": 400}})
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.exchange(callback(1), hl7("MSG1"))
        first, later = await client.ask(callback(1), callback(1, send=2))
    assert (first["state"], later["state"]) == ("done", "unknown")


async def test_what_was_called_unknown_is_refused_when_it_comes_late_on_an_older_connection(
    start: Start, journal: Path
) -> None:
    receiver = await start()
    async with dialled(receiver.url, extensions=ALL) as older, dialled(receiver.url, extensions=ALL) as newer:
        assert (await newer.ask(callback(1)))[0]["state"] == "unknown"
        late = await older.exchange(callback(1), hl7("MSG1"))
        assert (late["type"], late["callback"]) == ("agent:error", callback(1))
        assert text_of(journal) == ""
        # Another row, and the same one on the connection that asked, are taken.
        assert (await older.exchange(callback(2), hl7("MSG2")))["type"] == "agent:transmit:response"
        assert (await newer.exchange(callback(1), hl7("MSG1")))["type"] == "agent:transmit:response"
    assert [line["callback"] for line in lines(journal)] == [callback(2), callback(1)]


async def test_the_promise_outlives_the_connection_it_was_given_on(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url, extensions=ALL) as older:
        async with dialled(receiver.url, extensions=ALL) as newer:
            await newer.ask(callback(1))
        await receiver.until(lambda: receiver.live == 1)
        assert (await older.exchange(callback(1), hl7("MSG1")))["type"] == "agent:error"


async def test_a_restarted_receiver_still_knows(start: Start) -> None:
    first = await start()
    async with dialled(first.url, extensions=ALL) as client:
        answer = await client.exchange(callback(1), hl7("MSG1"))
    await first.stop()
    second = await start()
    async with dialled(second.url, extensions=ALL) as client:
        (result,) = await client.ask(callback(1))
    assert result["body"] == answer["body"]


async def test_a_refused_row_that_runs_again_is_running(start: Start) -> None:
    receiver = await start(script={"MSG1": [{"statusCode": 400}, {"delay": 3600}]})
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.exchange(callback(1), hl7("MSG1"))
        await client.transmit(callback(1, send=2), hl7("MSG1"))
        assert (await client.hear())["type"] == "gateway:receipt"
        assert [each["state"] for each in await client.ask(callback(1), callback(1, send=2))] == ["running"] * 2


async def test_the_run_that_began_last_decides_though_an_earlier_one_ends_later(start: Start) -> None:
    receiver = await start(script={"MSG1": [{"ack": "AE", "delay": 0.05}, {}]})
    async with dialled(receiver.url) as plain, dialled(receiver.url, extensions=ALL) as client:
        await plain.transmit(callback(1), hl7("MSG1"))
        await plain.transmit(callback(1, send=2), hl7("MSG1"))
        assert [(await plain.hear())["callback"] for _ in range(2)] == [callback(1, send=2), callback(1)]
        (result,) = await client.ask(callback(1, send=2))
    assert "MSA|AA|" in result["body"]
