"""Building acknowledgements. Pure: same inputs, same bytes; never cuts an answer, never echoes a value as structure."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from gateway.errors import CharsetUnusable
from gateway.model.ids import ControlId
from gateway.wire.charset import resolve
from gateway.wire.echo import own_words, segment
from gateway.wire.header import Header
from gateway.wire.msa import read_msa

__all__ = ["AckCode", "Condition", "Problem", "build", "read_msa"]


class AckCode(StrEnum):
    """Table 0008."""

    AA = "AA"
    AE = "AE"
    AR = "AR"
    CA = "CA"
    CE = "CE"
    CR = "CR"


class Condition(StrEnum):
    """Table 0357, the codes we use."""

    SEGMENT_SEQUENCE = "100"
    REQUIRED_FIELD = "101"
    DATA_TYPE = "102"
    TABLE_VALUE = "103"
    VALUE_TOO_LONG = "104"
    UNSUPPORTED_TYPE = "200"
    UNSUPPORTED_EVENT = "201"
    UNSUPPORTED_PROCESSING_ID = "202"
    UNSUPPORTED_VERSION = "203"
    DUPLICATE_KEY = "205"
    RECORD_LOCKED = "206"
    INTERNAL_ERROR = "207"


_MEANING = {
    Condition.SEGMENT_SEQUENCE: "Segment sequence error",
    Condition.REQUIRED_FIELD: "Required field missing",
    Condition.DATA_TYPE: "Data type error",
    Condition.TABLE_VALUE: "Table value not found",
    Condition.VALUE_TOO_LONG: "Value too long",
    Condition.UNSUPPORTED_TYPE: "Unsupported message type",
    Condition.UNSUPPORTED_EVENT: "Unsupported event code",
    Condition.UNSUPPORTED_PROCESSING_ID: "Unsupported processing id",
    Condition.UNSUPPORTED_VERSION: "Unsupported version id",
    Condition.DUPLICATE_KEY: "Duplicate key identifier",
    Condition.RECORD_LOCKED: "Application record locked",
    Condition.INTERNAL_ERROR: "Application internal error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why an answer is negative: condition, the MSH field it is about (None: the whole message), our own words
    (<= 80 ASCII characters, never content).
    """

    condition: Condition
    field: int | None
    text: str


_UNREAD = Header(
    start=0,
    separator=b"|",
    encoding_characters=rb"^~\&",
    sending_application=b"",
    sending_facility=b"",
    receiving_application=b"",
    receiving_facility=b"",
    timestamp=b"",
    message_type=b"",
    control_id=ControlId(b""),
    processing_id=b"P",
    version=b"2.5.1",
    sequence=b"",
    accept_ack=b"",
    application_ack=b"",
    charset=b"",
)
"""What an answer to an unreadable header says."""

_VERSION = re.compile(rb" *([0-9]{1,4}(?:\.[0-9]{1,4})*) *")
_UNSTATED = (2, 3, 1)  # the version that an empty or unreadable MSH-12 counts as
_LONGEST_VERSION = 64  # so that the cache of versions stays small


def build(
    header: Header | None,
    code: AckCode,
    *,
    message_id: str,
    timestamp: str,
    problem: Problem | None = None,
    expected_sequence: int | None = None,
    codec: str = "utf-8",
) -> bytes:
    """Build an ACK; `header` None: the sender's header could not be read. `message_id` is MSH-10 of the answer
    (<= 20 ASCII), `timestamp` MSH-7 (`YYYYMMDDHHMMSS+ZZZZ`), `expected_sequence` MSA-4, `codec` what the header's
    bytes are in (echoed bytes stay as they are).
    """
    asked = header or _UNREAD
    version = _version(asked)
    segments = [
        _msh(asked, version, message_id=message_id, timestamp=timestamp),
        _msa(asked, version, code, problem=problem, expected_sequence=expected_sequence, codec=codec),
    ]
    if problem is not None:
        segments.append(_err(asked, version, problem, codec=codec))
    return b"".join(line + b"\r" for line in segments)


def _msh(asked: Header, version: tuple[int, ...], *, message_id: str, timestamp: str) -> bytes:
    charset = _echoed_charset(asked) if asked.charset else b""
    return segment(
        asked,
        b"MSH",
        asked.encoding_characters,
        asked.receiving_application,
        asked.receiving_facility,
        asked.sending_application,
        asked.sending_facility,
        timestamp.encode("ascii"),
        b"",
        _message_type(asked, version),
        message_id.encode("ascii"),
        asked.processing_id,
        asked.version,
        *((b"", b"", b"", b"", b"", charset) if charset else ()),
    )


def _echoed_charset(asked: Header) -> bytes:
    """Give MSH-18 as it came, unless it names a set that no frame can carry: an answer is in the set it names."""
    try:
        resolve(asked.charset, separator=asked.repetition_separator, configured=None, default="utf-8")
    except CharsetUnusable:
        return b""
    return asked.charset


def _message_type(asked: Header, version: tuple[int, ...]) -> bytes:
    trigger = asked.type_parts()[1]
    if not trigger or version < (2, 2):
        return b"ACK"
    parts = (b"ACK", trigger) if version < (2, 4) else (b"ACK", trigger, b"ACK")
    return asked.component_separator.join(parts)


def _msa(
    asked: Header,
    version: tuple[int, ...],
    code: AckCode,
    *,
    problem: Problem | None,
    expected_sequence: int | None,
    codec: str,
) -> bytes:
    # HL7 ch. 2, MSA-2: echo MSH-10, even when the message is refused. MSA-3 ended with 2.7, where ERR-8 says it.
    text = b"" if problem is None or version >= (2, 7) else own_words(asked, problem.text, codec)
    fields = [b"MSA", code.encode("ascii"), asked.control_id]
    if expected_sequence is not None:
        fields += [text, str(expected_sequence).encode("ascii")]
    elif text:
        fields.append(text)
    return segment(asked, *fields)


def _err(asked: Header, version: tuple[int, ...], problem: Problem, *, codec: str) -> bytes:
    condition = problem.condition
    if condition is Condition.VALUE_TOO_LONG and version < (2, 7):
        condition = Condition.INTERNAL_ERROR  # table 0357 has 104 from 2.7 on
    meaning = own_words(asked, _MEANING[condition], codec)
    component, subcomponent = asked.component_separator, asked.encoding_characters[3:4]
    place = [b"MSH", b"1", b"%d" % problem.field] if problem.field is not None else []
    if version < (2, 5):
        said = subcomponent.join((condition.encode(), meaning, b"HL70357")) if subcomponent else condition.encode()
        return asked.separator.join((b"ERR", component.join([*(place or [b"", b"", b""]), said])))
    fields = (
        b"ERR",
        b"",
        component.join(place),
        component.join((condition.encode(), meaning, b"HL70357")),
        b"E",
        b"",
        b"",
        b"",
        own_words(asked, problem.text, codec),
    )
    return asked.separator.join(fields)


def _version(asked: Header) -> tuple[int, ...]:
    stated = asked.split(asked.version, asked.component_separator, 1)[0]
    return _parsed_version(stated) if len(stated) <= _LONGEST_VERSION else _UNSTATED


@lru_cache(maxsize=128)
def _parsed_version(text: bytes) -> tuple[int, ...]:
    found = _VERSION.fullmatch(text)
    return tuple(map(int, found[1].split(b"."))) if found else _UNSTATED
