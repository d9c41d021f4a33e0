"""What may be shown and what may not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.states import State
from gateway.observe.facts import LONGEST, MOST_FACTS, REDACTED, guarded, is_word, safe_value


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -1,
        (1 << 63) - 1,
        -(1 << 63),
        1.5,
        "",
        "adt",
        "127.0.0.1:2575",
        "the lease is somebody else's",
        "x" * LONGEST,
    ],
)
def test_plain_facts_are_shown_as_they_are(value: object) -> None:
    assert safe_value(value) is value


@pytest.mark.parametrize(
    "value",
    [
        "x" * (LONGEST + 1),
        "MSH|^~\\&|A",
        "TEST^ANNA",
        "a~b",
        "a&b",
        "a\\b",
        "two\nlines",
        "bell\x07",
        "\x1b[31m",
        "\u2028",
        "\ud800",
        b"bytes",
        bytearray(b"x"),
        ["list"],
        {"a": 1},
        object(),
        1 << 63,
        ValueError("x"),
    ],
)
def test_everything_else_is_a_marker(value: object) -> None:
    assert safe_value(value) == REDACTED


def test_a_word_of_an_enumeration_becomes_plain_text() -> None:
    shown = safe_value(State.FAILED)
    assert shown == "failed"
    assert type(shown) is str


@pytest.mark.parametrize("name", ["payload", "body", "control_id", "patient", "message", "raw"])
def test_a_fact_that_is_content_by_its_name_is_never_shown(name: str) -> None:
    assert guarded({name: 1}) == ({REDACTED: REDACTED}, 1)


def test_a_fact_with_an_odd_name_is_not_shown_under_it() -> None:
    assert guarded({"Anna Test": 1}) == ({REDACTED: REDACTED}, 1)


@pytest.mark.parametrize("name", ["event", "level", "time", "self"])
def test_a_fact_cannot_stand_in_for_a_part_of_the_line(name: str) -> None:
    assert guarded({name: 1}) == ({f"fact_{name}": 1}, 0)


def test_facts_beyond_the_limit_are_counted_and_left_out() -> None:
    shown, redacted = guarded({f"f{n}": n for n in range(MOST_FACTS + 3)})
    assert len(shown) == MOST_FACTS
    assert redacted == 3


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("settled", True),
        ("link-up", True),
        ("a_b.c9", True),
        ("", False),
        ("A", False),
        ("a b", False),
        ("-", False),
        ("é", False),
        ("a" * 65, False),
    ],
)
def test_a_word_is_lower_case_ascii(name: str, word: bool) -> None:
    assert is_word(name) is word


@given(st.dictionaries(st.text(), st.text() | st.binary() | st.integers() | st.floats() | st.none()))
def test_nothing_shown_could_begin_a_segment_or_a_line(facts: dict[str, object]) -> None:
    shown, _ = guarded(facts)
    for name, value in shown.items():
        assert name == REDACTED or is_word(name)
        assert not isinstance(value, str) or (value.isprintable() and not set("|^~\\&") & set(value))
