"""Answers leave in the order of their frames, never before the commit, ready ones in one write."""

import asyncio

import pytest

from gateway.errors import Unavailable
from gateway.listener.options import AckOptions, ChannelOptions
from gateway.listener.session import Session
from gateway.model.policy import AckMode
from gateway.model.states import Landmark
from tests.listener.stage import ADT, SmallStore, f, listening, m, msa


async def test_a_message_is_answered_positively_and_stored_as_it_came() -> None:
    store = SmallStore()
    async with listening(store) as stage:
        sender = await stage.sender()
        assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")
    assert [offer.original for offer in store.offers] == [m("A1")]
    assert store.refusals == []


async def test_nothing_is_said_before_the_commit() -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = offered.set
    passed: list[Landmark] = []
    async with listening(store, passing=passed.append) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")))
        async with asyncio.timeout(10):
            await offered.wait()
        assert passed == []
        sender.say(f(b"no header"))
        hearing = asyncio.create_task(sender.hear())
        await stage.notes.until(lambda: len(stage.notes.named("refused")) == 1)
        assert not hearing.done()
        store.release()
        assert msa(await hearing) == (b"AA", b"A1")
        assert passed == [Landmark.AFTER_COMMIT_BEFORE_ACK]
        assert msa(await sender.hear())[0] == b"AE"


async def test_two_hundred_frames_of_one_write_are_answered_in_their_order() -> None:
    store = SmallStore()
    names = [f"S{number:03}" for number in range(1, 201)]
    async with listening(store) as stage:
        sender = await stage.sender()
        sender.say(b"".join(f(m(name)) for name in names))
        answers = await sender.hear_many(200)
    assert [msa(answer) for answer in answers] == [(b"AA", name.encode()) for name in names]
    assert [offer.control_id.decode() for offer in store.offers] == names


async def test_no_more_than_the_limit_is_offered_while_nothing_is_answered() -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = lambda: offered.set() if len(store.offers) == 5 else None
    async with listening(store, ChannelOptions(name=ADT, max_pipelined=5)) as stage:
        sender = await stage.sender()
        sender.say(b"".join(f(m(f"S{number}")) for number in range(12)))
        async with asyncio.timeout(10):
            await offered.wait()
        assert len(store.offers) == 5
        store.is_held = False
        store.release()
        answers = await sender.hear_many(12)
    assert [msa(answer)[1] for answer in answers] == [b"S%d" % number for number in range(12)]


async def test_answers_of_one_commit_leave_in_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = lambda: offered.set() if len(store.offers) == 8 else None
    async with listening(store) as stage:
        sender = await stage.sender()
        sender.say(b"".join(f(m(f"S{number}")) for number in range(8)))
        async with asyncio.timeout(10):
            await offered.wait()
        writes: list[bytes] = []
        (session,) = stage.listener._door._guests
        assert isinstance(session, Session)
        kind = type(session._transport)
        write = kind.write

        def watched(self: asyncio.Transport, data: bytes) -> None:
            writes.append(bytes(data))
            write(self, data)

        monkeypatch.setattr(kind, "write", watched)
        store.release()
        answers = await sender.hear_many(8)
    ours = [data for data in writes if b"MSA|AA|" in data]
    assert len(ours) == 1
    assert len(answers) == 8


async def test_a_refused_frame_between_two_good_ones_keeps_its_place() -> None:
    store = SmallStore()
    async with listening(store) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")) + f(b"PID|1\r") + f(m("A2")))
        answers = [msa(answer) for answer in await sender.hear_many(3)]
    assert answers == [(b"AA", b"A1"), (b"AE", b""), (b"AA", b"A2")]


async def test_a_slow_first_answer_holds_the_ones_behind_it() -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = lambda: offered.set() if len(store.offers) == 2 else None
    async with listening(store) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")) + f(m("A2")))
        async with asyncio.timeout(10):
            await offered.wait()
        first = store.waiting.popleft()
        store.release()
        hearing = asyncio.create_task(sender.hear())
        await stage.notes.until(lambda: len(stage.notes.named("accepted")) == 1)
        assert not hearing.done()
        first[2].set_exception(Unavailable(reason="busy"))
        assert msa(await hearing) == (b"AR", b"A1")
        assert msa(await sender.hear()) == (b"AA", b"A2")


async def test_a_peer_that_half_closes_still_gets_every_answer() -> None:
    store = SmallStore()
    async with listening(store, ChannelOptions(name=ADT, ack=AckOptions(mode=AckMode.COMMIT))) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")) + f(m("A2")))
        answers = await sender.finish()
    assert [msa(answer) for answer in answers] == [(b"AA", b"A1"), (b"AA", b"A2")]


async def test_a_large_message_is_read_aside_and_keeps_its_place() -> None:
    store = SmallStore()
    large = m("BIG") + b"OBX|1|ED|X||" + b"A" * (2 << 20) + b"\r"
    async with listening(store) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")) + f(large) + f(m("A2")))
        answers = await sender.hear_many(3)
    assert [msa(answer)[1] for answer in answers] == [b"A1", b"BIG", b"A2"]
    assert [offer.control_id for offer in store.offers] == [b"A1", b"BIG", b"A2"]
    assert store.offers[1].original == large


async def test_what_follows_a_large_message_does_not_wait_for_its_commit() -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = lambda: offered.set() if len(store.offers) == 2 else None
    async with listening(store) as stage:
        sender = await stage.sender()
        sender.say(f(m("BIG") + b"OBX|1|ED|X||" + b"A" * (1 << 20) + b"\r") + f(m("A2")))
        await asyncio.wait_for(offered.wait(), 10)
        store.release()
        assert [msa(answer)[1] for answer in await sender.hear_many(2)] == [b"BIG", b"A2"]
