"""What people read and do: states that forbid, reasons that are kept, counts that are true."""

from uuid import UUID, uuid4

import pytest

from gateway.errors import OperatorError
from gateway.model.clock import Due
from gateway.model.ids import ChannelName, RowId, row_uuid
from gateway.model.intake import Admission
from gateway.model.policy import RetryPolicy, Strategy
from gateway.model.review import RowFilter
from gateway.model.states import ErrorCode, State
from tests.store.contract.conftest import Leader, Store, findings
from tests.store.samples import (
    ADT,
    HOLD,
    HOLD_AND_HALT,
    LAB,
    REFUSE,
    REFUSE_AND_HALT,
    RETRY,
    offer,
    refusal,
    seal,
    sending,
    settled,
)

WHO = {"who": "ann", "why": "seen at the server"}
DONE = {"requeue": "requeued", "resolve": "resolved", "discard": "discarded"}
ACTS = tuple(DONE)


async def _act(leader: Leader, act: str, row: RowId) -> str | None:
    desk, now = leader.store.desk, leader.clock()
    if act == "requeue":
        return await desk.requeue(row, **WHO, now=now)
    if act == "resolve":
        await desk.resolve(row, **WHO, forget=False, now=now)
    else:
        await desk.discard(row, **WHO, forget=False, now=now)
    return None


async def _bring(leader: Leader, state: State) -> RowId:
    """Bring a fresh row into a state."""
    if state is State.NACKED:
        return await leader.store.intake.refuse(refusal())
    [row] = await leader.accept("A1")
    outbox = leader.store.outbox
    if state is State.CLAIMED:
        await outbox.claim(leader.term, sending(row), leader.clock())
    elif state is State.DISCARDED:
        await _act(leader, "discard", row)
    elif state is not State.QUEUED:
        await leader.fly(row)
        if state is not State.INFLIGHT:
            decision = {State.PROCESSED: settled(row), State.REJECTED: settled(row, REFUSE)}
            await outbox.advance(leader.term, decision.get(state, settled(row, HOLD)), None, leader.clock())
    assert await leader.state(row) == state
    return row


ALLOWED = {
    ("requeue", State.FAILED): State.QUEUED,
    ("requeue", State.REJECTED): State.QUEUED,
    ("resolve", State.FAILED): State.PROCESSED,
    ("resolve", State.REJECTED): State.PROCESSED,
    ("discard", State.QUEUED): State.DISCARDED,
    ("discard", State.FAILED): State.DISCARDED,
    ("discard", State.REJECTED): State.DISCARDED,
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("state", State)
async def test_an_act_is_done_or_refused_by_the_state(leader: Leader, act: str, state: State) -> None:
    row = await _bring(leader, state)
    before = await leader.kinds(row)
    if (act, state) not in ALLOWED:
        with pytest.raises(OperatorError, match=rf"row {row} is {state}; only .* rows can be {act}"):
            await _act(leader, act, row)
        assert (await leader.state(row), await leader.kinds(row)) == (state, before)
        return
    await _act(leader, act, row)
    assert await leader.state(row) == ALLOWED[act, state]
    [event] = (await leader.store.desk.events(row=row, after=0, limit=99))[len(before) :]
    assert (event.actor, event.reason, event.from_state, event.channel) == ("ann", "seen at the server", state, ADT)
    assert event.to_state == ALLOWED[act, state]
    assert await findings(leader.store) == []


async def test_a_row_that_is_not_there_cannot_be_acted_on(leader: Leader) -> None:
    for act in ACTS:
        with pytest.raises(OperatorError, match="there is no row 999"):
            await _act(leader, act, RowId(999))


async def test_requeuing_opens_a_new_generation_with_full_budgets(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, RETRY), None, leader.clock())
    leader.clock.forward(1_000)
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, HOLD, send=2), None, leader.clock())
    assert await _act(leader, "requeue", row) is None
    head = await leader.store.outbox.head(row)
    found = await leader.store.desk.row(row)
    assert head is not None
    assert found is not None
    assert (head.generation, head.attempts, head.link_losses, head.due) == (1, 0, 0, None)
    assert (head.first_sent, head.first_sent_wall, head.sends) == (None, None, 2)
    assert (found.error_code, found.settled_at) == (None, None)


