"""Claims, marks, settles: order, budgets, due times and the fence."""

import pytest

from gateway.errors import StaleEpoch
from gateway.model.clock import Due
from gateway.model.delivery import Again, GiveUp
from gateway.model.ids import RowId
from gateway.model.policy import RetryPolicy
from gateway.model.states import AnswerState, ErrorCode, Event, State
from tests.store.contract.conftest import Leader, findings
from tests.store.samples import (
    ACCEPT,
    ADT,
    HOLD,
    HOLD_AND_HALT,
    LAB,
    POLICY,
    REFUSE,
    REFUSE_AND_HALT,
    RELEASE,
    RETRY,
    SAID,
    offer,
    refusal,
    seal,
    sending,
    settled,
    stale,
)

START = RowId(0)


async def test_heads_are_the_live_rows_in_store_order_by_pages(leader: Leader) -> None:
    outbox = leader.store.outbox
    rows = await leader.accept("A1", "A2", "A3", "A4")
    await leader.store.intake.accept(offer("L1", channel=LAB), seal)
    await leader.store.intake.refuse(refusal())
    await leader.fly(rows[0])
    first = await outbox.heads(ADT, after=START, limit=2)
    rest = await outbox.heads(ADT, after=first[-1].row, limit=10)
    assert [head.row for head in [*first, *rest]] == rows
    assert [head.state for head in first] == [State.INFLIGHT, State.QUEUED]
    await outbox.advance(leader.term, settled(rows[0]), None, leader.clock())
    assert [head.row for head in await outbox.heads(ADT, after=START, limit=9)] == rows[1:]


async def test_a_head_tells_everything_the_leader_decides_by(leader: Leader) -> None:
    [row] = await leader.accept("A1", partition="77", barrier=True)
    fresh = await leader.store.outbox.head(row)
    assert fresh is not None
    assert (fresh.partition, fresh.barrier, fresh.policy, fresh.first_sent) == ("77", True, None, None)
    sent_at = leader.clock()
    await leader.fly(row)
    leader.clock.forward(50)
    await leader.store.outbox.advance(leader.term, settled(row, RETRY), None, leader.clock())
    head = await leader.store.outbox.head(row)
    assert head is not None
    assert (head.state, head.generation, head.sends, head.attempts, head.link_losses) == (State.QUEUED, 0, 1, 1, 0)
    assert head.policy == POLICY
    assert head.due == Due(boot_id="boot-1", ms=leader.clock.ms + 1_000)
    assert head.first_sent == Due(boot_id="boot-1", ms=sent_at.ms)
    assert head.first_sent_wall == sent_at.wall
    assert await leader.store.outbox.head(RowId(999)) is None


async def test_inflight_gives_marked_rows_only(leader: Leader) -> None:
    one, two, three = await leader.accept("A1", "A2", "A3", partition="x")
    assert await leader.store.outbox.inflight(ADT) == []
    await leader.store.outbox.claim(leader.term, sending(one), leader.clock())
    assert await leader.store.outbox.inflight(ADT) == []
    await leader.store.outbox.mark_sent(leader.term, one, leader.clock())
    assert [head.row for head in await leader.store.outbox.inflight(ADT)] == [one]
    assert {two, three} == {head.row for head in await leader.store.outbox.heads(ADT, after=one, limit=9)}


async def test_content_is_what_sending_needs(leader: Leader) -> None:
    given = offer("A1", stamped=True, answer=AnswerState.PENDING)
    row = (await leader.store.intake.accept(given, seal)).row
    content = await leader.store.outbox.content(row)
    assert content is not None
    assert (content.original, content.sha256, content.control_id) == (given.original, given.sha256, b"A1")
    assert (content.encoding, content.sequence, content.remote) == ("utf-8", 1, given.remote)
    assert content.owes_answer
    assert await leader.store.outbox.content(RowId(999)) is None


