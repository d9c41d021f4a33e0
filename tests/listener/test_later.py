"""`enhanced` mode: CA at once, then the server's answer once, to where its sender is now."""

import asyncio
from collections.abc import Sequence

import pytest

from gateway.errors import Unavailable
from gateway.listener.options import AckOptions, ChannelOptions
from gateway.model.ids import ChannelName, RowId
from gateway.model.intake import ApplicationAnswer
from gateway.model.policy import AckMode
from gateway.model.states import AnswerState
from tests.listener.stage import ADT, NOON, LoopTime, SmallStore, f, listening, m, msa

BODY = b"MSH|^~\\&|SERVER|||||||S1|P|2.5.1\rMSA|AA|A1|done\r"
ENHANCED = ChannelOptions(name=ADT, ack=AckOptions(mode=AckMode.ENHANCED))
ONE = RowId(1)
SENDER = "SNDAPP|SNDFAC"


def recorded(store: SmallStore, count: int) -> "asyncio.Event":
    reached = asyncio.Event()
    store.told = lambda: reached.set() if len(store.recorded) >= count else None
    return reached


async def test_the_commit_is_answered_at_once_and_the_application_later() -> None:
    store = SmallStore()
    async with listening(store, ENHANCED) as stage:
        sender = await stage.sender()
        assert msa(await sender.ask(m("A1"))) == (b"CA", b"A1")
        store.settle(ONE, BODY)
        assert await sender.hear() == BODY
        assert msa(await sender.ask(m("A2"))) == (b"CA", b"A2")
    assert store.recorded == [(ONE, AnswerState.DELIVERED)]


async def test_the_later_answer_goes_to_the_connection_of_the_latest_copy_alone() -> None:
    store = SmallStore()
    async with listening(store, ENHANCED) as stage:
        first, second = await stage.sender(), await stage.sender()
        ca = await first.ask(m("A1"))
        assert await second.ask(m("A1")) == ca
        store.settle(ONE, BODY)
        assert await second.hear() == BODY
        assert [msa(answer) for answer in [await first.ask(m("A2"))]] == [(b"CA", b"A2")]


async def test_it_goes_to_the_newest_connection_of_its_sender_when_its_own_is_gone() -> None:
    store = SmallStore()
    async with listening(store, ENHANCED) as stage:
        own, stranger, older, newer = [await stage.sender() for _ in range(4)]
        await own.ask(m("A1"))
        await newer.ask(m("N1"))
        await older.ask(m("O1"))
        await stranger.ask(m("X1").replace(b"SNDFAC", b"ELSEWHERE"))
        own.cut()
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        store.settle(ONE, BODY)
        assert await newer.hear() == BODY
        assert msa(await older.ask(m("O2"))) == (b"CA", b"O2")
        assert msa(await stranger.ask(m("X2"))) == (b"CA", b"X2")


async def test_it_is_undelivered_when_its_sender_is_gone() -> None:
    store = SmallStore()
    async with listening(store, ENHANCED) as stage:
        own, stranger = await stage.sender(), await stage.sender()
        await own.ask(m("A1"))
        await stranger.ask(m("X1").replace(b"SNDAPP", b"ELSE"))
        own.cut()
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        done = recorded(store, 1)
        store.settle(ONE, BODY)
        await asyncio.wait_for(done.wait(), 10)
        assert store.recorded == [(ONE, AnswerState.UNDELIVERED)]
        assert msa(await stranger.ask(m("X2"))) == (b"CA", b"X2")


async def test_an_answer_left_from_before_a_restart_goes_out_when_its_sender_comes_within_the_hour() -> None:
    fresh = (NOON - 3_599_000, ApplicationAnswer(row=RowId(900), body=BODY))
    stale = (NOON - 3_601_000, ApplicationAnswer(row=RowId(800), body=BODY))
    store = SmallStore(
        pending={SENDER: [stale, fresh], "ELSE|SNDFAC": [(NOON, ApplicationAnswer(row=RowId(7), body=BODY))]}
    )
    async with listening(store, ENHANCED) as stage:
        sender = await stage.sender()
        done = recorded(store, 2)
        sender.say(f(m("A1")))
        answers = await sender.hear_many(2)
        await asyncio.wait_for(done.wait(), 10)
        assert sorted(msa(answer) for answer in answers) == [(b"AA", b"A1"), (b"CA", b"A1")]
        assert sorted(store.recorded) == [(800, AnswerState.UNDELIVERED), (900, AnswerState.DELIVERED)]
        assert [msa(await sender.ask(m(name)))[1] for name in ("A2", "A3")] == [b"A2", b"A3"]
    assert len(store.recorded) == 2


async def test_an_answer_that_comes_up_later_is_looked_for_again_after_a_while() -> None:
    store = SmallStore()
    async with listening(store, ENHANCED) as stage:
        time = LoopTime()
        sender = await stage.sender()
        await sender.ask(m("A1"))
        store.pending[SENDER] = [(NOON, ApplicationAnswer(row=RowId(900), body=BODY))]
        assert msa(await sender.ask(m("A2"))) == (b"CA", b"A2")
        time.move(10.5)
        sender.say(f(m("A3")))
        assert sorted(msa(answer) for answer in await sender.hear_many(2)) == [(b"AA", b"A1"), (b"CA", b"A3")]


