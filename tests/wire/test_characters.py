"""Hiding bytes of multi-byte characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.characters import masked
from gateway.wire.table_0211 import TRAILING_SEPARATORS

SEPARATORS = b"|^~\\&"


@pytest.mark.parametrize("codec", sorted(TRAILING_SEPARATORS))
@given(text=st.text(st.sampled_from("|^~\\&aZ09 ソ能表十申暴貼 一丁丂乗亂僭傻" + "ｱ가각힣" + "é€")))
def test_only_separators_that_stand_for_themselves_stay(codec: str, text: str) -> None:
    kept = "".join(char for char in text if char.encode(codec, "ignore"))
    data = kept.encode(codec)
    hidden = masked(data, codec)
    assert len(hidden) == len(data)
    for separator in SEPARATORS:
        assert hidden.count(separator) == kept.count(chr(separator))
    assert all(byte in (0xFF, data[at]) for at, byte in enumerate(hidden))


def test_text_without_such_characters_stays_as_it_is() -> None:
    for codec in TRAILING_SEPARATORS:
        assert masked(b"PID|1||2^3~4\\F\\&5", codec) == b"PID|1||2^3~4\\F\\&5"


def test_four_byte_gb18030_characters_are_hidden_whole() -> None:
    assert masked("|ß|".encode("gb18030"), "gb18030") == b"|\xff\xff\xff\xff|"


def test_two_byte_text_left_open_ends_with_its_line() -> None:
    assert masked(b"\x1b$B0|\rPID|1", "iso2022_jp_ext") == b"\xff\xff\xff\xff\xff\rPID|1"
