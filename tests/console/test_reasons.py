"""`why` names the first thing in the way, from the outermost in, in one sentence."""

from typing import Any

import pytest

from gateway.console.reasons import Scene, of_channel, of_row
from gateway.console.values import Reason, Waiting
from gateway.model.clock import Due
from gateway.model.ids import RowId
from gateway.model.review import EventRow, LeaseView, Row
from gateway.model.states import State
from tests.console.rows import AT, NOW, event, halt, lease, row, summary

NO_LEASE: list[LeaseView | None] = [
    None,
    lease(holder=None, expires_in=None),
    lease(expires_in=0),
    lease(expires_in=-5),
    lease(expires_in=None),
]


def _scene(**changes: Any) -> Scene:
    return Scene(**{"now": NOW, "halts": (), "upstream": "main", "lease": lease(), **changes})


def _why(subject: Row, *, blocker: Row | None = None, last: EventRow | None = None, **scene: Any) -> Reason:
    return of_row(subject, _scene(**scene), blocker=blocker, last=last)


def test_the_head_of_a_healthy_channel_is_sent_next() -> None:
    reason = _why(row())
    assert reason == Reason(waits_for=Waiting.TURN, sentence="Nothing is in its way: it is sent next.")


def test_a_row_in_backoff_says_after_what_and_until_when() -> None:
    due = Due(boot_id=NOW.boot_id, ms=NOW.ms + 12_000)
    reason = _why(row(due=due, error_code="server-error", attempts=2))
    assert reason.waits_for is Waiting.BACKOFF
    assert reason.until == NOW.wall + 12_000
    assert reason.sentence == "It is in backoff after server-error (attempt 2) until 2026-01-01T12:01:12.123Z."


def test_a_backoff_that_is_over_holds_nothing() -> None:
    assert _why(row(due=Due(boot_id=NOW.boot_id, ms=NOW.ms))).waits_for is Waiting.TURN


def test_a_backoff_of_another_boot_has_no_known_end() -> None:
    reason = _why(row(due=Due(boot_id="earlier", ms=1), error_code="server-busy"))
    assert (reason.waits_for, reason.until) == (Waiting.BACKOFF, None)
    assert "restarted" in reason.sentence


@pytest.mark.parametrize("link", ["down", "connecting"])
def test_a_link_that_is_not_live_comes_before_backoff(link: str) -> None:
    due = Due(boot_id=NOW.boot_id, ms=NOW.ms + 12_000)
    reason = _why(row(due=due), lease=lease(link=link))
    assert reason.waits_for is Waiting.LINK
    assert reason.sentence == f"The link to upstream main is not live ({link})."


@pytest.mark.parametrize("nobody", NO_LEASE)
def test_a_missing_leader_comes_before_the_link(nobody: LeaseView | None) -> None:
    reason = _why(row(), lease=nobody)
    assert reason.waits_for is Waiting.LEADER
    assert reason.sentence == "No running gateway leads upstream main."


def test_a_channel_without_configuration_is_driven_by_nobody() -> None:
    assert _why(row(), upstream=None, lease=None).waits_for is Waiting.UNDRIVEN


def test_a_row_behind_another_names_it_and_what_that_one_waits_for() -> None:
    due = Due(boot_id=NOW.boot_id, ms=NOW.ms + 12_000)
    ahead = row(3, due=due, error_code="upstream-error", attempts=1)
    reason = _why(row(), blocker=ahead)
    assert (reason.waits_for, reason.row, reason.until) == (Waiting.BEHIND, RowId(3), NOW.wall + 12_000)
    assert reason.sentence.startswith("It waits behind row 3 (queued). Row 3: it is in backoff after upstream-error")


def test_a_row_behind_one_in_flight_waits_for_its_answer() -> None:
    reason = _why(row(), blocker=row(3, state=State.INFLIGHT, sends=1, epoch=3))
    assert reason.sentence == "It waits behind row 3 (inflight). Row 3: it waits for the server's answer to send 1."


def test_a_halted_channel_is_named_before_everything_else() -> None:
    reason = _why(row(), blocker=row(3), halts=(halt(),), lease=None)
    assert reason.waits_for is Waiting.HALTED
    assert reason.sentence == (
        "It is halted by anna since 2026-01-01T12:00:00.123Z (maintenance) until somebody resumes."
    )


def test_a_partition_halted_by_a_row_names_the_row_and_the_ways_out() -> None:
    held = halt(partition="1001", row=RowId(2), who="system", why="retry-exhausted")
    reason = _why(row(partition="1001"), halts=(held,))
    assert (reason.waits_for, reason.row) == (Waiting.HALTED, RowId(2))
    assert "row 2 is requeued, resolved or discarded, or somebody resumes" in reason.sentence


def test_a_halt_of_another_partition_holds_only_that_one() -> None:
    assert _why(row(partition="1002"), halts=(halt(partition="1001", row=RowId(2)),)).waits_for is Waiting.TURN


def test_a_barrier_behind_a_halted_partition_names_the_halting_row() -> None:
    held = halt(partition="1001", row=RowId(2))
    reason = _why(row(barrier=True), blocker=row(3, partition="1001"), halts=(held,))
    assert reason.waits_for is Waiting.BEHIND
    assert "Row 3: it is halted by row 2" in reason.sentence


