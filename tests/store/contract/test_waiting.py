"""Who waits is woken: dispatchers by changes, sessions by answers, here and over two stores on one file."""

import asyncio

import pytest

from gateway.errors import StoreError
from gateway.model.delivery import Change
from gateway.model.ids import RowId
from gateway.model.states import AnswerState, State
from tests.store.contract.conftest import Leader, OpenStore, Store, take
from tests.store.samples import ADT, HOLD, LAB, REFUSE, RETRY, ManualClock, offer, refusal, seal, settled

PENDING = AnswerState.PENDING


async def test_a_new_row_is_a_change_of_its_channel_alone(store: Store) -> None:
    lab = asyncio.create_task(store.outbox.changed(LAB, 0))
    await store.intake.accept(offer("A1"), seal)
    assert await store.outbox.changed(ADT, 0) == Change(counter=1, reload=False)
    assert not lab.done()
    await store.intake.accept(offer("L1", channel=LAB), seal)
    assert await lab == Change(counter=1, reload=False)


async def test_a_waiter_is_woken_by_the_row_it_waits_for(store: Store) -> None:
    waiting = asyncio.create_task(store.outbox.changed(ADT, 0))
    await asyncio.sleep(0)
    await store.intake.accept(offer("A1"), seal)
    async with asyncio.timeout(5):
        assert (await waiting).counter == 1


async def test_replays_collisions_and_refusals_are_no_changes(store: Store) -> None:
    await store.intake.accept(offer("A1"), seal)
    await store.intake.accept(offer("A1"), seal)
    await store.intake.accept(offer("A1", text="other"), seal)
    await store.intake.refuse(refusal())
    await store.intake.accept(offer("A2"), seal)
    assert await store.outbox.changed(ADT, 1) == Change(counter=2, reload=False)


async def test_an_operators_act_asks_for_a_reload_once(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    counter = (await leader.store.outbox.changed(ADT, 0)).counter
    await leader.store.desk.discard(row, who="ann", why="test", forget=False, now=leader.clock())
    change = await leader.store.outbox.changed(ADT, counter)
    assert change.reload
    await leader.store.intake.accept(offer("A2"), seal)
    assert not (await leader.store.outbox.changed(ADT, change.counter)).reload


async def test_rows_and_acts_of_another_process_are_noticed(store_factory: OpenStore, clock: ManualClock) -> None:
    here, there = await store_factory(), await store_factory()
    await take(here, clock)
    change = await here.outbox.changed(ADT, 0)
    async with asyncio.timeout(10):
        row = (await there.intake.accept(offer("A1"), seal)).row
        while row not in [head.row for head in await here.outbox.heads(ADT, after=RowId(0), limit=9)]:
            change = await here.outbox.changed(ADT, change.counter)
            assert not change.reload, "a new row asks for nothing but reading on"
        await there.desk.halt(ADT, who="ann", why="test", now=clock())
        while not (change := await here.outbox.changed(ADT, change.counter)).reload:
            continue
    assert [halt.who for halt in await here.outbox.halts(ADT)] == ["ann"]


async def test_every_waiter_gets_the_answer_once_it_is_committed(leader: Leader) -> None:
    [row] = await leader.accept("A1", answer=PENDING)
    waiting = [asyncio.create_task(leader.store.intake.wait_answer(row)) for _ in range(3)]
    await leader.fly(row)
    assert not any(each.done() for each in waiting)
    await leader.store.outbox.advance(leader.term, settled(row, answer=b"MSA|AA"), None, leader.clock())
    async with asyncio.timeout(5):
        answers = await asyncio.gather(*waiting)
    assert {(answer.row, answer.body) for answer in answers} == {(row, b"MSA|AA")}
    assert (await leader.store.intake.wait_answer(row)).body == b"MSA|AA", "later ones get it at once"


async def test_a_retry_answers_nobody(leader: Leader) -> None:
    [row] = await leader.accept("A1", answer=PENDING)
    waiting = asyncio.create_task(leader.store.intake.wait_answer(row))
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, RETRY), None, leader.clock())
    await leader.accept("A2")
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_an_answer_settled_by_another_process_arrives(store_factory: OpenStore, clock: ManualClock) -> None:
    here, there = await store_factory(), await store_factory()
    leader = Leader(there, (await take(there, clock)).term, clock)
    receipt = await here.intake.accept(offer("A1", answer=PENDING), seal)
    waiting = asyncio.create_task(here.intake.wait_answer(receipt.row))
    await leader.fly(receipt.row)
    await there.outbox.advance(leader.term, settled(receipt.row, answer=b"MSA|AA"), None, clock())
    async with asyncio.timeout(5):
        assert (await waiting).body == b"MSA|AA"


