"""Late answers: what still moves a row, and what is only kept (PROTOCOL, section 1, correlation)."""

import pytest

from gateway.errors import StaleEpoch
from gateway.model.delivery import Finish
from gateway.model.ids import RowId
from gateway.model.states import ErrorCode, Event, State
from tests.store.contract.conftest import Leader, findings, take
from tests.store.samples import ADT, HOLD, REFUSE, REFUSE_AND_HALT, RETRY, SAID, TTL, sending, settled


async def _in_review(leader: Leader) -> RowId:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, HOLD), None, leader.clock())
    return row


async def _in_backoff(leader: Leader) -> RowId:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, RETRY), None, leader.clock())
    return row


@pytest.mark.parametrize("begin", [_in_review, _in_backoff])
async def test_a_late_accept_counts_as_if_in_time(leader: Leader, begin) -> None:  # type: ignore[no-untyped-def]
    row = await begin(leader)
    assert await leader.store.outbox.late(leader.term, settled(row, reply=SAID, answer=b"AA"), leader.clock())
    found = await leader.store.desk.row(row)
    stored = await leader.store.desk.stored(row)
    assert found is not None
    assert stored is not None
    assert (found.state, found.error_code, found.due) == (State.PROCESSED, None, None)
    assert found.settled_at == leader.clock.wall
    assert (stored.application_answer, stored.server_status) == (b"AA", 200)
    assert (await leader.kinds(row))[-1] == "late-accept"
    assert await findings(leader.store) == []


@pytest.mark.parametrize("begin", [_in_review, _in_backoff])
async def test_a_late_refusal_of_the_last_send_rejects(leader: Leader, begin) -> None:  # type: ignore[no-untyped-def]
    row = await begin(leader)
    assert await leader.store.outbox.late(leader.term, settled(row, REFUSE_AND_HALT), leader.clock())
    found = await leader.store.desk.row(row)
    assert found is not None
    assert (found.state, found.error_code) == (State.REJECTED, ErrorCode.UPSTREAM_REJECTED)
    assert [halt.row for halt in await leader.store.outbox.halts(ADT)] == [row]
    assert await findings(leader.store) == []


async def test_a_late_refusal_of_an_earlier_send_is_evidence_only(leader: Leader) -> None:
    row = await _in_backoff(leader)
    leader.clock.forward(1_000)
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, RETRY, send=2), None, leader.clock())
    assert not await leader.store.outbox.late(leader.term, settled(row, REFUSE), leader.clock())
    assert await leader.state(row) == State.QUEUED
    assert (await leader.kinds(row))[-1] == "evidence"


async def test_a_late_accept_of_an_earlier_send_settles_the_row_in_flight(leader: Leader) -> None:
    row = await _in_backoff(leader)
    leader.clock.forward(1_000)
    await leader.fly(row)
    assert await leader.store.outbox.late(leader.term, settled(row), leader.clock())
    assert await leader.state(row) == State.PROCESSED
    assert not (await leader.store.outbox.advance(leader.term, settled(row, send=2), None, leader.clock())).settled
    assert await findings(leader.store) == []


async def test_an_earlier_generation_counts_only_as_accept_of_a_row_not_sent_again(leader: Leader) -> None:
    row = await _in_review(leader)
    await leader.store.desk.requeue(row, who="ann", why="again", now=leader.clock())
    assert not await leader.store.outbox.late(leader.term, settled(row, REFUSE), leader.clock())
    assert await leader.state(row) == State.QUEUED
    await leader.fly(row, generation=1)
    assert not await leader.store.outbox.late(leader.term, settled(row), leader.clock())
    assert await leader.state(row) == State.INFLIGHT
    again = settled(row, RETRY, generation=1, send=2)
    await leader.store.outbox.advance(leader.term, again, None, leader.clock())
    assert not await leader.store.outbox.late(leader.term, settled(row), leader.clock()), "sent in this generation"
    assert await leader.state(row) == State.QUEUED


async def test_an_accept_of_an_earlier_generation_settles_a_row_not_sent_again(leader: Leader) -> None:
    row = await _in_review(leader)
    await leader.store.desk.requeue(row, who="ann", why="again", now=leader.clock())
    assert await leader.store.outbox.late(leader.term, settled(row), leader.clock())
    assert await leader.state(row) == State.PROCESSED
    assert await findings(leader.store) == []


@pytest.mark.parametrize("what", [settled(RowId(1), RETRY), settled(RowId(1), send=2), settled(RowId(1), generation=1)])
async def test_what_is_no_final_answer_to_a_send_of_the_row_moves_nothing(leader: Leader, what) -> None:  # type: ignore[no-untyped-def]
    row = await _in_review(leader)
    assert row == 1
    assert not await leader.store.outbox.late(leader.term, what, leader.clock())
    assert await leader.state(row) == State.FAILED


async def test_an_answer_to_an_unknown_row_is_dropped(leader: Leader) -> None:
    assert not await leader.store.outbox.late(leader.term, settled(RowId(999)), leader.clock())


async def test_a_claimed_row_is_not_moved_by_a_late_answer(leader: Leader) -> None:
    row = await _in_backoff(leader)
    leader.clock.forward(1_000)
    await leader.store.outbox.claim(leader.term, sending(row), leader.clock())
    assert not await leader.store.outbox.late(leader.term, settled(row), leader.clock())
    assert await leader.state(row) == State.CLAIMED


@pytest.mark.parametrize(
    ("said", "state"),
    [
        (Finish(event=Event.ACCEPTED), State.PROCESSED),
        (REFUSE, State.REJECTED),
        (RETRY, State.FAILED),
    ],
)
async def test_what_a_stale_leader_learned_decides_the_row_at_the_take_over(
    leader: Leader, said: Finish, state: State
) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    leader.clock.forward(TTL)
    # The old leader's answer comes in while its lease is over, but before anybody else has taken it.
    stale = type(leader.term)(group=leader.term.group, holder="gone", epoch=leader.term.epoch)
    with pytest.raises(StaleEpoch):
        await leader.store.outbox.advance(stale, settled(row, said, reply=SAID), None, leader.clock())
    assert await leader.state(row) == State.INFLIGHT
    taken = await take(leader.store, leader.clock, holder="two")
    assert taken.doubtful == ()
    assert await leader.state(row) == state
    assert await findings(leader.store) == []
