"""The sequence number protocol against a model of HL7 ch. 2, 2.10.1 that is written another way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.sequence import LARGEST, NONE, Place, Step, expected, number, place, screen
from gateway.model.intake import Admission

LASTS = st.none() | st.integers(0, LARGEST)


@pytest.mark.parametrize(
    ("field", "read"),
    [
        ("7", 7), ("0", 0), ("-1", -1), ("+7", 7), ("007", 7), (" 7 ", 7), ("7.", 7), ("7.00", 7), ("-0", 0),
        ("999999999999999", LARGEST), ("1000000000000000", None), ("", None), (" ", None), ("7.5", None), ("x", None),
        ("7x", None), ("--1", None), ("1e3", None), ('""', None), ("\u0667", None), ("7\n", None), ("7^8", None),
    ],
)  # fmt: skip
def test_a_number_is_read_as_an_nm_or_not_at_all(field: str, read: int | None) -> None:
    assert number(field) == read


@pytest.mark.parametrize(
    ("field", "last", "step", "told"),
    [
        ("1", None, Step.NEXT, 1), ("9", None, Step.NEXT, 9), ("10", 9, Step.NEXT, 10), ("1", 0, Step.NEXT, 1),
        ("0", None, Step.ASKED, NONE), ("0", 9, Step.ASKED, 10), ("0", 0, Step.ASKED, 1),
        ("-1", None, Step.CLEARED, NONE), ("-1", 9, Step.CLEARED, NONE),
        ("11", 9, Step.GAP, 10), ("9", 9, Step.GAP, 10), ("8", 9, Step.GAP, 10), ("-2", 9, Step.GAP, 10),
        ("-2", None, Step.GAP, NONE), ("", 9, Step.GAP, 10), ("", None, Step.GAP, NONE), ("x", 9, Step.GAP, 10),
    ],
)  # fmt: skip
def test_a_message_is_placed_by_its_number(field: str, last: int | None, step: Step, told: int) -> None:
    assert place(field, last) == Place(step=step, told=told)


@given(field=st.one_of(st.integers(-5, 20).map(str), st.text(max_size=4)), last=st.none() | st.integers(0, 15))
def test_only_the_number_that_was_told_is_taken_and_the_next_is_told_after_it(field: str, last: int | None) -> None:
    found = place(field, last)
    told = place("0", last).told
    assert told == expected(last)
    if found.step is Step.NEXT:
        assert number(field) == found.told > 0
        assert told in (NONE, found.told)
        assert place("0", found.told).told == found.told + 1
        assert place(field, found.told).step is Step.GAP, "the same number is not taken twice"
    elif found.step is not Step.CLEARED:
        assert found.told == told


class _Receiver:
    """The rules once more, as a receiver that people describe: it keeps one number and a list of what it took."""

    def __init__(self) -> None:
        self.last = NONE
        self.taken: list[int] = []

    def hear(self, told: int) -> tuple[bool, int]:
        """Give whether the answer is positive, and MSA-4."""
        if told == -1:
            self.last = NONE
            return True, -1
        if told == 0:
            return True, self.last + 1 if self.last != NONE else -1
        fits = told >= 1 and self.last in (NONE, told - 1)
        if fits:
            self.last = told
            self.taken.append(told)
        return fits, told if fits else (self.last + 1 if self.last != NONE else -1)


@given(st.lists(st.integers(-2, 6), max_size=40))
def test_every_conversation_goes_as_the_model_says(numbers: list[int]) -> None:
    model, last, taken = _Receiver(), None, []
    for each in numbers:
        found = place(str(each), last)
        if found.step is Step.NEXT:
            last = found.told
            taken.append(each)
        elif found.step is Step.CLEARED:
            last = None
        assert (found.step is not Step.GAP, found.told) == model.hear(each)
    assert taken == model.taken


@given(last=LASTS)
def test_what_is_expected_follows_what_was_taken(last: int | None) -> None:
    assert expected(last) == (-1 if last is None else last + 1)


@pytest.mark.parametrize("step", list(Step))
@pytest.mark.parametrize("admission", [Admission.NEW, Admission.REPLAY, Admission.COLLISION, Admission.QUARANTINED])
def test_copies_stay_replays_links_are_no_messages_and_collisions_are_refused_as_such(
    admission: Admission, step: Step
) -> None:
    found = screen(admission, step)
    if admission is Admission.REPLAY:
        assert found is Admission.REPLAY
    elif step in (Step.ASKED, Step.CLEARED):
        assert found is Admission.LINK
    elif admission is Admission.COLLISION or step is Step.NEXT:
        assert found is admission
    else:
        assert found is Admission.GAP