async def test_requeuing_warns_when_later_rows_were_delivered(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    [other] = await leader.accept("B1", partition="b")
    await leader.fly(one)
    await leader.store.outbox.advance(leader.term, settled(one, HOLD), sending(two), leader.clock())
    await leader.fly(other)
    await leader.store.outbox.advance(leader.term, settled(other), None, leader.clock())
    assert await _act(leader, "requeue", one) is None, "the other partition does not count"
    await leader.store.outbox.advance(leader.term, settled(two), sending(one, generation=1), leader.clock())
    again = settled(one, HOLD, generation=1, send=2)
    await leader.store.outbox.advance(leader.term, again, None, leader.clock())
    warning = await _act(leader, "requeue", one)
    assert warning is not None
    assert "already delivered" in warning


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("settlement", [HOLD_AND_HALT, REFUSE_AND_HALT])
async def test_deciding_a_halting_row_lifts_its_halt_and_no_other(leader: Leader, act: str, settlement) -> None:  # type: ignore[no-untyped-def]
    [one] = await leader.accept("A1")
    [two] = await leader.accept("B1", partition="b")
    for row in (one, two):
        await leader.fly(row)
        await leader.store.outbox.advance(leader.term, settled(row, settlement), None, leader.clock())
    await _act(leader, act, one)
    assert [halt.row for halt in await leader.store.outbox.halts(ADT)] == [two]
    assert await leader.store.outbox.halts(LAB) == []
    assert (await leader.kinds(one))[-2:] == [DONE[act], "resumed"]
    assert await findings(leader.store) == []


@pytest.mark.parametrize(("act", "state"), [("resolve", State.PROCESSED), ("discard", State.DISCARDED)])
async def test_forgetting_makes_the_next_copy_new(leader: Leader, act: str, state: State) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, HOLD), None, leader.clock())
    forget = getattr(leader.store.desk, act)
    await forget(row, **WHO, forget=True, now=leader.clock())
    fresh = await leader.store.intake.accept(offer("A1"), seal)
    assert fresh.admission is Admission.NEW
    assert await leader.state(row) == state
    assert await findings(leader.store) == []


