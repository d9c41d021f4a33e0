"""Names of table 0211 to codecs, and decoding that never invents or drops a character."""

import codecs
from dataclasses import dataclass
from functools import lru_cache

from gateway.errors import CharsetUnusable
from gateway.wire.table_0211 import JAPANESE_ESCAPES, OFFICIAL, UNCARRIABLE, alias, squeezed
from gateway.wire.table_0211 import configured as configured_codec

UNKNOWN_CHARSET = "unknown-charset"
CHARSET_ALIAS = "charset-alias"
ENCODING_MISMATCH = "encoding-mismatch"

TOTAL = "windows-1252"
"""Not Python's cp1252: 81 8D 8F 90 9D are U+0081 .. U+009D, as browsers read them, so that it decodes every byte."""

_ESC = b"\x1b"
_LONGEST_CACHED = 64
_MOST_REPETITIONS = 15
_TABLE = "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256))
_REVERSE = codecs.charmap_build(_TABLE)
_ESCAPED = "gateway-hl7-escape"


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Write characters that a charset lacks as HL7 hexadecimal escapes (HL7 ch. 2, 2.7.6)."""
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101  # narrows the type: only encode() names this handler
    lost = error.object[error.start : error.end].encode("utf-8", "surrogatepass")
    return f"\\X{lost.hex().upper()}\\", error.end


codecs.register_error(_ESCAPED, _escape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charset:
    """How a message is to be read: Python codec name, what MSH-18 declared (text for people), and flags
    (`unknown-charset`, `charset-alias`).
    """

    codec: str
    declared: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Text, the codec it was really decoded with, and whether the declared one did not fit."""

    text: str
    codec: str
    mismatch: bool


def resolve(
    declared: bytes, *, separator: bytes, configured: str | None, default: str, payload: bytes = b""
) -> Charset:
    """Choose the codec from MSH-18 (`declared`, repetitions split at `separator`), the channel's fixed encoding,
    and the default. Raises CharsetUnusable for UTF-16/32 and for a configured name no codec has.
    """
    has_escapes = bool(declared) and configured is None and _ESC in payload
    choose = _cached if len(declared) <= _LONGEST_CACHED else _chosen
    return choose(declared, separator, configured, default, has_escapes)


def _chosen(declared: bytes, separator: bytes, configured: str | None, default: str, has_escapes: bool) -> Charset:
    shown = declared.decode("ascii", "backslashreplace")
    if configured is not None:
        return Charset(codec=_usable(configured_codec(configured)), declared=shown, flags=())
    parts = declared.split(separator, _MOST_REPETITIONS) if separator else [declared]
    names = [part.decode("ascii", "backslashreplace").strip() for part in parts]
    if has_escapes and not JAPANESE_ESCAPES.isdisjoint(map(squeezed, names)):
        return Charset(codec="iso2022_jp_ext", declared=shown, flags=())
    if not names[0]:
        return Charset(codec=_usable(configured_codec(default)), declared=shown, flags=())
    if found := OFFICIAL.get(names[0]):
        return Charset(codec=_usable(found), declared=shown, flags=())
    if found := alias(names[0]):
        return Charset(codec=_usable(found), declared=shown, flags=(CHARSET_ALIAS,))
    return Charset(codec=_usable(configured_codec(default)), declared=shown, flags=(UNKNOWN_CHARSET,))


_cached = lru_cache(maxsize=512)(_chosen)


def _usable(codec: str | None) -> str:
    if codec is None:
        raise CharsetUnusable(reason="the configured encoding is not known")
    if codec == UNCARRIABLE:
        raise CharsetUnusable(reason="UTF-16 and UTF-32 cannot be carried by MLLP")
    return codec


def decode(payload: bytes, charset: Charset, *, fallback: str) -> Decoded:
    """Decode; bytes that do not fit are read by `fallback` (`windows-1252` cannot fail; its undefined bytes map to
    C1 controls). `fallback="reject"` raises CharsetUnusable.
    """
    try:
        return Decoded(text=payload.decode(charset.codec), codec=charset.codec, mismatch=False)
    except UnicodeDecodeError:
        if fallback == "reject":
            raise CharsetUnusable(reason="the bytes do not fit the character set") from None
    codec = configured_codec(fallback) or TOTAL
    try:
        if codec not in ("cp1252", UNCARRIABLE):
            return Decoded(text=payload.decode(codec), codec=codec, mismatch=True)
    except UnicodeDecodeError:
        pass  # the fallback does not fit either; the last one always does
    return Decoded(text=_decode_totally(payload), codec=TOTAL, mismatch=True)


def decode_stored(payload: bytes, codec: str) -> str:
    """Decode stored bytes by the codec noted on the row; total for every codec this module ever gives."""
    if codec == TOTAL:
        return _decode_totally(payload)
    try:
        return payload.decode(codec)
    except (UnicodeDecodeError, LookupError):
        return _decode_totally(payload)


def _decode_totally(payload: bytes) -> str:
    return codecs.charmap_decode(payload, "strict", _TABLE)[0]


def encode(text: str, codec: str) -> bytes:
    r"""Encode an answer's text in the sender's charset; characters it lacks become `?`-free numeric HL7 escapes
    (`\X..\`) of their UTF-8 bytes.
    """
    if codec == TOTAL:
        return codecs.charmap_encode(text, _ESCAPED, _REVERSE)[0]
    return text.encode(codec, _ESCAPED)


def is_known(name: str) -> bool:
    """Tell whether a configuration may name this encoding (table 0211 name, alias, or Python codec)."""
    return configured_codec(name) not in (None, UNCARRIABLE)
