from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from tests.receiver.client import ALL, Client, callback, dialled, hl7, text_of
from tests.receiver.conftest import Start


async def closed(client: Client) -> int | None:
    """Wait for the end of the connection; gives the close code the server sent, None if it was cut."""
    try:
        while True:
            await client.hear()
    except ConnectionClosed as gone:
        return None if gone.rcvd is None else gone.rcvd.code


@pytest.mark.parametrize("code", ["AE", "AR", "CE", "CR", "CA"])
async def test_an_acknowledgement_code_is_played(start: Start, code: str) -> None:
    receiver = await start(script={"MSG1": {"ack": code}})
    async with dialled(receiver.url) as client:
        assert f"MSA|{code}|MSG1" in (await client.exchange(callback(1), hl7("MSG1")))["body"]


async def test_a_status_and_a_wait_are_played(start: Start) -> None:
    receiver = await start(script={"MSG1": {"statusCode": 503, "retryAfter": 7}})
    async with dialled(receiver.url) as client:
        answer = await client.exchange(callback(1), hl7("MSG1"))
    assert (answer["statusCode"], answer["retryAfter"]) == (503, 7)


async def test_silence_takes_the_message_and_says_nothing(start: Start) -> None:
    receiver = await start(script={"MSG1": {"silence": True}})
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.transmit(callback(1), hl7("MSG1"))
        assert (await client.hear())["type"] == "gateway:receipt"
        assert (await client.ask(callback(1)))[0]["state"] == "done"


async def test_closing_before_storing_leaves_nothing(start: Start, journal: Path) -> None:
    receiver = await start(script={"MSG1": {"close": "before-storing"}})
    async with dialled(receiver.url) as client:
        await client.transmit(callback(1), hl7("MSG1"))
        assert await closed(client) is None
    assert text_of(journal) == ""


async def test_closing_after_storing_leaves_the_message(start: Start) -> None:
    receiver = await start(script={"MSG1": [{"close": "after-storing"}]})
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.transmit(callback(1), hl7("MSG1"))
        assert await closed(client) is None
    assert [each.control_id for each in receiver.taken] == ["MSG1"]
    async with dialled(receiver.url, extensions=ALL) as client:
        assert (await client.ask(callback(1)))[0]["state"] == "done"


@pytest.mark.parametrize("close", ["before-storing", "after-storing"])
async def test_a_close_code_is_played(start: Start, close: str) -> None:
    receiver = await start(script={"MSG1": {"close": close, "closeCode": 1009}})
    async with dialled(receiver.url) as client:
        await client.transmit(callback(1), hl7("MSG1"))
        assert await closed(client) == 1009


async def test_an_answer_can_come_twice(start: Start) -> None:
    receiver = await start(script={"MSG1": {"answers": 2}})
    async with dialled(receiver.url) as client:
        first = await client.exchange(callback(1), hl7("MSG1"))
        assert await client.hear() == first


async def test_an_answer_can_name_another_message_while_the_true_one_is_stored(start: Start) -> None:
    receiver = await start(script={"MSG1": [{"msa2": "OTHER"}]})
    async with dialled(receiver.url, extensions=ALL) as client:
        assert "MSA|AA|OTHER" in (await client.exchange(callback(1), hl7("MSG1")))["body"]
        assert "MSA|AA|MSG1" in (await client.ask(callback(1)))[0]["body"]


async def test_an_error_can_name_the_send(start: Start) -> None:
    receiver = await start(script={"MSG1": [{"error": "callback"}]})
    async with dialled(receiver.url, extensions=ALL) as client:
        heard = await client.exchange(callback(1), hl7("MSG1"))
        assert (heard["type"], heard["callback"]) == ("agent:error", callback(1))
        assert (await client.exchange(callback(1, send=2), hl7("MSG1")))["type"] == "agent:transmit:response"


async def test_an_error_can_name_nothing_and_then_nothing_is_taken(start: Start, journal: Path) -> None:
    receiver = await start(script={"MSG1": {"error": "bare"}})
    async with dialled(receiver.url) as client:
        heard = await client.exchange(callback(1), hl7("MSG1"))
    assert heard["type"] == "agent:error"
    assert "callback" not in heard
    assert text_of(journal) == ""


async def test_a_delay_holds_up_one_message_only(start: Start) -> None:
    receiver = await start(script={"SLOW": {"delay": 3600}})
    async with dialled(receiver.url) as client:
        await client.transmit(callback(1), hl7("SLOW"))
        assert (await client.exchange(callback(2), hl7("QUICK")))["callback"] == callback(2)


async def test_a_list_is_played_once_per_arrival(start: Start) -> None:
    receiver = await start(script={"MSG1": [{"ack": "AE"}, {"ack": "AR"}]})
    async with dialled(receiver.url) as client:
        bodies = [(await client.exchange(callback(row), hl7("MSG1")))["body"] for row in range(3)]
    assert [body.split("MSA|")[1][:2] for body in bodies] == ["AE", "AR", "AA"]


async def test_the_star_meets_every_other_message_from_the_start(start: Start) -> None:
    receiver = await start(script={"MSG1": {}, "*": [{"ack": "AE"}]})
    async with dialled(receiver.url) as client:
        bodies = [(await client.exchange(callback(n), hl7(name)))["body"] for n, name in enumerate("ABA")]
        named = (await client.exchange(callback(9), hl7("MSG1")))["body"]
        bare = await client.exchange(callback(10), "no header")
    assert [body.split("MSA|")[1][:2] for body in bodies] == ["AE", "AE", "AA"]
    assert "MSA|AA|" in named
    assert bare["statusCode"] == 400
