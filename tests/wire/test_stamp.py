"""MSH-13, and not one character more."""

import hl7
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.stamp import body_of, stamp


@pytest.mark.parametrize(
    ("text", "stamped"),
    [
        (
            "MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5|5||AL|NE\rPID|1\r",
            "MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5|42||AL|NE\rPID|1\r",
        ),
        ("MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5||\n", "MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5|42|\n"),
        ("MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5|\r\nPID|", "MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5|42\r\nPID|"),
        ("MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5|9", "MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5|42"),
        ("MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5\rPID|1|2|3", "MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5|42\rPID|1|2|3"),
        ("MSH|^~\\&|A", "MSH|^~\\&|A||||||||||42"),
        ("MSH|^~\\&", "MSH|^~\\&|||||||||||42"),
        ("MSH#*~!$#A\nPID#1", "MSH#*~!$#A##########42\nPID#1"),
    ],
)
def test_msh_13_is_set_whatever_stood_there(text: str, stamped: str) -> None:
    assert stamp(text, 42) == stamped


fields = st.text(st.characters(exclude_characters="|\r\n", exclude_categories=["Cs"]), max_size=6)
ends = st.sampled_from(["\r", "\n", "\r\n", ""])


@given(st.lists(fields, max_size=20), ends, st.text(max_size=30), st.integers(1, 10**9))
def test_every_other_byte_stays(values: list[str], end: str, rest: str, number: int) -> None:
    head = "|".join(["MSH", "^~\\&", *values])
    tail = end + rest if end else ""
    stamped = stamp(head + tail, number)
    parts = head.split("|")
    parts += [""] * (13 - len(parts))
    parts[12] = str(number)
    assert stamped.encode() == ("|".join(parts) + tail).encode()


@given(st.lists(st.text("abc123", max_size=6), min_size=12, max_size=20), st.integers(1, 10**9))
def test_hl7_reads_the_number_and_the_same_other_fields(values: list[str], number: int) -> None:
    text = f"MSH|^~\\&|{'|'.join(values)}\rPID|1\r"
    before, behind = hl7.parse(text), hl7.parse(stamp(text, number))
    assert str(behind[0][13]) == str(number)
    assert [str(f) for i, f in enumerate(before[0]) if i != 13] == [str(f) for i, f in enumerate(behind[0]) if i != 13]
    assert str(before[1]) == str(behind[1])


def test_the_body_begins_at_msh_decoded_and_stamped() -> None:
    payload = b"\xef\xbb\xbf\r\nMSH|^~\\&|\xe9|\rPID|\x81\r"
    assert body_of(payload, 5, codec="iso8859-1", sequence=None) == "MSH|^~\\&|é|\rPID|\x81\r"
    assert body_of(payload, 5, codec="windows-1252", sequence=7) == "MSH|^~\\&|é||||||||||7\rPID|\x81\r"
