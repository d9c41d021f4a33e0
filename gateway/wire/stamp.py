"""Sets MSH-13 and touches no other byte."""

import re

from gateway.wire.charset import decode_stored

_SEGMENT_END = re.compile(r"[\r\n]")
_SEPARATORS_BEFORE = 12  # MSH-1 is itself the first of them


def stamp(text: str, sequence: int) -> str:
    """Give the decoded message (it starts at `MSH`) with MSH-13 set; missing fields between are added as empty
    separators. Nothing else changes, whatever the segment ends are.
    """
    found = _SEGMENT_END.search(text)
    end = found.start() if found else len(text)
    separator, at = text[3], 2
    for passed in range(_SEPARATORS_BEFORE):
        at = text.find(separator, at + 1, end)
        if at < 0:
            return text[:end] + separator * (_SEPARATORS_BEFORE - passed) + str(sequence) + text[end:]
    behind = text.find(separator, at + 1, end)
    return text[: at + 1] + str(sequence) + text[end if behind < 0 else behind :]


def body_of(payload: bytes, header_start: int, *, codec: str, sequence: int | None) -> str:
    """Give the upstream body: decoded from `MSH` on by the row's codec, stamped if there is a number."""
    text = decode_stored(payload[header_start:], codec)
    return text if sequence is None else stamp(text, sequence)
