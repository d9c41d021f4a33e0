"""The live rows in memory: order, plans, and pages that were read while something moved."""

import pytest

from gateway.core.partition import Ready, Wait
from gateway.dispatcher.heads import Heads
from gateway.model.clock import Due, Now
from gateway.model.delivery import Again, Finish, GiveUp, Head, Release, Settlement
from gateway.model.ids import RowId
from gateway.model.states import ErrorCode, Event, State

NOW = Now(wall=0, boot_id="boot", ms=1_000)
ACCEPTED = Finish(event=Event.ACCEPTED)


def head(row: int, partition: str = "", *, state: State = State.QUEUED, due: int | None = None) -> Head:
    return Head(
        row=RowId(row),
        partition=partition,
        barrier=False,
        state=state,
        generation=0,
        sends=0,
        attempts=0,
        link_losses=0,
        due=None if due is None else Due(boot_id="boot", ms=due),
        policy=None,
        first_sent=None,
        first_sent_wall=None,
    )


def heads(*rows: Head, limit: int = 1) -> Heads:
    made = Heads(limit=limit, foreign_wait=100)
    made.extend(rows)
    return made


def next_of(plan: Ready | Wait) -> int | None:
    return plan.head.row if isinstance(plan, Ready) else None


def test_a_row_taken_is_planned_by_nobody_else() -> None:
    some = heads(head(1), head(2), limit=2)
    some.take(RowId(1))
    assert next_of(some.plan(NOW)) is None


def test_a_row_given_back_may_go_again() -> None:
    some = heads(head(1))
    some.take(RowId(1))
    some.give_back(RowId(1))
    assert next_of(some.plan(NOW)) == 1


@pytest.mark.parametrize(
    ("settlement", "following"),
    [
        (ACCEPTED, 2),
        (Finish(event=Event.REFUSED, code=ErrorCode.UPSTREAM_REJECTED), 2),
        (Finish(event=Event.REFUSED, code=ErrorCode.UPSTREAM_REJECTED, halts=True), None),
        (GiveUp(event=Event.IN_DOUBT, code=ErrorCode.INTERRUPTED), 2),
        (GiveUp(event=Event.IN_DOUBT, code=ErrorCode.INTERRUPTED, halts=True), None),
        (Again(event=Event.RETRY, wait=500, counted=True), None),
        (Again(event=Event.DEFERRED, wait=0, counted=False), 1),
        (Release(), 1),
    ],
)
def test_the_plan_before_a_settlement_is_the_plan_after_it(settlement: Settlement, following: int | None) -> None:
    some = heads(head(1), head(2))
    some.take(RowId(1))
    assert next_of(some.plan_after(RowId(1), settlement, NOW)) == following
    some.settle(RowId(1), settlement, NOW)
    assert next_of(some.plan(NOW)) == following


def test_a_retry_keeps_its_place_and_its_numbers() -> None:
    some = heads(head(1), head(2))
    some.take(RowId(1))
    some.settle(RowId(1), Again(event=Event.RETRY, wait=500, counted=True, link_lost=True), NOW)
    plan = some.plan(Now(wall=0, boot_id="boot", ms=1_500))
    assert isinstance(plan, Ready)
    assert (plan.head.row, plan.head.attempts, plan.head.link_losses) == (1, 1, 1)


def test_a_page_that_comes_late_does_not_bring_back_what_was_settled_meanwhile() -> None:
    some = heads(head(1), head(2))
    some.take(RowId(1))
    some.begin_reading()
    page = [head(1, state=State.INFLIGHT), head(2), head(3)]
    some.settle(RowId(1), ACCEPTED, NOW)
    some.extend(page)
    assert some.doubtful() == []
    assert next_of(some.plan(NOW)) == 2


def test_a_page_does_not_overwrite_a_row_in_our_hands() -> None:
    some = heads(head(1))
    some.take(RowId(1))
    some.begin_reading()
    some.extend([head(1), head(2)])
    assert next_of(some.plan(NOW)) is None
    assert some.doubtful() == []


def test_rows_read_out_of_order_stand_in_store_order() -> None:
    some = heads(head(5), head(6))
    some.insert([head(2)])
    assert next_of(some.plan(NOW)) == 2
    assert some.last == 6


def test_a_reset_keeps_only_what_is_in_our_hands() -> None:
    some = heads(head(1, "a"), head(2, "b"), limit=2)
    some.take(RowId(1))
    some.reset()
    assert len(some) == 1
    assert some.last == 0


def test_a_row_left_in_doubt_holds_its_partition_until_it_is_settled() -> None:
    some = heads(head(1), head(2))
    some.take(RowId(1))
    some.doubt(RowId(1))
    assert [each.row for each in some.doubtful()] == [1]
    assert some.is_link_lost(RowId(1))
    assert next_of(some.plan(NOW)) is None
    some.settle(RowId(1), Release(), NOW)
    assert some.doubtful() == []
    assert not some.is_link_lost(RowId(1))
    assert next_of(some.plan(NOW)) == 1


def test_halts_are_replaced_as_they_are_read() -> None:
    some = heads(head(1, "a"))
    some.set_halts([None])
    assert next_of(some.plan(NOW)) is None
    some.set_halts(["b"])
    assert next_of(some.plan(NOW)) == 1


def test_a_settlement_of_a_row_that_was_dropped_meanwhile_changes_nothing() -> None:
    some = heads(head(1), head(2))
    some.take(RowId(1))
    some.drop(RowId(1))
    some.settle(RowId(1), ACCEPTED, NOW)
    assert next_of(some.plan(NOW)) == 2
