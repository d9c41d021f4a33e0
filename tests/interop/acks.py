"""Every acknowledgement the gateway can make, and what it must say by HL7, worked out here and not by the builder."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from gateway.wire.ack import AckCode, Condition, Problem, build
from gateway.wire.header import scan

VERSIONS = ("2.1", "2.2", "2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.7.1", "2.8", "2.8.1", "2.8.2", "2.9")
SEPARATORS = ("|^~\\&", "|^~\\&#", "#!%*@", "$:;?+")
FIELDS = (None, 9, 10, 12, 18)
WORDS = "The field is wrong"
NAMES = {
    "100": "Segment sequence error",
    "101": "Required field missing",
    "102": "Data type error",
    "103": "Table value not found",
    "104": "Value too long",
    "200": "Unsupported message type",
    "201": "Unsupported event code",
    "202": "Unsupported processing id",
    "203": "Unsupported version id",
    "205": "Duplicate key identifier",
    "206": "Application record locked",
    "207": "Application internal error",
}
"""Table 0357."""


@dataclass(frozen=True)
class Said:
    """One acknowledgement and what each of its fields must hold, by segment; MSH is numbered as HL7 numbers it."""

    answer: str
    separators: str
    msh: dict[int, str]
    msa: list[str]
    err: list[list[str]] | None


def every() -> list[Said]:
    """Give them all: code x version x separators x (no problem, or condition x field), and the unreadable header."""
    return [*_readable(), *_unreadable()]


def _readable() -> Iterator[Said]:
    for code, version, separators in itertools.product(AckCode, VERSIONS, SEPARATORS):
        yield _made(code, version, separators, None, None)
        for condition, field in itertools.product(Condition, FIELDS):
            yield _made(code, version, separators, condition, field)


def _made(code: AckCode, version: str, separators: str, condition: Condition | None, field: int | None) -> Said:
    bar, caret = separators[0], separators[1]
    kind = caret.join(("ADT", "A01", "ADT_A01"))
    control_id = f"ID-{code}-{version}"
    values = ("MSH", separators[1:], "APP", "FAC", "RCV", "RCF", "20260101", "", kind, control_id, "T", version)
    header = scan((bar.join(values) + "\r").encode())
    problem = None if condition is None else Problem(condition=condition, field=field, text=WORDS)
    answer = build(header, code, message_id="G1", timestamp="20260102030405+0000", problem=problem)
    number = _number(version)
    parts = ("ACK", "A01") if number < (2, 4) else ("ACK", "A01", "ACK")
    own = caret.join(parts) if number >= (2, 2) else "ACK"
    msh = {2: separators[1:], 3: "RCV", 4: "RCF", 5: "APP", 6: "FAC", 7: "20260102030405+0000", 8: "", 9: own}
    msh |= {10: "G1", 11: "T", 12: version}
    msa = [code.value, control_id, *([WORDS] if problem is not None and number < (2, 7) else [])]
    return Said(
        answer=answer.decode(),
        separators=separators,
        msh=msh,
        msa=msa,
        err=None if condition is None else _err(number, separators, condition.value, field),
    )


def _unreadable() -> Iterator[Said]:
    msh = {2: "^~\\&", 3: "", 4: "", 5: "", 6: "", 7: "20260102030405+0000", 8: "", 9: "ACK", 10: "G1"}
    for code, condition in itertools.product(AckCode, Condition):
        problem = Problem(condition=condition, field=None, text=WORDS)
        answer = build(None, code, message_id="G1", timestamp="20260102030405+0000", problem=problem)
        err = _err((2, 5, 1), "|^~\\&", condition.value, None)
        said = msh | {11: "P", 12: "2.5.1"}
        yield Said(answer=answer.decode(), separators="|^~\\&", msh=said, msa=[code.value, "", WORDS], err=err)


def _err(number: tuple[int, ...], separators: str, code: str, field: int | None) -> list[list[str]]:
    """Give the components of each field of ERR."""
    if code == "104" and number < (2, 7):
        code = "207"
    if number < (2, 5):
        subcomponent = separators[4]
        place = ["", "", ""] if field is None else ["MSH", "1", str(field)]
        return [[*place, subcomponent.join((code, NAMES[code], "HL70357"))]]
    place = [""] if field is None else ["MSH", "1", str(field)]
    return [[""], place, [code, NAMES[code], "HL70357"], ["E"], [""], [""], [""], [WORDS]]


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
