"""Choosing a charset, decoding and encoding: only CharsetUnusable leaves, nothing is invented, nothing is dropped."""

from collections.abc import Iterable

from gateway.errors import CharsetUnusable
from gateway.wire.charset import TOTAL, Charset, decode, decode_stored, encode, is_known, resolve
from gateway.wire.table_0211 import OFFICIAL
from tests.fuzz.target import Choices, Target, fixed_phrase

_CONFIGURED = (None, None, "utf-8", "8859/1", "GB 18030-2000", "windows-1252", "UNICODE UTF-16", "no such set")
_DEFAULTS = ("utf-8", "8859/15", "Shift_JIS", "ASCII", "UTF32")
_FALLBACKS = ("windows-1252", "reject", "8859/1", "ASCII", "utf-16", "no such set", "GB 18030-2000")
_NAMES = (*(name.encode() for name in OFFICIAL), b"UTF8", b"latin1", b"KLINGON", b"~ISO IR87", b"cp1252", b"tis-620")
# Encoding gives back the bytes that were decoded only where no two spellings mean the same character.
_EXACT = frozenset({"utf-8", "ascii", TOTAL, *(f"iso8859-{number}" for number in range(1, 17))})


def one(data: bytes) -> None:
    """Choose, decode, encode."""
    choices = Choices(data)
    configured, default = choices.one_of(_CONFIGURED), choices.one_of(_DEFAULTS)
    fallback, separator = choices.one_of(_FALLBACKS), choices.one_of((b"~", b"", b"^"))
    declared = choices.one_of(_NAMES) if choices.number(2) else choices.take(choices.number(80))
    payload = choices.rest()
    is_known(declared.decode("latin-1"))
    try:
        charset = resolve(declared, separator=separator, configured=configured, default=default, payload=payload)
    except CharsetUnusable as why:
        fixed_phrase(why.reason)
        return
    assert charset.declared.isascii()
    _decode(payload, charset, fallback)
    for text in (payload.decode("latin-1"), payload.decode("utf-8", "surrogateescape"), decode_stored(payload, TOTAL)):
        encode(text, charset.codec)
        encode(text, TOTAL)


def _decode(payload: bytes, charset: Charset, fallback: str) -> None:
    try:
        decoded = decode(payload, charset, fallback=fallback)
    except CharsetUnusable:
        assert fallback == "reject"
        return
    assert decoded.mismatch or decoded.codec == charset.codec
    assert decode_stored(payload, decoded.codec) == decoded.text
    if decoded.codec in _EXACT:
        assert encode(decoded.text, decoded.codec) == payload
    assert "\ufffd" not in decoded.text or decoded.codec in {"utf-8", "gb18030"}
    assert encode(decode_stored(payload, TOTAL), TOTAL) == payload


def _seeds() -> Iterable[bytes]:
    texts = {
        "utf-8": "CLÍNICA €",
        "iso8859-15": "Žœ€",
        "gb18030": "你好|^",
        "big5": "功能",
        "shift_jis": "ポソタミ",
        "iso2022_jp": "漢字",
        "euc_kr": "한글",
    }
    for place, (codec, text) in enumerate(texts.items()):
        for name in range(0, len(_NAMES), 3):
            yield bytes([0, place % 5, place % 7, 0, 1, (name + place) % len(_NAMES)]) + text.encode(codec)
    yield bytes([0, 0, 0, 0, 1, 13]) + bytes(range(256))


TARGET = Target(
    name="charsets",
    one=one,
    seeds=_seeds,
    tokens=(
        b"\x1b$B",
        b"\x1b(B",
        b"\x1b$(D",
        b"\x1b(J",
        b"\x81\x30\x81\x30",
        b"\xff",
        b"\xef\xbf\xbd",
        b"\xed\xa0\x80",
        b"\x80",
        b"\x8f",
        b"~{",
        *_NAMES,
    ),
)
