"""What people read carries no control characters and keeps everything else."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.console.plain import clock_time, control_text, iso, span, visible


@pytest.mark.parametrize("text", ["", "MSG00001", "CLÍNICA", "山田 太郎", "　", "a\\b", "100 €", "[bold]x[/bold]"])
def test_text_that_draws_itself_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]52;c;cm0=\x07", "\\x1b]52;c;cm0=\\x07"),
        ("a\rb\nc\td", "a\\rb\\nc\\td"),
        ("\x00\x0b\x1c", "\\x00\\x0b\\x1c"),
        ("\x7f", "\\x7f"),
        ("\x9b31m", "\\x9b31m"),
        ("\x85", "\\x85"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\u200b\ufeff", "\\u200b\\ufeff"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_what_steers_a_terminal_becomes_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(alphabet=st.characters(codec=None)))
def test_no_control_format_or_line_character_ever_gets_through(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(each) for each in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    shown.encode("utf-8")


@given(
    st.binary(max_size=40), st.sampled_from(["utf-8", "latin-1", "shift_jis", "gb18030", "iso2022_jp", "", "klingon"])
)
def test_a_control_id_of_any_bytes_can_be_shown(control_id: bytes, encoding: str) -> None:
    assert visible(shown := control_text(control_id, encoding)) == shown


def test_a_control_id_is_read_in_the_encoding_of_its_row() -> None:
    assert control_text(b"CL\xcdNICA", "latin-1") == "CLÍNICA"
    assert control_text(b"CL\xcdNICA", "utf-8") == "CL\\xcdNICA"
    assert control_text("CLÍNICA".encode(), "no-such-codec") == "CLÍNICA"


def test_a_time_is_utc_with_all_its_milliseconds() -> None:
    assert iso(1_767_268_800_123) == "2026-01-01T12:00:00.123Z"
    assert iso(1_767_268_800_000) == "2026-01-01T12:00:00.000Z"
    assert iso(1) == "1970-01-01T00:00:00.001Z"
    assert clock_time(1_767_268_800_999) == "2026-01-01 12:00:00"


@pytest.mark.parametrize(
    ("duration", "shown"),
    [
        (-5, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (3_600_000, "1 h"),
        (86_400_000, "1 d"),
    ],
)
def test_a_duration_is_shown_in_its_largest_whole_unit(duration: int, shown: str) -> None:
    assert span(duration) == shown
