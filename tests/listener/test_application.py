"""`application` mode: the frame's answer is the server's, or the deadline's, which is never kept."""

import asyncio

import pytest

from gateway.errors import StoreFailed
from gateway.listener.options import AckOptions, ChannelOptions
from gateway.model.ids import RowId
from gateway.model.policy import AckMode, OnCollision, OnDeadline
from gateway.model.states import AnswerState
from tests.listener.stage import ADT, LoopTime, SmallStore, f, listening, m, msa

BODY = b"MSH|^~\\&|SERVER|||||||S1|P|2.5.1\rMSA|AA|A1|done\r"
ONE = RowId(1)


def options(**ack: object) -> ChannelOptions:
    return ChannelOptions(name=ADT, ack=AckOptions(mode=AckMode.APPLICATION, **ack))  # type: ignore[arg-type]  # by name


async def test_the_servers_own_answer_is_passed_on_byte_for_byte() -> None:
    store = SmallStore()
    async with listening(store, options()) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")))
        await stage.notes.until(lambda: bool(stage.notes.named("accepted")))
        store.settle(ONE, BODY)
        assert await sender.hear() == BODY
    assert store.recorded == [(ONE, AnswerState.DELIVERED)]
    assert store.offers[0].answer is AnswerState.PENDING
    assert store.rows[ONE].receipt.answer == b""


async def test_twenty_copies_on_twenty_connections_get_twenty_equal_answers() -> None:
    store = SmallStore()
    async with listening(store, options()) as stage:
        senders = [await stage.sender() for _ in range(20)]
        for sender in senders:
            sender.say(f(m("A1")))
        await stage.notes.until(lambda: len(stage.notes.named("replayed")) == 19)
        store.settle(ONE, BODY)
        assert [await sender.hear() for sender in senders] == [BODY] * 20
    assert len(store.rows) == 1


@pytest.mark.parametrize(("choice", "code"), [(OnDeadline.AR, b"AR"), (OnDeadline.AE, b"AE"), (OnDeadline.AA, b"AA")])
async def test_the_deadline_answers_once_and_a_retransmit_still_gets_the_real_answer(
    choice: OnDeadline, code: bytes
) -> None:
    store = SmallStore()
    async with listening(store, options(on_deadline=choice, deadline=7)) as stage:
        time = LoopTime()
        sender = await stage.sender()
        sender.say(f(m("A1")))
        await stage.notes.until(lambda: bool(stage.notes.named("accepted")))
        await stage.sender()
        time.move(6.5)
        await stage.sender()
        assert stage.notes.named("answer-overdue") == []
        time.move(1)
        assert msa(await sender.hear()) == (code, b"A1")
        assert store.recorded == []
        sender.say(f(m("A1")))
        await stage.notes.until(lambda: bool(stage.notes.named("replayed")))
        store.settle(ONE, BODY)
        assert await sender.hear() == BODY
        assert await sender.ask(m("A1")) == BODY
    assert len(store.rows) == 1


async def test_the_deadline_may_close_the_connection() -> None:
    store = SmallStore()
    async with listening(store, options(on_deadline=OnDeadline.CLOSE)) as stage:
        time = LoopTime()
        sender = await stage.sender()
        sender.say(f(m("A1")))
        await stage.notes.until(lambda: bool(stage.notes.named("accepted")))
        await stage.sender()
        time.move(31)
        assert await sender.rest() == b""


async def test_a_row_put_aside_is_answered_positively_at_once() -> None:
    store = SmallStore()
    held = ChannelOptions(name=ADT, ack=AckOptions(mode=AckMode.APPLICATION), on_collision=OnCollision.QUARANTINE)
    async with listening(store, held) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")) + f(m("A1", patient="EVA")) + f(m("A1", patient="EVA")))
        await stage.notes.until(lambda: bool(stage.notes.named("replayed")))
        store.settle(ONE, BODY)
        first, second, third = await sender.hear_many(3)
    assert (first, msa(second)) == (BODY, (b"AA", b"A1"))
    assert second == third


async def test_a_sender_that_hangs_up_leaves_the_answer_for_its_retransmit() -> None:
    store = SmallStore()
    async with listening(store, options()) as stage:
        sender, other = await stage.sender(), await stage.sender()
        sender.say(f(m("A1")))
        await stage.notes.until(lambda: bool(stage.notes.named("accepted")))
        sender.cut()
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        store.settle(ONE, BODY)
        assert store.recorded == []
        assert await other.ask(m("A1")) == BODY
    assert store.recorded == [(ONE, AnswerState.DELIVERED)]


async def test_a_store_that_fails_while_waiting_is_answered_as_temporary_trouble() -> None:
    store = SmallStore()
    async with listening(store, options()) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")))
        await stage.notes.until(lambda: bool(stage.notes.named("accepted")))
        store.rows[ONE].answered.set_exception(StoreFailed(reason="disk"))
        assert msa(await sender.hear()) == (b"AR", b"A1")
    assert store.recorded == []


async def test_answers_wait_in_line_behind_a_slower_one() -> None:
    store = SmallStore()
    async with listening(store, options()) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")) + f(m("A2")))
        await stage.notes.until(lambda: len(stage.notes.named("accepted")) == 2)
        store.settle(RowId(2), BODY.replace(b"A1", b"A2"))
        hearing = asyncio.create_task(sender.hear())
        await stage.sender()
        assert not hearing.done()
        store.settle(ONE, BODY)
        assert await hearing == BODY
        assert msa(await sender.hear()) == (b"AA", b"A2")
