"""Reading MSH by a byte scan whose cost does not depend on the message's length. Never parses a whole message."""

import re
from functools import lru_cache
from typing import NamedTuple

from gateway.errors import HeaderUnreadable
from gateway.model.ids import ControlId
from gateway.wire.characters import masked
from gateway.wire.table_0211 import OFFICIAL, TRAILING_SEPARATORS, alias, configured

_LEAD = re.compile(rb"(?:\xef\xbb\xbf|[\r\n ])*")
_END = re.compile(rb"[\r\n]")
_WIDE = re.compile(rb"\xff\xfe|\xfe\xff|\0\0\xfe\xff|\0{0,3}M\0{1,3}S\0{1,3}H")
_LAST_FIELD = 18  # of MSH, as far as it is read
_MOST_SHIFTS = 64  # how many characters before MSH-18 may look like separators
_LONGEST_CHARSET = 256  # bytes of MSH-18 that are looked at: no message may cost more than its length
_FORBIDDEN = frozenset(
    bytes([byte]) for byte in (*range(0x21), *b"0123456789", *range(0x41, 0x5B), *range(0x61, 0x7B), 0x7F)
)
_NONE = (b"",) * _LAST_FIELD


class Header(NamedTuple):
    """MSH as received; every field is its raw bytes, empty when absent.

    A tuple, because one is made for every message: a frozen dataclass of this size takes five times as long.

    `start` is the offset of `MSH` in the payload; `separator` one byte (MSH-1); `encoding_characters` MSH-2.
    `by_characters` names the codec when bytes of its characters can look like separators, else None.
    """

    start: int
    separator: bytes
    encoding_characters: bytes
    sending_application: bytes
    sending_facility: bytes
    receiving_application: bytes
    receiving_facility: bytes
    timestamp: bytes
    message_type: bytes
    control_id: ControlId
    processing_id: bytes
    version: bytes
    sequence: bytes
    accept_ack: bytes
    application_ack: bytes
    charset: bytes
    by_characters: str | None = None

    @property
    def component_separator(self) -> bytes:
        """First byte of MSH-2."""
        return self.encoding_characters[:1]

    @property
    def repetition_separator(self) -> bytes:
        """Second byte of MSH-2, b"" if it has none."""
        return self.encoding_characters[1:2]

    def split(self, data: bytes, separator: bytes, limit: int = -1) -> list[bytes]:
        """Split at a separator that stands for itself and is not part of a character."""
        if self.by_characters is None or not separator:
            return data.split(separator, limit) if separator else [data]
        return _split_by_characters(data, separator, limit, self.by_characters)

    def type_parts(self) -> tuple[bytes, bytes]:
        """MSH-9.1 and MSH-9.2."""
        parts = self.split(self.message_type, self.component_separator, 2)
        return parts[0], parts[1] if len(parts) > 1 else b""


def scan(payload: bytes, *, encoding: str | None = None) -> Header:
    """Read MSH. `encoding`: the channel's fixed codec name, if any; a codec whose trail bytes can look like
    separators (GB18030, Big5, Shift_JIS, ISO-2022-JP), given or found in MSH-18, makes it scan by characters.

    Raises HeaderUnreadable (no MSH after BOM/CR/LF/space; MSH-1 a letter, digit, space, control byte or equal to
    the first byte of MSH-2; MSH-2 empty or longer than 16).
    """
    start = 0 if payload.startswith(b"MSH") else _LEAD.match(payload).end()  # type: ignore[union-attr]  # matches ""
    if not payload.startswith(b"MSH", start):
        if is_wide(payload):
            raise HeaderUnreadable(reason="UTF-16 and UTF-32 cannot be carried by MLLP")
        raise HeaderUnreadable(reason="no MSH segment at the start")
    segment = _segment(payload, start)
    separator = segment[3:4]
    if not separator or separator in _FORBIDDEN:
        raise HeaderUnreadable(reason="MSH-1 is not usable as a separator")
    fields = segment.split(separator, _LAST_FIELD)
    _check_encoding_characters(fields)
    by_characters = None
    if encoding is not None or len(fields) >= _LAST_FIELD:
        by_characters = _codec(segment, separator, fields[1], encoding)
        if by_characters is not None:
            fields = _split_by_characters(segment, separator, _LAST_FIELD, by_characters)
            # A separator inside a character of MSH-2 does not end it.
            _check_encoding_characters(fields)
    return _header(start, separator, fields, by_characters)


def is_wide(payload: bytes) -> bool:
    """Tell whether a payload without MSH is text in UTF-16 or UTF-32, whose characters take two or four bytes."""
    return _WIDE.match(payload) is not None


def _check_encoding_characters(fields: list[bytes]) -> None:
    if len(fields) < 2 or not 1 <= len(fields[1]) <= 16:
        raise HeaderUnreadable(reason="MSH-2 is empty or too long")


