"""Writing another system's values back to it. Never lets a value form a field, a segment or a frame."""

import re

from gateway.wire.characters import masked
from gateway.wire.charset import encode
from gateway.wire.header import Header

_LONGEST_TEXT = 80
_BREAKING = re.compile(rb"[\r\n\x0b\x1c]")  # end a segment, begin or end a frame
_HEADERS = (b"MSH", b"FHS", b"BHS")


def segment(asked: Header, *fields: bytes) -> bytes:
    """Join fields; bytes in them that would end a field, the segment or the frame are written as escapes."""
    line = asked.separator.join(fields)
    if line.count(asked.separator) == len(fields) - 1 and not _BREAKING.search(line):
        return line
    own, *echoed = fields if fields[0] not in _HEADERS else (asked.separator.join(fields[:2]), *fields[2:])
    return asked.separator.join((own, *(_echo(asked, field) for field in echoed)))


def _echo(asked: Header, value: bytes) -> bytes:
    seen = masked(value, asked.by_characters) if asked.by_characters else value
    breaking = asked.separator + b"\r\n\x0b\x1c"
    return b"".join(
        _escaped(asked, value[at : at + 1]) if seen[at] in breaking else value[at : at + 1] for at in range(len(value))
    )


def _escaped(asked: Header, byte: bytes) -> bytes:
    escape = _escape_character(asked)
    if not escape:
        return b" "
    letter = b"F" if byte == asked.separator else b"X%02X" % byte[0]
    return escape + letter + escape


def _escape_character(asked: Header) -> bytes:
    """Third character of MSH-2; b"" if there is none that an answer can carry."""
    escape = asked.encoding_characters[2:3]
    return b"" if _BREAKING.match(escape) else escape


def own_words(asked: Header, text: str, codec: str) -> bytes:
    """Write our own words so that no separator of the sender can split them."""
    delimiters = [asked.separator, *(bytes([byte]) for byte in asked.encoding_characters)]
    written = encode(text[:_LONGEST_TEXT], codec)
    if len(written.translate(None, b"".join(delimiters) + b"\r\n")) == len(written):
        return written
    names = dict(zip(delimiters, b"FSRETP", strict=False))
    escape = _escape_character(asked)
    parts = []
    for byte in (written[at : at + 1] for at in range(len(written))):
        if byte not in delimiters and byte not in (b"\r", b"\n"):
            parts.append(byte)
        else:
            parts.append(escape + bytes([names[byte]]) + escape if escape and byte in names else b" ")
    return b"".join(parts)