async def test_claim_then_mark_then_settle_writes_every_event(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    advance = await leader.store.outbox.claim(leader.term, sending(row), leader.clock())
    assert advance.claim is not None
    assert (advance.claim.send, advance.claim.policy, advance.claim.first_sent) == (1, POLICY, None)
    assert await leader.state(row) == State.CLAIMED
    leader.clock.forward(5)
    assert await leader.store.outbox.mark_sent(leader.term, row, leader.clock())
    assert not await leader.store.outbox.mark_sent(leader.term, row, leader.clock())
    found = await leader.store.desk.row(row)
    assert found is not None
    assert (found.state, found.first_sent_at) == (State.INFLIGHT, leader.clock.wall)
    leader.clock.forward(5)
    done = await leader.store.outbox.advance(leader.term, settled(row, reply=SAID), None, leader.clock())
    assert (done.settled, done.claim) == (True, None)
    found = await leader.store.desk.row(row)
    assert found is not None
    assert (found.state, found.settled_at, found.error_code) == (State.PROCESSED, leader.clock.wall, None)
    events = await leader.store.desk.events(row=row, after=0, limit=9)
    assert [(event.kind, event.from_state, event.to_state, event.send, event.epoch) for event in events] == [
        ("accepted", None, "queued", None, None),
        ("claimed", "queued", "claimed", 1, 1),
        ("sent", "claimed", "inflight", 1, 1),
        ("accepted", "inflight", "processed", 1, 1),
    ]
    stored = await leader.store.desk.stored(row)
    assert stored is not None
    assert (stored.server_status, stored.server_body) == (200, "MSH|said")
    assert await findings(leader.store) == []


async def test_settling_one_row_sends_the_next_in_the_same_step(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    await leader.fly(one)
    leader.clock.forward(7)
    done = await leader.store.outbox.advance(leader.term, settled(one), sending(two), leader.clock())
    assert done.settled
    assert done.claim is not None
    assert (done.claim.row, done.claim.send) == (two, 1)
    assert done.claim.first_sent == Due(boot_id="boot-1", ms=leader.clock.ms)
    assert done.claim.first_sent_wall == leader.clock.wall
    assert (await leader.state(one), await leader.state(two)) == (State.PROCESSED, State.INFLIGHT)
    assert await leader.kinds(two) == ["accepted", "claimed", "sent"]
    assert await findings(leader.store) == []


@pytest.mark.parametrize(("partition", "beside"), [("", "other"), ("77", "other"), ("77", "")])
async def test_only_the_head_of_its_partition_can_be_claimed(leader: Leader, partition: str, beside: str) -> None:
    one, two = await leader.accept("A1", "A2", partition=partition)
    [other] = await leader.accept("B1", partition=beside)
    outbox = leader.store.outbox
    assert (await outbox.claim(leader.term, sending(two), leader.clock())).claim is None
    assert (await outbox.claim(leader.term, sending(other), leader.clock())).claim is not None
    await leader.fly(one)
    assert (await outbox.claim(leader.term, sending(two), leader.clock())).claim is None, "one is in flight"
    await outbox.advance(leader.term, settled(one, RETRY), None, leader.clock())
    assert (await outbox.claim(leader.term, sending(two), leader.clock())).claim is None, "one waits for its retry"
    assert await leader.state(two) == State.QUEUED


async def test_the_following_claim_sees_a_retry_and_finds_nothing_but_the_settle_stays(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    await leader.fly(one)
    done = await leader.store.outbox.advance(leader.term, settled(one, RETRY), sending(two), leader.clock())
    assert (done.settled, done.claim) == (True, None)
    assert (await leader.state(one), await leader.state(two)) == (State.QUEUED, State.QUEUED)


async def test_the_following_claim_sees_a_halt_and_finds_nothing(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    [other] = await leader.accept("B1", partition="other")
    await leader.fly(one)
    done = await leader.store.outbox.advance(leader.term, settled(one, REFUSE_AND_HALT), sending(two), leader.clock())
    assert (done.settled, done.claim) == (True, None)
    [halt] = await leader.store.outbox.halts(ADT)
    assert (halt.partition, halt.row, halt.who, halt.why) == ("", one, "system", ErrorCode.UPSTREAM_REJECTED)
    assert (await leader.store.outbox.claim(leader.term, sending(other), leader.clock())).claim is not None
    assert await findings(leader.store) == []


async def test_a_parked_row_lets_the_next_one_go(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    await leader.fly(one)
    done = await leader.store.outbox.advance(leader.term, settled(one, HOLD), sending(two), leader.clock())
    assert done.claim is not None
    found = await leader.store.desk.row(one)
    assert found is not None
    assert (found.state, found.error_code) == (State.FAILED, ErrorCode.RESPONSE_TIMEOUT)


async def test_a_row_is_not_claimed_before_it_is_due(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, RETRY), None, leader.clock())
    leader.clock.forward(999)
    assert (await leader.store.outbox.claim(leader.term, sending(row), leader.clock())).claim is None
    leader.clock.forward(1)
    again = await leader.store.outbox.claim(leader.term, sending(row), leader.clock())
    assert again.claim is not None
    assert (again.claim.send, again.claim.attempts) == (2, 1)


async def test_a_claim_for_another_generation_finds_nothing(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    assert (await leader.store.outbox.claim(leader.term, sending(row, generation=1), leader.clock())).claim is None


async def test_a_claim_under_another_channels_name_finds_nothing(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    assert (await leader.store.outbox.claim(leader.term, sending(row, channel=LAB), leader.clock())).claim is None


async def test_a_barrier_waits_for_every_earlier_row_and_lets_nothing_pass(leader: Leader) -> None:
    [before] = await leader.accept("A1", partition="x")
    [barrier] = await leader.accept("M1", partition="y", barrier=True)
    [after] = await leader.accept("A2", partition="z")
    outbox = leader.store.outbox
    assert (await outbox.claim(leader.term, sending(barrier), leader.clock())).claim is None
    assert (await outbox.claim(leader.term, sending(after), leader.clock())).claim is None
    await leader.fly(before)
    assert (await outbox.claim(leader.term, sending(barrier), leader.clock())).claim is None
    await outbox.advance(leader.term, settled(before), None, leader.clock())
    await leader.fly(barrier)
    assert (await outbox.claim(leader.term, sending(after), leader.clock())).claim is None
    await outbox.advance(leader.term, settled(barrier), None, leader.clock())
    assert await leader.fly(after) == 1


async def test_a_requeued_row_is_next_but_not_beside_a_row_of_its_partition_in_flight(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    await leader.fly(one)
    await leader.store.outbox.advance(leader.term, settled(one, HOLD), sending(two), leader.clock())
    await leader.store.desk.requeue(one, who="ann", why="try again", now=leader.clock())
    outbox = leader.store.outbox
    assert (await outbox.claim(leader.term, sending(one, generation=1), leader.clock())).claim is None
    done = await outbox.advance(leader.term, settled(two), sending(one, generation=1), leader.clock())
    assert done.claim is not None
    assert (done.claim.row, done.claim.generation, done.claim.send) == (one, 1, 2), "sends are never used twice"
    assert await findings(leader.store) == []


@pytest.mark.parametrize("in_flight", [False, True])
async def test_a_release_counts_nothing_and_takes_the_first_write_back(leader: Leader, in_flight: bool) -> None:
    [row] = await leader.accept("A1")
    if in_flight:
        await leader.fly(row)
    else:
        await leader.store.outbox.claim(leader.term, sending(row), leader.clock())
    assert (await leader.store.outbox.advance(leader.term, settled(row, RELEASE), None, leader.clock())).settled
    head = await leader.store.outbox.head(row)
    assert head is not None
    assert (head.state, head.sends, head.attempts, head.due) == (State.QUEUED, 1, 0, None)
    assert (head.first_sent, head.first_sent_wall) == (None, None), "a row that was never written has no horizon"
    assert await findings(leader.store) == []


async def test_a_release_after_a_real_write_keeps_the_first_write(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    first = leader.clock()
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, RETRY), None, leader.clock())
    leader.clock.forward(1_000)
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, RELEASE, send=2), None, leader.clock())
    head = await leader.store.outbox.head(row)
    assert head is not None
    assert (head.first_sent_wall, head.attempts) == (first.wall, 1)


async def test_what_a_verdict_counts_is_counted(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    lost = Again(event=Event.RETRY, wait=0, counted=True, code=ErrorCode.INTERRUPTED, link_lost=True)
    await leader.store.outbox.advance(leader.term, settled(row, lost), None, leader.clock())
    await leader.fly(row)
    busy = Again(event=Event.DEFERRED, wait=0, counted=False, code=ErrorCode.SERVER_BUSY)
    await leader.store.outbox.advance(leader.term, settled(row, busy, send=2), None, leader.clock())
    found = await leader.store.desk.row(row)
    assert found is not None
    assert (found.attempts, found.link_losses, found.error_code) == (1, 1, ErrorCode.SERVER_BUSY)
    await leader.fly(row)
    gone = GiveUp(event=Event.EXHAUSTED, code=ErrorCode.RETRY_EXHAUSTED, counted=True, link_lost=True)
    await leader.store.outbox.advance(leader.term, settled(row, gone, send=3), None, leader.clock())
    found = await leader.store.desk.row(row)
    assert found is not None
    assert (found.state, found.attempts, found.link_losses) == (State.FAILED, 2, 2)
    assert await findings(leader.store) == []


async def test_a_claimed_row_whose_bytes_cannot_be_read_goes_into_review(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.store.outbox.claim(leader.term, sending(row), leader.clock())
    gone = GiveUp(event=Event.EXHAUSTED, code=ErrorCode.CORRUPT)
    assert (await leader.store.outbox.advance(leader.term, settled(row, gone), None, leader.clock())).settled
    assert await leader.state(row) == State.FAILED
    assert await findings(leader.store) == []


@pytest.mark.parametrize(("generation", "send"), [(0, 2), (1, 1), (0, 0)])
async def test_a_settle_of_another_send_meets_nothing(leader: Leader, generation: int, send: int) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    wrong = settled(row, generation=generation, send=send, answer=b"answer", reply=SAID)
    assert not (await leader.store.outbox.advance(leader.term, wrong, None, leader.clock())).settled
    assert await leader.state(row) == State.INFLIGHT
    stored = await leader.store.desk.stored(row)
    assert stored is not None
    assert (stored.application_answer, stored.server_body) == (None, None)


async def test_a_row_settles_once(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    assert (await leader.store.outbox.advance(leader.term, settled(row), None, leader.clock())).settled
    assert not (await leader.store.outbox.advance(leader.term, settled(row, REFUSE), None, leader.clock())).settled
    assert await leader.state(row) == State.PROCESSED


async def test_the_policy_of_the_first_claim_stays_with_the_row(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, RELEASE), None, leader.clock())
    later = sending(row, policy=RetryPolicy(attempts=99, jitter=False))
    claim = (await leader.store.outbox.claim(leader.term, later, leader.clock())).claim
    assert claim is not None
    assert claim.policy == POLICY


async def test_a_stale_term_changes_nothing_whatever_it_tries(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    await leader.store.outbox.claim(leader.term, sending(one), leader.clock())
    old, outbox, now = stale(leader.term), leader.store.outbox, leader.clock()
    for attempt in (
        outbox.claim(old, sending(two), now),
        outbox.mark_sent(old, one, now),
        outbox.advance(old, settled(one, RELEASE), sending(two), now),
        outbox.late(old, settled(one), now),
    ):
        with pytest.raises(StaleEpoch):
            await attempt
    assert (await leader.state(one), await leader.state(two)) == (State.CLAIMED, State.QUEUED)
    assert await leader.kinds(one) == ["accepted", "claimed"]


async def test_an_accept_clears_the_code_of_an_earlier_try(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, RETRY), None, leader.clock())
    leader.clock.forward(1_000)
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, ACCEPT, send=2), None, leader.clock())
    found = await leader.store.desk.row(row)
    assert found is not None
    assert (found.error_code, found.due) == (None, None)


async def test_evidence_moves_nothing_and_needs_no_term(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.store.outbox.evidence(row, kind="receipt", detail="at the server", now=leader.clock())
    await leader.store.outbox.evidence(row, kind="earlier-generation", detail="accepted", now=leader.clock())
    await leader.store.outbox.evidence(RowId(999), kind="receipt", detail="unknown row", now=leader.clock())
    events = await leader.store.desk.events(row=row, after=0, limit=9)
    assert [(event.kind, event.reason) for event in events[1:]] == [
        ("receipt", "at the server"),
        ("evidence", "earlier-generation: accepted"),
    ]
    assert await leader.state(row) == State.QUEUED


async def test_a_halt_by_a_row_in_doubt_is_lifted_by_its_late_answer(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    await leader.fly(one)
    await leader.store.outbox.advance(leader.term, settled(one, HOLD_AND_HALT), None, leader.clock())
    assert (await leader.store.outbox.claim(leader.term, sending(two), leader.clock())).claim is None
    assert await leader.store.outbox.late(leader.term, settled(one), leader.clock())
    assert await leader.store.outbox.halts(ADT) == []
    assert await leader.fly(two) == 1
    assert await findings(leader.store) == []
