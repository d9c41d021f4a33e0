"""Which rows in review a retransmit queues again, and that every other one waits for a person."""

import asyncio

import pytest

from gateway.model.delivery import Again, GiveUp, Settlement
from gateway.model.ids import RowId
from gateway.model.intake import Admission, Receipt
from gateway.model.policy import OnCollision, OnFailedRetransmit
from gateway.model.states import ErrorCode, Event, State
from tests.store.contract.conftest import Leader, OpenStore, findings
from tests.store.samples import (
    ADT,
    EXHAUSTED,
    HOLD,
    REFUSE,
    RETRY,
    TROUBLE,
    offer,
    seal,
    sending,
    settled,
)

BUSY = Again(event=Event.DEFERRED, wait=0, counted=False, code=ErrorCode.SERVER_BUSY)
CUT = Again(event=Event.RETRY, wait=0, counted=False, code=ErrorCode.INTERRUPTED)
LATE = Again(event=Event.RETRY, wait=0, counted=False, code=ErrorCode.RESPONSE_TIMEOUT)
MIXED = Again(event=Event.RETRY, wait=0, counted=False, code=ErrorCode.ANSWER_MISMATCH)
LOST = Again(event=Event.RETRY, wait=0, counted=False, code=ErrorCode.SERVER_ERROR, link_lost=True)
COUNTED = GiveUp(event=Event.EXHAUSTED, code=ErrorCode.RETRY_EXHAUSTED, counted=True)
CORRUPT = GiveUp(event=Event.EXHAUSTED, code=ErrorCode.CORRUPT)
HALTING = GiveUp(event=Event.EXHAUSTED, code=ErrorCode.RETRY_EXHAUSTED, halts=True)


async def _through(leader: Leader, row: RowId, *settlements: Settlement, generation: int = 0) -> None:
    """Send a row once for every settlement; the last one puts it into review."""
    for settlement in settlements:
        leader.clock.forward(1_000)
        send = await leader.fly(row, generation=generation)
        done = await leader.store.outbox.advance(
            leader.term, settled(row, settlement, generation=generation, send=send), None, leader.clock()
        )
        assert done.settled


async def _again(leader: Leader, policy: OnFailedRetransmit = OnFailedRetransmit.REQUEUE) -> Receipt:
    copy = offer("A1", on_failed_retransmit=policy, received_at=leader.clock.wall)
    return await leader.store.intake.accept(copy, lambda *_: pytest.fail("sealed twice"))


@pytest.mark.parametrize("before", [(), (TROUBLE,), (BUSY, TROUBLE)])
async def test_a_row_that_met_nothing_but_trouble_of_the_server_is_queued_again(
    leader: Leader, before: tuple[Settlement, ...]
) -> None:
    first = await leader.store.intake.accept(offer("A1"), seal)
    await _through(leader, first.row, *before, EXHAUSTED)
    again = await _again(leader)
    assert (again.admission, again.row, again.answer, again.revived) == (
        Admission.REPLAY,
        first.row,
        first.answer,
        True,
    )
    assert (again.state, again.application_answer) == (State.QUEUED, None)
    row = await leader.store.desk.row(first.row)
    assert row is not None
    assert (row.state, row.generation, row.attempts, row.error_code, row.settled_at) == ("queued", 1, 0, None, None)
    (noted,) = [
        each for each in await leader.store.desk.events(row=first.row, after=0, limit=99) if each.kind == "requeued"
    ]
    assert (noted.actor, noted.from_state, noted.to_state) == ("system", "failed", "queued")
    assert noted.reason == "its sender sent it again"
    assert await leader.fly(first.row, generation=1) == len(before) + 2
    assert await findings(leader.store) == []


@pytest.mark.parametrize(
    "path",
    [
        (HOLD,),
        (REFUSE,),
        (CORRUPT,),
        (COUNTED,),
        (RETRY, EXHAUSTED),
        (CUT, EXHAUSTED),
        (LATE, EXHAUSTED),
        (MIXED, EXHAUSTED),
        (LOST, EXHAUSTED),
    ],
)
async def test_a_row_with_a_refusal_or_a_doubt_in_its_history_waits_for_a_person(
    leader: Leader, path: tuple[Settlement, ...]
) -> None:
    [row] = await leader.accept("A1")
    await _through(leader, row, *path)
    before = await leader.state(row)
    again = await _again(leader)
    assert (again.revived, again.state) == (False, before)
    assert await leader.state(row) == before
    found = await leader.store.desk.row(row)
    assert found is not None
    assert "retransmitted" in found.flags


@pytest.mark.parametrize("doubt", [HOLD, GiveUp(event=Event.IN_DOUBT, code=ErrorCode.SERVER_ERROR)])
async def test_a_doubt_of_an_earlier_generation_counts_whatever_its_code(leader: Leader, doubt: Settlement) -> None:
    [row] = await leader.accept("A1")
    await _through(leader, row, doubt)
    await leader.store.desk.requeue(row, who="ann", why="test", now=leader.clock())
    await _through(leader, row, EXHAUSTED, generation=1)
    assert not (await _again(leader)).revived
    assert await leader.state(row) == State.FAILED


async def test_a_quarantined_row_waits_for_a_person(leader: Leader) -> None:
    await leader.store.intake.accept(offer("A1", text="first"), seal)
    kept = await leader.store.intake.accept(offer("A1", on_collision=OnCollision.QUARANTINE), seal)
    assert kept.state is State.FAILED
    assert not (await _again(leader)).revived
    assert await leader.state(kept.row) == State.FAILED


async def test_keep_leaves_every_row_where_it_is(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await _through(leader, row, EXHAUSTED)
    assert not (await _again(leader, OnFailedRetransmit.KEEP)).revived
    assert await leader.state(row) == State.FAILED


async def test_a_revived_row_lifts_its_halt_and_is_noticed_here_and_in_another_process(
    leader: Leader, store_factory: OpenStore
) -> None:
    [row, behind] = await leader.accept("A1", "A2")
    await _through(leader, row, HALTING)
    assert len(await leader.store.outbox.halts(ADT)) == 1
    other = await store_factory()
    seen = await leader.store.outbox.changed(ADT, 0)
    assert (await _again(leader)).revived
    assert await leader.store.outbox.halts(ADT) == []
    async with asyncio.timeout(10):
        for store, counter in ((leader.store, seen.counter), (other, 0)):
            change = await store.outbox.changed(ADT, counter)
            while not change.reload:
                change = await store.outbox.changed(ADT, change.counter)
    claim = (await leader.store.outbox.claim(leader.term, sending(behind), leader.clock())).claim
    assert claim is None, "A1 is the head"
    await _through(leader, row, EXHAUSTED, generation=1)
    assert (await _again(leader)).revived, "as often as its sender asks"
