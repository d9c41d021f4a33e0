"""The sequence number protocol (HL7 ch. 2, 2.10.1): what an MSH-13 means after the last number. Stores nothing."""

import re
from dataclasses import dataclass
from enum import StrEnum

from gateway.model.intake import Admission

NONE = -1
"""MSA-4 when no number is stored: any positive one may come next."""

LARGEST = 10**15 - 1
"""MSH-13 has 15 characters."""

_NUMBER = re.compile(r" *([+-]?[0-9]{1,15})(?:\.0*)? *", re.ASCII)


class Step(StrEnum):
    """What a message asks of its sender's counter."""

    NEXT = "next"
    ASKED = "asked"
    CLEARED = "cleared"
    GAP = "gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A step, and the number that MSA-4 tells: the one taken, or the one that is expected (-1: none is stored)."""

    step: Step
    told: int


def number(field: str) -> int | None:
    """Read MSH-13, an NM: a whole number with or without sign; None for anything else, and for nothing."""
    found = _NUMBER.fullmatch(field)
    return int(found[1]) if found else None


def expected(last: int | None) -> int:
    """Give the number that follows `last`; -1 if none is stored."""
    return NONE if last is None else last + 1


def place(field: str, last: int | None) -> Place:
    """Place a message by its MSH-13 after `last`, the last number taken from its sender (None: none is stored)."""
    match number(field):
        case 0:
            return Place(step=Step.ASKED, told=expected(last))
        case -1:
            return Place(step=Step.CLEARED, told=NONE)
        case int(given) if given > 0 and last in {None, given - 1}:
            return Place(step=Step.NEXT, told=given)
        case _:
            return Place(step=Step.GAP, told=expected(last))


def screen(admission: Admission, step: Step) -> Admission:
    """Give what becomes of a message that dedupe alone would give `admission`.

    A known copy stays a replay whatever its number. A link message (0, -1) is no message of its own. Other bytes under
    a known key are refused for that, before their number is looked at.
    """
    if admission is Admission.REPLAY:
        return admission
    if step in {Step.ASKED, Step.CLEARED}:
        return Admission.LINK
    if step is Step.GAP and admission is not Admission.COLLISION:
        return Admission.GAP
    return admission
