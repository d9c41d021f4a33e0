import asyncio
import json
import logging
import stat
from pathlib import Path

import hl7 as reader
import pytest
from websockets.asyncio.client import connect

from gateway.errors import OperatorError
from tests.receiver.client import ALL, Client, callback, dialled, hl7, lines, text_of
from tests.receiver.conftest import Start


async def test_a_message_is_answered_aa_with_its_control_id(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url) as client:
        answer = await client.exchange(callback(1), hl7("MSG1"))
    assert answer["type"] == "agent:transmit:response"
    assert (answer["callback"], answer["channel"], answer["remote"]) == (callback(1), "adt", "10.0.0.1:4000")
    parsed = reader.parse(answer["body"])
    assert str(parsed["MSA"][0][1]) == "AA"
    assert str(parsed["MSA"][0][2]) == "MSG1"


async def test_a_message_becomes_one_line_of_the_journal(start: Start, journal: Path) -> None:
    receiver = await start()
    async with dialled(receiver.url) as client:
        await client.exchange(callback(1), hl7("MSG1", name="Müller^Jürgen"), epoch=7)
    (found,) = lines(journal)
    assert {key: found[key] for key in ("callback", "channel", "remote", "body", "epoch", "repeat")} == {
        "callback": callback(1),
        "channel": "adt",
        "remote": "10.0.0.1:4000",
        "body": hl7("MSG1", name="Müller^Jürgen"),
        "epoch": 7,
        "repeat": False,
    }


async def test_the_epoch_is_left_out_of_the_line_when_it_was_not_sent(start: Start, journal: Path) -> None:
    receiver = await start()
    async with dialled(receiver.url) as client:
        await client.exchange(callback(1), hl7("MSG1"))
    assert "epoch" not in lines(journal)[0]


async def test_only_the_owner_may_read_the_journal(start: Start, journal: Path, tmp_path: Path) -> None:
    open_to_all(journal)
    await start()
    assert modes(tmp_path) == {"taken.jsonl": 0o600, "taken.jsonl.outcomes": 0o600}


def open_to_all(path: Path) -> None:
    path.touch()
    path.chmod(0o666)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def test_lines_stand_in_the_order_of_arrival(start: Start, journal: Path) -> None:
    receiver = await start()
    async with dialled(receiver.url) as client:
        for row in range(50):
            await client.transmit(callback(row), hl7(f"M{row}"))
        await receiver.wait_taken(50)
    callbacks = [line["callback"] for line in lines(journal)]
    assert callbacks == [callback(row) for row in range(50)]
    assert [each.callback for each in receiver.taken] == callbacks


@pytest.mark.parametrize("path", ["/ws/agent", "/", "/elsewhere?x=1"])
async def test_any_path_is_served(start: Start, path: str) -> None:
    receiver = await start()
    async with dialled(receiver.url.replace("/ws/agent", path)) as client:
        assert (await client.beat())["type"] == "agent:heartbeat:response"


async def test_a_heartbeat_is_answered_with_the_version(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url) as client:
        assert (await client.beat())["version"]


async def test_legacy_names_are_understood(start: Start) -> None:
    receiver = await start()
    async with connect(receiver.url) as socket:
        client = Client(socket)
        await client.say("connect", agentId="demo")
        assert (await client.hear())["type"] == "agent:connect:response"
        await client.say("transmit", callback=callback(1), body=hl7("MSG1"))
        assert (await client.hear())["callback"] == callback(1)


async def test_extensions_are_granted_as_wished(start: Start) -> None:
    receiver = await start(dedupe_window=600.0)
    async with connect(receiver.url) as socket:
        answer = await Client(socket).greet(extensions=[*ALL, "unheard-of"])
    assert sorted(answer["extensions"]) == sorted(ALL)
    assert answer["dedupeWindow"] == 600.0


async def test_a_gateway_that_wishes_for_nothing_gets_a_plain_answer(start: Start) -> None:
    receiver = await start()
    async with connect(receiver.url) as socket:
        assert await Client(socket).greet() == {"type": "agent:connect:response"}


async def test_a_plain_receiver_grants_nothing(start: Start) -> None:
    receiver = await start(plain=True)
    async with connect(receiver.url) as socket:
        assert await Client(socket).greet(extensions=ALL, epoch=3) == {"type": "agent:connect:response"}


