"""The load generator as a program, against a small listener that is not ours."""

from collections.abc import AsyncIterator

import pytest

from gateway.sender.bench.generators import Load, send
from gateway.sender.bench.message import payload, template
from gateway.sender.bench.options import BenchFailed
from gateway.wire.header import scan
from tests.sender.listening import Hangup, Heard, Listening, ack, agree, framed


@pytest.fixture
async def listening() -> AsyncIterator[Listening]:
    async with Listening() as made:
        yield made


async def _send(listening: Listening, **more: int) -> Load:
    target = listening.target
    connections = more.pop("connections", 3)
    return await send([(target.host, target.port)] * connections, seconds=30, limit=200, **more)


async def test_every_message_is_its_own_and_is_answered_once(listening: Listening) -> None:
    load = await _send(listening, processes=2)
    ids = [heard.control_id for heard in listening.heard]
    assert load.answered == len(ids) == len(set(ids)) == 200
    assert len({len(one) for one in ids}) == 1
    assert 0 < load.p50 <= load.p99 <= load.longest * 1.01


async def test_load_is_shared_out_over_all_connections(listening: Listening) -> None:
    await _send(listening, connections=4, processes=2, window=3)
    assert {heard.connection for heard in listening.heard} == {0, 1, 2, 3}


async def test_large_messages_arrive_whole(listening: Listening) -> None:
    target = listening.target
    load = await send([(target.host, target.port)], seconds=30, limit=3, size=1_000_000)
    assert load.answered == 3
    assert [heard.payload for heard in listening.heard] == [
        payload(heard.control_id, 1_000_000) for heard in listening.heard
    ]
    assert all(abs(len(heard.payload) - 1_000_000) < 100 for heard in listening.heard)


async def test_many_answers_at_once_are_all_heard() -> None:
    waiting: list[bytes] = []

    def in_hundreds(heard: Heard) -> list[bytes | Hangup]:
        waiting.append(framed(ack(heard.control_id, text="x" * 2_000)))
        if len(waiting) < 100:
            return []
        ready: list[bytes | Hangup] = [b"".join(waiting)]
        waiting.clear()
        return ready

    async with Listening(script=in_hundreds) as listening:
        assert (await _send(listening, connections=1, window=100)).answered == 200


@pytest.mark.parametrize(
    "script",
    [
        lambda heard: [framed(ack(heard.control_id, "AE"))],
        lambda heard: [framed(ack(b"OTHER"))],
        lambda heard: [framed(ack(heard.control_id)), framed(ack(heard.control_id))],
        lambda heard: agree(heard) if heard.place < 100 else [Hangup()],
    ],
    ids=["refused", "for-another", "twice", "lost"],
)
async def test_one_wrong_answer_spoils_the_whole_measurement(script: object) -> None:
    async with Listening(script=script) as listening:  # type: ignore[arg-type]  # the lambdas are of that type
        with pytest.raises(BenchFailed, match="no AA to their message"):
            await _send(listening)


async def test_a_generator_that_cannot_connect_is_told_of(listening: Listening) -> None:
    host, port = listening.target.host, listening.target.port
    with pytest.raises(BenchFailed, match="generator"):
        await send([(host, port), ("127.0.0.1", 1)], seconds=1)


def test_the_ordinary_message_is_an_admission_of_its_size() -> None:
    made = payload(b"C1")
    header = scan(made)
    assert abs(len(made) - 1_100) < 30
    assert (header.control_id, header.message_type) == (b"C1", b"ADT^A01^ADT_A01")
    assert template().frame(b"C1") == b"\x0b" + made.replace(b"\r\r", b"\r") + b"\x1c\r"
