"""What the answers to a torture mean: order, attribution, absence. No sockets."""

import pytest

from gateway.sender.torture.judge import Due, judge, ordinary, worst
from gateway.sender.torture.peer import Answer, End
from gateway.sender.torture.values import Fate, Mark
from tests.sender.listening import ack

TAKEN, REFUSED, PASSED = frozenset({Fate.TAKEN}), frozenset({Fate.REFUSED}), frozenset({Fate.PASSED})


def due(name: str, right: frozenset[Fate] = TAKEN, **more: bool) -> Due:
    return Due(name=name, right=right, **more)  # type: ignore[arg-type]  # the one keyword left is a bool


def heard(name: str, code: str = "AA") -> Answer:
    return Answer.read(ack(name.encode(), code))


def test_an_answer_in_order_for_each_message_is_right() -> None:
    outcome = judge([due("A"), due("B")], [heard("A"), heard("B")], None)
    assert (outcome.mark, outcome.saw, outcome.note) == (Mark.RIGHT, "2 x AA", None)


def test_answers_out_of_order_are_wrong() -> None:
    outcome = judge([due("A"), due("B")], [heard("B"), heard("A")], None)
    assert (outcome.mark, outcome.note) == (Mark.WRONG, "answers came out of order")


def test_a_message_before_an_answered_one_was_passed_over() -> None:
    outcome = judge([due("A"), due("B")], [heard("B")], None)
    assert outcome.mark is Mark.WRONG
    assert outcome.saw == "passed over, AA"
    assert judge([due("A", PASSED), due("B")], [heard("B")], None).mark is Mark.RIGHT


@pytest.mark.parametrize(("end", "saw"), [(None, "AA, silent"), (End.CLOSED, "AA, closed"), (End.RESET, "AA, closed")])
def test_a_message_after_the_last_answer_is_silence_or_the_end(end: End | None, saw: str) -> None:
    outcome = judge([due("A"), due("B")], [heard("A")], end)
    assert (outcome.mark, outcome.saw) == (Mark.WRONG, saw)


def test_a_second_answer_is_wrong() -> None:
    outcome = judge([due("A")], [heard("A"), heard("A")], None)
    assert (outcome.mark, outcome.saw, outcome.note) == (Mark.WRONG, "AA, AA again", "a message was answered twice")


def test_the_application_s_answer_after_the_commit_answer_is_no_second_one() -> None:
    assert judge([due("A")], [heard("A", "CA"), heard("A", "AA")], None).mark is Mark.RIGHT
    assert judge([due("A")], [heard("A", "AA"), heard("A", "CA")], None).mark is Mark.WRONG


def test_a_positive_answer_to_nobody_is_wrong_and_a_refusal_tolerable() -> None:
    assert judge([due("A")], [heard("X"), heard("A")], None).mark is Mark.WRONG
    assert judge([due("A")], [heard("X", "AE"), heard("A")], None).mark is Mark.TOLERABLE
    assert judge([due("A")], [heard("", "AE"), heard("A")], None).mark is Mark.TOLERABLE


def test_a_refusal_without_an_id_is_for_the_message_nobody_can_read() -> None:
    dues = [due("A", REFUSED, is_readable=False), due("B")]
    assert judge(dues, [heard("", "AE"), heard("B")], None).mark is Mark.RIGHT
    assert judge(dues, [heard("", "AA"), heard("B")], None).mark is Mark.WRONG


def test_what_cannot_be_read_and_what_has_no_end_is_wrong() -> None:
    assert judge([due("A")], [heard("A"), Answer.read(b"thank you")], None).mark is Mark.WRONG
    assert judge([due("A")], [Answer.read(ack(b"A", "ZZ"))], None).mark is Mark.WRONG
    outcome = judge([due("A"), ordinary("B")], [heard("A")], End.CLOSED, has_half=True)
    assert (outcome.mark, "without FS CR" in (outcome.note or "")) == (Mark.WRONG, True)
    # An answer that nothing waits for may still be on its way.
    assert judge([due("A")], [heard("A")], None, has_half=True).mark is Mark.RIGHT


def test_an_ordinary_message_may_find_the_connection_closed_but_not_silent() -> None:
    assert judge([ordinary("A")], [], End.CLOSED).mark is Mark.TOLERABLE
    assert judge([ordinary("A")], [], None).mark is Mark.WRONG
    assert judge([ordinary("A")], [heard("A", "AE")], None).mark is Mark.WRONG


def test_the_worst_mark_counts() -> None:
    assert worst() is Mark.RIGHT
    assert worst(Mark.RIGHT, Mark.TOLERABLE) is Mark.TOLERABLE
    assert worst(Mark.WRONG, Mark.TOLERABLE) is Mark.WRONG
