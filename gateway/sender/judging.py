"""Reads an answer with `hl7`, independently of our own builder, and says what it means. Knows no sockets."""

import re
from dataclasses import dataclass

import hl7

from gateway.errors import CharsetUnusable, HeaderUnreadable
from gateway.sender.options import Judgement
from gateway.wire import charset
from gateway.wire.header import scan

_ENDS = re.compile(r"[\r\n]+")
_LAST = "\rZZZ|."  # `hl7` strips the end of a message, and a control id may end in a space
_POSITIVE = frozenset({"AA", "CA"})
_NEGATIVE = frozenset({"AE", "AR", "CE", "CR"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An answer as read: per acknowledgement MSA-1, MSA-2 and the reason given; `codec` is what MSA-2 was read with."""

    codes: tuple[str, ...]
    ids: tuple[str, ...]
    text: str | None
    codec: str

    @property
    def code(self) -> str:
        """The code that matters: of a batch the first that is not positive."""
        return next((code for code in self.codes if code not in _POSITIVE), self.codes[0])

    @property
    def judgement(self) -> Judgement:
        """What the codes say, whoever the answer is for."""
        if set(self.codes) <= _POSITIVE:
            return Judgement.POSITIVE
        return Judgement.NEGATIVE if set(self.codes) <= _POSITIVE | _NEGATIVE else Judgement.UNREADABLE

    def is_for(self, control_ids: tuple[bytes, ...]) -> bool:
        """Tell whether MSA-2 of every acknowledgement is MSH-10 of its message, in order (HL7 ch. 2, MSA-2)."""
        return self.ids == tuple(charset.decode_stored(one, self.codec) for one in control_ids)


def read(answer: bytes) -> Reading | None:
    """Read the acknowledgement, or the batch of them, between VT and FS; None when it cannot be read as one."""
    try:
        text, codec = _decode(answer)
        acknowledgements = [hl7.parse(part + _LAST) for part in _parts(text)]
        segments = [ack.segment("MSA") for ack in acknowledgements]
    except (HeaderUnreadable, CharsetUnusable, hl7.HL7Exception, KeyError, IndexError, ValueError):
        return None  # every way in which `hl7` says that this is no HL7
    if not segments:
        return None
    reasons = (_reason(ack) for ack in acknowledgements)
    return Reading(
        codes=tuple(_field(segment, 1) for segment in segments),
        ids=tuple(_field(segment, 2) for segment in segments),
        text=next((reason for reason in reasons if reason), None),
        codec=codec,
    )


def _decode(answer: bytes) -> tuple[str, str]:
    found = re.search(rb"(?:\A|[\r\n])(?=(?:\xef\xbb\xbf)?[ ]*MSH)", answer)
    header = scan(answer[found.end() :] if found else answer)
    declared = charset.resolve(
        header.charset,
        separator=header.encoding_characters[1:2] or b"~",
        configured=None,
        default="utf-8",
        payload=answer,
    )
    decoded = charset.decode(answer, declared, fallback="windows-1252")
    return decoded.text, decoded.codec


def _parts(text: str) -> list[str]:
    """Cut at every MSH; the batch's own header and trailer segments fall away."""
    lines = [line for line in _ENDS.split(text.lstrip("\ufeff \r\n")) if line]
    parts: list[str] = []
    for line in lines:
        if line.startswith("MSH"):
            parts.append(line)
        elif parts and not line.startswith(("BTS", "FTS", "BHS", "FHS")):
            parts[-1] += f"\r{line}"
    return parts


def _field(segment: hl7.Segment, number: int) -> str:
    return str(segment[number]) if len(segment) > number else ""


def _reason(ack: hl7.Message) -> str | None:
    """Give the receiver's words: MSA-3, else ERR-8, else the condition of ERR-3 or ERR-1."""
    stated = _field(ack.segment("MSA"), 3)
    if stated:
        return stated
    try:
        error = ack.segment("ERR")
    except KeyError:
        return None
    return _field(error, 8) or _field(error, 3) or _field(error, 1) or None