async def test_a_store_that_cannot_be_asked_costs_no_message() -> None:
    class Troubled(SmallStore):
        async def pending_answers(self, *_: object, **__: object) -> list[ApplicationAnswer]:
            raise Unavailable(reason="busy")

        async def record_answer(self, *_: object) -> None:
            raise Unavailable(reason="busy")

    store = Troubled()
    async with listening(store, ENHANCED) as stage:
        sender = await stage.sender()
        assert msa(await sender.ask(m("A1"))) == (b"CA", b"A1")
        store.settle(ONE, BODY)
        assert await sender.hear() == BODY
        await stage.notes.until(lambda: bool(stage.notes.named("answer-not-passed-on")))
        assert stage.notes.named("answers-not-looked-up")
        assert msa(await sender.ask(m("A2"))) == (b"CA", b"A2")


async def test_what_is_unsettled_at_the_stop_stays_pending() -> None:
    store = SmallStore()
    async with listening(store, ENHANCED) as stage:
        sender = await stage.sender()
        await sender.ask(m("A1"))
        await stage.listener.stop(grace=1)
    assert store.recorded == []
    assert store.rows[ONE].leg is AnswerState.PENDING


async def test_a_later_answer_never_overtakes_the_ca_of_its_message() -> None:
    """MSH-15 NE makes the first frame wait, so the CA of the second is held behind it."""
    store = SmallStore()
    async with listening(store, ChannelOptions(name=ADT, ack=AckOptions(mode=AckMode.AUTO))) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1", accept="NE", application="AL")) + f(m("A2", accept="AL", application="AL")))
        await stage.notes.until(lambda: len(stage.notes.named("accepted")) == 2)
        store.settle(RowId(2), BODY.replace(b"A1", b"A2"))
        await stage.sender()
        store.settle(ONE, BODY)
        assert [msa(answer) for answer in await sender.hear_many(3)] == [
            (b"AA", b"A1"),
            (b"CA", b"A2"),
            (b"AA", b"A2"),
        ]


async def test_beyond_a_bound_answers_are_looked_up_instead_of_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.listener.later.MOST_WAITING", 2)
    store = SmallStore()
    async with listening(store, ENHANCED) as stage:
        time = LoopTime()
        sender = await stage.sender()
        for name in ("A1", "A2", "A3"):
            assert msa(await sender.ask(m(name))) == (b"CA", name.encode())
        assert len(stage.listener._later._owed) == 2
        store.pending[SENDER] = [(NOON, ApplicationAnswer(row=RowId(3), body=BODY.replace(b"A1", b"A3")))]
        time.move(10.5)
        sender.say(f(m("A4")))
        assert sorted(msa(answer) for answer in await sender.hear_many(2)) == [(b"AA", b"A3"), (b"CA", b"A4")]


async def test_an_answer_that_is_waited_for_is_not_passed_on_by_a_look_up_too() -> None:
    store = SmallStore()
    async with listening(store, ENHANCED) as stage:
        first = await stage.sender()
        await first.ask(m("A1"))
        store.pending[SENDER] = [(NOON, ApplicationAnswer(row=ONE, body=BODY))]
        second = await stage.sender()
        assert [msa(await second.ask(m(name))) for name in ("A2", "A3")] == [(b"CA", b"A2"), (b"CA", b"A3")]
        store.settle(ONE, BODY)
        assert await first.hear() == BODY
    assert store.recorded == [(ONE, AnswerState.DELIVERED)]


async def test_a_sender_gone_before_the_commit_gets_the_later_answer_on_its_next_connection() -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = offered.set
    async with listening(store, ENHANCED) as stage:
        gone = await stage.sender()
        gone.say(f(m("A1")))
        await asyncio.wait_for(offered.wait(), 10)
        gone.cut()
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        store.is_held = False
        store.release()
        newer = await stage.sender()
        assert msa(await newer.ask(m("A2"))) == (b"CA", b"A2")
        store.settle(ONE, BODY)
        assert await newer.hear() == BODY
    assert store.recorded == [(ONE, AnswerState.DELIVERED)]


async def test_a_left_over_answer_stays_pending_when_its_sender_goes_while_it_is_looked_up() -> None:
    looked, may_find = asyncio.Event(), asyncio.Event()

    class Slow(SmallStore):
        async def pending_answers(
            self, channel: ChannelName, sender: str, *, since: int
        ) -> Sequence[ApplicationAnswer]:
            looked.set()
            await may_find.wait()
            return await super().pending_answers(channel, sender, since=since)

    store = Slow(pending={SENDER: [(NOON, ApplicationAnswer(row=RowId(900), body=BODY))]})
    async with listening(store, ENHANCED) as stage:
        sender = await stage.sender()
        await sender.ask(m("A1"))
        await asyncio.wait_for(looked.wait(), 10)
        sender.cut()
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        may_find.set()
        again = await stage.sender()
        again.say(f(m("A2")))
        assert sorted(msa(answer) for answer in await again.hear_many(2)) == [(b"AA", b"A1"), (b"CA", b"A2")]
    assert store.recorded == [(900, AnswerState.DELIVERED)]
