"""Values written back: as they came, unless they would break the structure around them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.echo import own_words, segment
from gateway.wire.header import Header, scan


def asked(marks: str = "|^~\\&", codec: str | None = None) -> Header:
    return scan(f"MSH{marks}{marks[0]}A".encode())._replace(by_characters=codec)


def test_harmless_values_stay_as_they_came() -> None:
    assert segment(asked(), b"MSA", b"AA", b"a^b~c\\d&e \xe9") == b"MSA|AA|a^b~c\\d&e \xe9"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (b"a|b", b"a\\F\\b"),
        (b"\r\n", b"\\X0D\\\\X0A\\"),
        (b"\x0b\x1c", b"\\X0B\\\\X1C\\"),
    ],
)
def test_what_would_break_the_structure_is_escaped(value: bytes, written: bytes) -> None:
    assert segment(asked(), b"MSA", b"AA", value) == b"MSA|AA|" + written


@pytest.mark.parametrize("name", [b"MSH", b"FHS", b"BHS"])
def test_encoding_characters_stay_untouched(name: bytes) -> None:
    header = scan(b"MSH|^~\x1c&|A")
    assert segment(header, name, header.encoding_characters, b"a\rb") == name + b"|^~\x1c&|a b"


@pytest.mark.parametrize("marks", ["|^", "|^~"])
def test_without_an_escape_character_a_space_takes_the_place(marks: str) -> None:
    assert segment(asked(marks), b"MSA", b"a\x1cb") == b"MSA|a b"
    assert own_words(asked(marks), "a|b\rc", "utf-8") == b"a b c"


def test_a_separator_inside_a_character_is_none() -> None:
    assert segment(asked(codec="shift_jis"), b"MSA", b"\x83|", b"|\x83|") == b"MSA|\x83||\\F\\\x83|"


def test_own_words_are_cut_escaped_and_encoded() -> None:
    assert own_words(asked(), "x" * 100, "utf-8") == b"x" * 80
    assert own_words(asked("|^~\\&#"), "|^~\\&#", "utf-8") == b"\\F\\\\S\\\\R\\\\E\\\\T\\\\P\\"
    assert own_words(asked(), "é", "iso8859-1") == b"\xe9"


@given(st.lists(st.binary(max_size=10), max_size=4), st.sampled_from(["|^~\\&", "#*~!$", "|^"]))
def test_a_segment_has_the_fields_it_was_given(values: list[bytes], marks: str) -> None:
    line = segment(asked(marks), b"ZZZ", *values)
    assert line.count(marks[0].encode()) == len(values)
    assert not set(b"\r\n\x0b\x1c") & set(line)
