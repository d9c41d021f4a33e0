"""Hiding the bytes of multi-byte characters that look like separators. Never changes a length or an offset."""

import re

from gateway.wire.table_0211 import TRAILING_SEPARATORS

_BIG5 = re.compile(rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]")
_GB18030 = re.compile(rb"[\x81-\xfe](?:[\x30-\x39][\x81-\xfe][\x30-\x39]|[\x40-\x7e\x80-\xfe])")
# ESC $ B, ESC $ @, ESC $ ( D begin two-byte text; any other designation ends it.
_TWO_BYTE_TEXT = rb"\x1b\$(?:[@AB]|\([CD])[^\x1b\r\n]*"
_ISO_2022_JP = re.compile(_TWO_BYTE_TEXT)
# A sender that declares JIS X 0201 (ISO IR14) may escape to two-byte text all the same.
_SHIFT_JIS = re.compile(rb"[\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc]|" + _TWO_BYTE_TEXT)

_CHARACTERS = {
    "shift_jis": _SHIFT_JIS,
    "cp932": _SHIFT_JIS,
    "big5": _BIG5,
    "cp950": _BIG5,
    "big5hkscs": _BIG5,
    "cp949": _BIG5,
    "gb18030": _GB18030,
    "gbk": _BIG5,
    "iso2022_jp_ext": _ISO_2022_JP,
}
assert frozenset(_CHARACTERS) == TRAILING_SEPARATORS  # noqa: S101  # the two tables name the same codecs


def masked(data: bytes, codec: str) -> bytes:
    """Give bytes of the same length in which no byte of a multi-byte character can be taken for a separator."""
    return _CHARACTERS[codec].sub(_hide, data)


def _hide(character: re.Match[bytes]) -> bytes:
    return b"\xff" * len(character[0])