def _header(start: int, separator: bytes, fields: list[bytes], by_characters: str | None) -> Header:
    if len(fields) < _LAST_FIELD:
        fields.extend(_NONE[len(fields) :])
    # By position, in the order of the class: keywords would double the cost of the scan.
    return Header(
        start,
        separator,
        fields[1],
        fields[2],
        fields[3],
        fields[4],
        fields[5],
        fields[6],
        fields[8],
        ControlId(fields[9]),
        fields[10],
        fields[11],
        fields[12],
        fields[14],
        fields[15],
        fields[17],
        by_characters,
    )


def _segment(payload: bytes, start: int) -> bytes:
    """Cut the segment that begins at `start`, at CR or LF; reads no byte behind it."""
    end = _END.search(payload, start)
    return payload[start : end.start()] if end else payload[start:]


def _codec(segment: bytes, separator: bytes, encoding_characters: bytes, encoding: str | None) -> str | None:
    """Find the codec to scan by: the fixed one, else one that MSH-18 names when read by it."""
    if encoding is not None:
        codec = configured(encoding)
        return codec if codec in TRAILING_SEPARATORS and _fits(segment, codec) else None
    # A trail byte that looks like a separator moves MSH-18 to the right, never to the left.
    fields = segment.split(separator, _LAST_FIELD + _MOST_SHIFTS)[_LAST_FIELD - 1 :]
    candidates = dict.fromkeys(codec for field in fields for codec in _named(field, encoding_characters))
    for codec in candidates:
        shifted = _split_by_characters(segment, separator, _LAST_FIELD, codec)
        declared = b"".join(shifted[_LAST_FIELD - 1 : _LAST_FIELD])
        if codec in _named(declared, encoding_characters) and _fits(segment, codec):
            return codec
    return None


def _named(declared: bytes, encoding_characters: bytes) -> list[str]:
    if not declared or len(declared) > _LONGEST_CHARSET:
        return []
    repetition = encoding_characters[1:2]
    names = [name.decode("latin-1").strip() for name in (declared.split(repetition) if repetition else [declared])]
    found = (OFFICIAL.get(name) or alias(name) for name in names)
    return [codec for codec in found if codec in TRAILING_SEPARATORS]


def _fits(segment: bytes, codec: str) -> bool:
    try:
        segment.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _split_by_characters(data: bytes, separator: bytes, limit: int, codec: str) -> list[bytes]:
    parts, at = [], 0
    for part in masked(data, codec).split(separator, limit):
        parts.append(data[at : at + len(part)])
        at += len(part) + 1
    return parts


def is_several(payload: bytes, header: Header) -> bool:
    """Tell whether another segment of the frame begins `MSH` + MSH-1, though no batch header leads (one pass)."""
    begin = b"MSH" + header.separator
    at = payload.find(begin, header.start + 4)
    while at >= 0:
        if payload[at - 1] in b"\r\n":
            return True
        at = payload.find(begin, at + 4)
    return False


def is_batch(payload: bytes) -> bool:
    """Tell whether the frame begins, after BOM/CR/LF/space, with FHS or BHS."""
    return payload.startswith((b"FHS", b"BHS"), _LEAD.match(payload).end())  # type: ignore[union-attr]  # matches ""


_PATH = re.compile(r"([A-Z][A-Z0-9]{2})-([1-9][0-9]?)(?:\.([1-9][0-9]?))?(?:\.([1-9][0-9]?))?")


@lru_cache(maxsize=256)
def _path(text: str) -> tuple[bytes, int, int | None, int | None]:
    if (found := _PATH.fullmatch(text)) is None:
        raise ValueError("a field path looks like PID-3.1 or MSH-4")
    name, place, component, part = found.groups()
    return name.encode(), int(place), int(component) if component else None, int(part) if part else None


def is_path(text: str) -> bool:
    """Tell whether `field` can follow this path."""
    return _PATH.fullmatch(text) is not None


def field(payload: bytes, header: Header, path: str) -> bytes:
    """Give the bytes at a path such as `PID-3.1` or `MSH-4` (first segment of that name, first repetition);
    b"" when absent. Raises ValueError for what is no path.
    """
    name, place, component, part = _path(path)
    start = header.start if name == b"MSH" else _find(payload, name, header)
    if start is None:
        return b""
    if name == b"MSH":
        if place <= 2:
            return header.encoding_characters if place == 2 else header.separator
        place -= 1
    fields = header.split(_segment(payload, start), header.separator, place + 1)
    value = fields[place] if place < len(fields) else b""
    value = header.split(value, header.repetition_separator, 1)[0]
    value = _part(header, value, header.component_separator, component)
    return _part(header, value, header.encoding_characters[3:4], part)


def _find(payload: bytes, name: bytes, header: Header) -> int | None:
    at = payload.find(name, header.start + 4)
    while at >= 0:
        if payload[at - 1] in b"\r\n" and payload[at + 3 : at + 4] in (header.separator, b"\r", b"\n", b""):
            return at
        at = payload.find(name, at + 3)
    return None


def _part(header: Header, value: bytes, separator: bytes, number: int | None) -> bytes:
    if number is None:
        return value
    parts = header.split(value, separator, number)
    return parts[number - 1] if number <= len(parts) else b""