def test_too_many_earlier_rows_are_said_to_be_too_many() -> None:
    assert _why(row(), crowded=True).waits_for is Waiting.TURN
    assert "thousands of earlier rows" in _why(row(), crowded=True).sentence


def test_a_claimed_row_is_about_to_be_sent() -> None:
    reason = _why(row(state=State.CLAIMED, epoch=3))
    assert reason.sentence == "It is claimed and about to be sent."


@pytest.mark.parametrize("state", [State.CLAIMED, State.INFLIGHT])
def test_a_row_handed_out_by_a_leader_that_is_gone_waits_for_the_next(state: State) -> None:
    reason = _why(row(state=state, epoch=3), lease=lease(holder=None, expires_in=None))
    assert reason.waits_for is Waiting.LEADER
    assert "earlier leader" in reason.sentence


def test_an_interrupted_send_is_being_asked_about() -> None:
    reason = _why(row(state=State.INFLIGHT, epoch=2, sends=1))
    assert reason.waits_for is Waiting.ANSWER
    assert "asks the server what became of it" in reason.sentence
    assert "asks" not in _why(row(state=State.INFLIGHT, epoch=3, sends=1)).sentence


@pytest.mark.parametrize("state", [State.FAILED, State.REJECTED])
def test_a_row_in_review_waits_for_a_person(state: State) -> None:
    reason = _why(row(state=state, error_code="interrupted"))
    assert reason.waits_for is Waiting.PERSON
    assert "the server may have it" in reason.sentence
    assert "halts" not in reason.sentence


def test_a_row_in_review_says_when_it_halts_its_partition() -> None:
    reason = _why(row(state=State.FAILED, error_code=None), halts=(halt(partition="", row=RowId(7)),))
    assert reason.sentence == (
        "In review (no code: it was given up); waits for a person to requeue, resolve or discard it;"
        " it halts its partition until then."
    )


def test_a_row_in_review_does_not_answer_for_the_halt_of_another() -> None:
    reason = _why(row(state=State.FAILED, error_code="interrupted"), halts=(halt(partition="", row=RowId(6)),))
    assert "halts" not in reason.sentence


def test_a_refusal_by_the_server_is_named_as_one() -> None:
    assert "the server refused it" in _why(row(state=State.REJECTED, error_code="upstream-rejected")).sentence


@pytest.mark.parametrize("state", [State.PROCESSED, State.DISCARDED])
def test_a_settled_row_waits_for_nothing(state: State) -> None:
    assert _why(row(state=state, settled_at=AT)) == Reason(
        waits_for=Waiting.NOTHING, sentence=f"Settled: {state} at 2026-01-01T12:00:00.123Z."
    )


def test_a_row_settled_by_a_person_names_the_person_and_the_reason() -> None:
    last = event(kind="resolved", actor="an\x1bna", reason="seen in the ward list", to_state=State.PROCESSED)
    reason = _why(row(state=State.PROCESSED, settled_at=AT), last=last)
    assert reason.sentence == "Settled: resolved by an\\x1bna at 2026-01-01T12:00:00.123Z: seen in the ward list."
    gone = event(kind="discarded", actor="anna", to_state=State.DISCARDED)
    assert _why(row(state=State.DISCARDED), last=gone).sentence == "Settled: discarded by anna."


def test_a_row_settled_by_the_server_does_not_name_a_person() -> None:
    last = event(kind="accepted", to_state=State.PROCESSED)
    assert _why(row(state=State.PROCESSED), last=last).sentence == "Settled: processed."


def test_a_refused_frame_is_never_delivered() -> None:
    reason = _why(row(state=State.NACKED, error_code="bad-header"))
    assert reason.waits_for is Waiting.NOTHING
    assert "refused at intake (bad-header)" in reason.sentence


def test_a_channel_waits_for_what_its_head_waits_for() -> None:
    head = _why(row(), lease=lease(link="down"))
    reason = of_channel(summary(), head, _scene())
    assert (reason.waits_for, reason.row) == (Waiting.LINK, RowId(7))
    assert reason.sentence == "Its head is row 7. The link to upstream main is not live (down)."


def test_a_halted_channel_says_so_even_with_nothing_to_deliver() -> None:
    reason = of_channel(summary(head=None, depth=0), None, _scene(halts=(halt(),)))
    assert reason.waits_for is Waiting.HALTED
    assert reason.sentence.startswith("The channel is halted by anna")


def test_a_channel_with_nothing_to_deliver_counts_what_is_in_review() -> None:
    idle = of_channel(summary(head=None, depth=0), None, _scene())
    assert idle == Reason(waits_for=Waiting.NOTHING, sentence="No message waits to be delivered.")
    review = of_channel(summary(head=None, depth=0, in_review=3), None, _scene())
    assert review.sentence == "No message waits to be delivered; 3 in review."


def test_a_channel_with_one_halted_partition_is_not_called_halted() -> None:
    head = _why(row(partition="1002"))
    held = halt(partition="1001", row=RowId(2))
    assert of_channel(summary(halted=(held,)), head, _scene(halts=(held,))).waits_for is Waiting.TURN
