"""A message's shape for review: segments, fields and lengths. Never shows a value that may speak of a person."""

import re

import hl7

from gateway.console.plain import visible
from gateway.console.values import FieldView, Outline, SegmentView

_SEGMENT = re.compile(r"[A-Z][A-Z0-9]{2}")
_ENDS = re.compile(r"\r\n|\r|\n")
_LONGEST_SHOWN = 250

# Only header fields that route a message, each in the form it must have: where a segment end is missing, the next
# segment's fields stand here, and those are people's.
_PLAIN_TEXT = re.compile(rf".{{1,{_LONGEST_SHOWN}}}")
_SHOWN = {
    1: re.compile(r"."),
    2: re.compile(r".{1,16}"),
    3: _PLAIN_TEXT,
    4: _PLAIN_TEXT,
    5: _PLAIN_TEXT,
    6: _PLAIN_TEXT,
    7: re.compile(r"[0-9.+-]{4,26}"),
    9: re.compile(r"[A-Z][A-Z0-9]{1,2}([^A-Z0-9][A-Z0-9_]{1,7}){0,2}"),
    10: _PLAIN_TEXT,
    11: re.compile(r"[A-Z](.[A-Z])?"),
    12: re.compile(r"2(\.[0-9]){0,2}"),
    13: re.compile(r"-?[0-9]{1,15}"),
    15: re.compile(r"AL|NE|ER|SU"),
    16: re.compile(r"AL|NE|ER|SU"),
    18: re.compile(r"(ASCII|8859/[0-9]{1,2}|ISO IR[0-9]{2,3}|UNICODE( UTF-(8|16|32))?|GB 18030-2000|BIG-5)"),
}


def outline(text: str) -> Outline:
    """Read a decoded message for people. Total: what the parser cannot read is listed line by line."""
    body = text.lstrip("\ufeff\r\n ")
    lines = [line for line in _ENDS.split(body) if line]
    try:
        message = hl7.parse("\r".join(lines))
        return Outline(segments=tuple(_segment(line, parsed) for line, parsed in zip(lines, message, strict=True)))
    except Exception:  # noqa: BLE001 - foreign bytes meet a foreign parser; its exception may hold content: not shown
        bare = tuple(SegmentView(name=_name(line[:3]), length=len(line), fields=()) for line in lines)
        return Outline(segments=bare, flaw="not readable as HL7; lines only")


def ack_code(text: str) -> str | None:
    """Give MSA-1 of an answer, or None if it is no readable HL7 answer."""
    for line in _ENDS.split(text):
        found = re.match(r"MSA[^A-Za-z0-9\s](AA|AE|AR|CA|CE|CR)(?![A-Za-z0-9])", line)
        if found:
            return found.group(1)
    return None


def _segment(line: str, parsed: hl7.Segment) -> SegmentView:
    name = _name(str(parsed[0]))
    fields = (_field(name, number, parsed[number]) for number in range(1, len(parsed)))
    return SegmentView(name=name, length=len(line), fields=tuple(each for each in fields if each.length))


def _field(segment: str, number: int, parsed: hl7.Field) -> FieldView:
    text = str(parsed)
    separators_only = segment == "MSH" and number <= 2
    return FieldView(
        path=f"{segment}-{number}",
        length=len(text),
        repetitions=1 if separators_only else max(1, len(parsed)),
        components=1 if separators_only else _components(parsed),
        value=_value(segment, number, text),
    )


def _components(parsed: hl7.Field) -> int:
    """Give the largest number of components any repetition has."""
    return max((len(each) if isinstance(each, hl7.Repetition) else 1 for each in parsed), default=1)


def _value(segment: str, number: int, text: str) -> str | None:
    """Give the value if it is one of the header's routing fields and looks like one; None: masked."""
    shape = _SHOWN.get(number) if segment == "MSH" else None
    if shape is None or visible(text) != text or not shape.fullmatch(text):
        return None
    return text


def _name(text: str) -> str:
    return text if _SEGMENT.fullmatch(text) else "???"