async def test_a_retransmit_of_a_settled_row_brings_its_application_answer(leader: Leader) -> None:
    [row] = await leader.accept("A1", answer=PENDING)
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, HOLD, answer=b"MSA|AE"), None, leader.clock())
    assert (await leader.store.intake.accept(offer("A1"), seal)).application_answer == b"MSA|AE"
    await leader.store.desk.requeue(row, who="ann", why="again", now=leader.clock())
    assert (await leader.store.intake.accept(offer("A1"), seal)).application_answer is None, "on its way again"


async def test_a_late_accept_replaces_the_answer_given_before(leader: Leader) -> None:
    [row] = await leader.accept("A1", answer=PENDING)
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, HOLD, answer=b"MSA|AE"), None, leader.clock())
    await leader.store.outbox.late(leader.term, settled(row, answer=b"MSA|AA"), leader.clock())
    assert (await leader.store.intake.wait_answer(row)).body == b"MSA|AA"


async def test_pending_answers_are_those_of_the_sender_since_then(leader: Leader) -> None:
    intake = leader.store.intake
    one, two, three, live = await leader.accept("A1", "A2", "A3", "A4", answer=PENDING, sender="S")
    [other] = await leader.accept("B1", answer=PENDING, sender="T", partition="b")
    [bare] = await leader.accept("C1", answer=PENDING, sender="S", partition="c")
    since = []
    for row in (one, two, three):
        await leader.fly(row)
        leader.clock.forward(10)
        since.append(leader.clock.wall)
        await leader.store.outbox.advance(leader.term, settled(row, answer=b"%d" % row), None, leader.clock())
    for row, answer in ((other, b"other"), (bare, None)):
        await leader.fly(row)
        await leader.store.outbox.advance(leader.term, settled(row, answer=answer), None, leader.clock())
    await intake.record_answer(three, AnswerState.DELIVERED, leader.clock())
    found = await intake.pending_answers(ADT, "S", since=since[0])
    assert [(answer.row, answer.body) for answer in found] == [(one, b"%d" % one), (two, b"%d" % two)]
    assert [answer.row for answer in await intake.pending_answers(ADT, "S", since=since[1])] == [two]
    assert await leader.state(live) == State.QUEUED


@pytest.mark.parametrize("end", [AnswerState.DELIVERED, AnswerState.UNDELIVERED])
async def test_the_answer_leg_ends_once(leader: Leader, end: AnswerState) -> None:
    [row] = await leader.accept("A1", answer=PENDING)
    [silent] = await leader.accept("B1", partition="b")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, REFUSE, answer=b"MSA|AR"), None, leader.clock())
    await leader.store.intake.record_answer(row, end, leader.clock())
    await leader.store.intake.record_answer(row, AnswerState.DELIVERED, leader.clock())
    await leader.store.intake.record_answer(silent, AnswerState.DELIVERED, leader.clock())
    found, other = await leader.store.desk.row(row), await leader.store.desk.row(silent)
    assert found is not None
    assert other is not None
    assert (found.answer_state, other.answer_state) == (end, AnswerState.NOT_OWED)
    assert (await leader.kinds(row)).count("answer-delivered") == 1


async def test_closing_tells_everybody_who_waits(store: Store) -> None:
    row = (await store.intake.accept(offer("A1", answer=PENDING), seal)).row
    waiting = [
        asyncio.create_task(store.outbox.changed(LAB, 0)),
        asyncio.create_task(store.intake.wait_answer(row)),
    ]
    # A read of its own tells that both had their turn.
    await store.desk.row(row)
    await store.desk.row(row)
    await store.close()
    for each in waiting:
        with pytest.raises(StoreError):
            await each
    assert store.intake.closed_because == "stopping"
    with pytest.raises(StoreError):
        await store.intake.accept(offer("A2"), seal)
    with pytest.raises(StoreError):
        await store.outbox.changed(ADT, 99)