async def test_without_forgetting_the_next_copy_is_a_replay(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await _act(leader, "discard", row)
    assert (await leader.store.intake.accept(offer("A1"), seal)).replayed


async def test_a_discarded_row_says_so_and_keeps_its_bytes(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await _act(leader, "discard", row)
    found, stored = await leader.store.desk.row(row), await leader.store.desk.stored(row)
    assert found is not None
    assert stored is not None
    assert (found.error_code, found.settled_at) == (ErrorCode.DISCARDED, leader.clock.wall)
    assert stored.original == offer("A1").original


async def test_a_halted_channel_claims_nothing_until_it_is_resumed(leader: Leader) -> None:
    desk, outbox, now = leader.store.desk, leader.store.outbox, leader.clock()
    [row] = await leader.accept("A1")
    await desk.halt(ADT, **WHO, now=now)
    [halt] = await outbox.halts(ADT)
    assert (halt.partition, halt.row, halt.who, halt.why, halt.since) == (None, None, *WHO.values(), now.wall)
    assert (await outbox.claim(leader.term, sending(row), now)).claim is None
    with pytest.raises(OperatorError, match="is halted already, by ann"):
        await desk.halt(ADT, **WHO, now=now)
    assert await desk.resume(ADT, **WHO, now=now) == 1
    assert await desk.resume(ADT, **WHO, now=now) == 0
    assert await leader.fly(row) == 1
    acts = [
        (event.kind, event.actor) for event in await desk.events(row=None, after=0, limit=99) if event.actor == "ann"
    ]
    assert acts == [("halted", "ann"), ("resumed", "ann")]


async def test_resuming_lifts_the_halts_of_rows_and_leaves_them_in_review(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    await leader.fly(one)
    await leader.store.outbox.advance(leader.term, settled(one, HOLD_AND_HALT), None, leader.clock())
    await leader.store.desk.halt(ADT, **WHO, now=leader.clock())
    assert await leader.store.desk.resume(ADT, **WHO, now=leader.clock()) == 2
    assert await leader.state(one) == State.FAILED
    assert await leader.fly(two) == 1


async def test_acts_on_a_channel_that_is_not_there_are_refused(leader: Leader) -> None:
    ghost, now = ChannelName("ghost"), leader.clock()
    for act in (leader.store.desk.halt, leader.store.desk.resume):
        with pytest.raises(OperatorError, match="there is no channel ghost"):
            await act(ghost, **WHO, now=now)
    with pytest.raises(OperatorError, match="there is no channel ghost"):
        await leader.store.desk.apply_policy(ghost, RetryPolicy(), **WHO, now=now)


async def test_a_policy_is_applied_to_every_live_row_of_the_channel(leader: Leader) -> None:
    one, two, three = await leader.accept("A1", "A2", "A3")
    [lab] = await leader.accept("L1", channel=LAB)
    await leader.fly(one)
    await leader.store.outbox.advance(leader.term, settled(one), sending(two), leader.clock())
    policy = RetryPolicy(strategy=Strategy.LINEAR, initial=5, max=50, jitter=False, attempts=77, horizon=9)
    assert await leader.store.desk.apply_policy(ADT, policy, **WHO, now=leader.clock()) == 2
    heads = await leader.store.outbox.heads(ADT, after=RowId(0), limit=9)
    assert [(head.row, head.policy) for head in heads] == [(two, policy), (three, policy)]
    assert await leader.store.desk.apply_policy(ADT, policy, **WHO, now=leader.clock()) == 2, "once more is no harm"
    untouched = await leader.store.outbox.head(lab)
    assert untouched is not None
    assert untouched.policy is None


async def test_ids_are_read_as_numbers_and_as_public_uuids_of_this_store_only(store: Store) -> None:
    row = (await store.intake.accept(offer("A1"), seal)).row
    desk = store.desk
    found = await desk.row(row)
    assert found is not None
    assert found.id == row_uuid(desk.store_id, row)
    assert await desk.resolve_id(str(row)) == row
    assert await desk.resolve_id(f" {found.id} ") == row
    assert await desk.resolve_id(str(found.id).upper()) == row
    unknown = [str(uuid4()), str(row_uuid(desk.store_id, RowId(9))), "9", "0", "-1", "A1", "", "9" * 40]
    unknown.append(str(UUID(int=desk.store_id.int)))
    for text in unknown:
        assert await desk.resolve_id(text) is None, text


async def test_rows_are_listed_oldest_first_by_what_was_asked(leader: Leader) -> None:
    rows = await leader.accept(*(f"A{number}" for number in range(1_203)))
    [lab] = await leader.accept("L1", channel=LAB)
    nacked = await leader.store.intake.refuse(refusal())
    await _act(leader, "discard", rows[5])

    async def listed(which: RowFilter) -> list[RowId]:
        return [row.row async for row in leader.store.desk.rows(which)]

    assert await listed(RowFilter()) == [*rows, lab, nacked]
    assert await listed(RowFilter(channel=ADT)) == [*rows, nacked]
    assert await listed(RowFilter(channel=LAB)) == [lab]
    assert await listed(RowFilter(limit=3)) == rows[:3]
    assert await listed(RowFilter(limit=501)) == rows[:501]
    assert await listed(RowFilter(limit=0)) == []
    assert await listed(RowFilter(states=(State.DISCARDED, State.NACKED))) == [rows[5], nacked]
    assert await listed(RowFilter(control_id=b"A7")) == [rows[7]]
    assert await listed(RowFilter(control_id=b"A7", channel=LAB)) == []
    assert await leader.store.desk.row(RowId(9_999)) is None
    assert await leader.store.desk.stored(RowId(9_999)) is None


async def test_a_summary_counts_what_the_table_holds(leader: Leader) -> None:
    store = leader.store
    rows = [
        *await leader.accept("A1", stamped=True),
        *(await leader.accept("A2", "A3", "A4", "A5", "A6", "A7", stamped=True)),
    ]
    outbox, now = store.outbox, leader.clock()
    await leader.fly(rows[0])
    await outbox.advance(leader.term, settled(rows[0]), sending(rows[1]), now)
    await outbox.advance(leader.term, settled(rows[1], REFUSE), sending(rows[2]), now)
    await outbox.advance(leader.term, settled(rows[2], HOLD), sending(rows[3]), now)
    await outbox.advance(leader.term, settled(rows[3], RETRY), None, now)
    await _act(leader, "discard", rows[6])
    await store.intake.refuse(refusal())
    adt, lab = await store.desk.summaries()
    assert (adt.channel, lab.channel) == (ADT, LAB)
    assert adt.counts == {
        State.QUEUED: 3,
        State.CLAIMED: 0,
        State.INFLIGHT: 0,
        State.PROCESSED: 1,
        State.REJECTED: 1,
        State.FAILED: 1,
        State.DISCARDED: 1,
        State.NACKED: 1,
    }
    assert (adt.depth, adt.in_review, adt.last_sequence) == (3, 2, 7)
    assert (adt.head, adt.head_state, adt.head_attempts) == (rows[3], State.QUEUED, 1)
    assert adt.head_due == Due(boot_id="boot-1", ms=now.ms + 1_000)
    assert (adt.last_error, adt.oldest_at) == (ErrorCode.UPSTREAM_ERROR, 1_770_000_000_000)
    assert (lab.depth, lab.head, lab.head_state, lab.last_sequence, lab.last_error) == (0, None, None, None, None)
    leader.clock.forward(1_000)
    await leader.fly(rows[3])
    assert (await store.desk.summaries())[0].counts[State.INFLIGHT] == 1


async def test_counts_follow_rows_that_leave_review(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, HOLD), None, leader.clock())
    await _act(leader, "resolve", row)
    summary = (await leader.store.desk.summaries())[0]
    assert (summary.counts[State.FAILED], summary.counts[State.PROCESSED], summary.in_review) == (0, 1, 0)


async def test_events_come_in_order_and_by_pages(leader: Leader) -> None:
    await leader.accept("A1", "A2")
    every = await leader.store.desk.events(row=None, after=0, limit=99)
    assert [event.kind for event in every] == ["lease-taken", "accepted", "accepted"]
    assert await leader.store.desk.events(row=None, after=every[0].id, limit=1) == every[1:2]
    assert await leader.store.desk.events(row=RowId(2), after=0, limit=9) == every[2:]