async def test_a_plain_receiver_runs_a_repeat_again_and_knows_no_epochs(start: Start, journal: Path) -> None:
    receiver = await start(plain=True, script={"MSG1": [{"ack": "AA"}, {"ack": "AE"}]})
    async with dialled(receiver.url, extensions=ALL, epoch=9) as client:
        first = await client.exchange(callback(1), hl7("MSG1"), epoch=9)
        second = await client.exchange(callback(1, send=2), hl7("MSG1"), epoch=8)
    assert "MSA|AA|" in first["body"]
    assert "MSA|AE|" in second["body"]
    assert [line["repeat"] for line in lines(journal)] == [False, True]


async def test_without_the_wish_there_are_no_receipts_and_no_status(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url) as client:
        await client.transmit(callback(1), hl7("MSG1"))
        assert (await client.hear())["type"] == "agent:transmit:response"
        await client.say("gateway:status:request", callbacks=[callback(1)])
        assert (await client.hear())["type"] == "agent:error"


async def test_an_unknown_request_is_refused_with_its_callback(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url) as client:
        await client.say("agent:dance:request", callback="x#1")
        heard = await client.hear()
    assert (heard["type"], heard["callback"]) == ("agent:error", "x#1")


@pytest.mark.parametrize(
    "frame", ["no json", "[]", "{}", '{"type": 3}', '{"type": "agent:transmit:request", "callback": "x#1"}']
)
async def test_a_broken_frame_gets_an_error_without_callback_and_costs_nothing(
    start: Start, frame: str, journal: Path
) -> None:
    receiver = await start()
    async with dialled(receiver.url) as client:
        await client.socket.send(frame)
        heard = await client.hear()
        assert heard["type"] == "agent:error"
        assert "callback" not in heard
        assert (await client.exchange(callback(1), hl7("MSG1")))["callback"] == callback(1)
    assert len(lines(journal)) == 1


async def test_a_send_before_the_connect_request_is_not_taken(start: Start, journal: Path) -> None:
    receiver = await start()
    async with connect(receiver.url) as socket:
        client = Client(socket)
        await client.transmit(callback(1), hl7("MSG1"))
        heard = await client.hear()
    assert (heard["type"], heard["callback"]) == ("agent:error", callback(1))
    assert text_of(journal) == ""


async def test_a_body_that_is_no_hl7_is_refused_with_a_status(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url) as client:
        answer = await client.exchange(callback(1), "hello")
    assert answer["statusCode"] == 400
    assert "body" not in answer


async def test_answers_to_requests_of_the_server_can_be_read(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url) as client:
        await receiver.push(json.dumps({"type": "agent:stats:request", "callback": "s1"}))
        assert (await client.hear())["callback"] == "s1"
        await client.say("agent:error", callback="s1", body="no")
        async with asyncio.timeout(5):
            await receiver.until(lambda: bool(receiver.reactions))
    assert [(each.type, each.callback, each.body) for each in receiver.reactions] == [("agent:error", "s1", "no")]


async def test_cutting_closes_every_connection(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url) as client:
        assert receiver.live == 1
        assert receiver.cut() == 1
        await client.socket.wait_closed()
        async with asyncio.timeout(5):
            await receiver.until(lambda: receiver.live == 0)
    assert receiver.connections == 1


async def test_only_the_last_messages_are_remembered(start: Start) -> None:
    receiver = await start(remember=2)
    async with dialled(receiver.url) as client:
        for row in range(3):
            await client.exchange(callback(row), hl7(f"M{row}"))
    assert [each.control_id for each in await receiver.wait_taken(3)] == ["M1", "M2"]


async def test_a_taken_port_is_named(start: Start, tmp_path: Path) -> None:
    first = await start()
    with pytest.raises(OperatorError, match=rf"127\.0\.0\.1:{first.address[1]}"):
        await start(port=first.address[1], journal=tmp_path / "other")


async def test_a_receiver_that_was_not_started_has_no_address(start: Start) -> None:
    receiver = await start()
    await receiver.stop()
    with pytest.raises(RuntimeError):
        _ = receiver.address


async def test_no_frame_reaches_any_log(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="gateway")
    caplog.set_level(logging.DEBUG, logger="websockets.server")
    receiver = await start()
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.exchange(callback(1), hl7("MSG1"))
    assert "agent:" not in "".join(record.getMessage() for record in caplog.records if "client" not in record.name)
