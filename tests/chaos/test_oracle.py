"""The oracle against seeded mutants of good evidence: each must turn it red, and the good evidence must not."""

import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.chaos.oracle import Answered, Delivered, Evidence, Stored, judge

CHANNELS = ("one", "two")


def payload(control_id: str) -> bytes:
    return f"MSH|^~\\&|A|B|C|D|20260101||ADT^A01|{control_id}|P|2.5\rPID|1||{control_id}\r".encode()


def body(control_id: str, number: int) -> str:
    return payload(control_id).decode().replace("|P|2.5\r", f"|P|2.5|{number}\r")


def row_id(row: int) -> str:
    return f"aaaaaaaa-aaaa-8aaa-8aaa-{row:012x}"


def good(*, tells: bool = True) -> Evidence:
    """Ten messages on two channels, one of them sent and answered twice."""
    sent, answers, rows, delivered = {}, [], [], []
    for row in range(1, 11):
        control_id, channel, number = f"M{row}", CHANNELS[row % 2], (row + 1) // 2
        sent[control_id] = payload(control_id)
        digest = hashlib.sha256(sent[control_id]).hexdigest()
        answers += [Answered(control_id=control_id, code="AA", answer_sha256=f"answer {row}")] * (2 if row == 3 else 1)
        rows.append(
            Stored(
                id=row_id(row),
                row=row,
                channel=channel,
                state="processed",
                control_id=control_id,
                sequence=number,
                error_code=None,
                sha256=digest,
            )
        )
        callback = f"Agent/demo-{row_id(row)}#0.1"
        delivered.append(Delivered(callback=callback, body=body(control_id, number), repeat=False))
    return Evidence(sent=sent, answers=answers, rows=rows, rows_after=10, delivered=delivered, tells=tells)


def swapped(evidence: Evidence) -> Evidence:
    lines = list(evidence.delivered)
    lines[2], lines[4] = lines[4], lines[2]
    return replace(evidence, delivered=lines)


def with_row(evidence: Evidence, index: int, **changes: object) -> Evidence:
    rows = list(evidence.rows)
    rows[index] = replace(rows[index], **changes)  # type: ignore[arg-type]  # fields by name, chosen by the caller
    return replace(evidence, rows=rows)


def with_line(evidence: Evidence, index: int, **changes: object) -> Evidence:
    lines = list(evidence.delivered)
    lines[index] = replace(lines[index], **changes)  # type: ignore[arg-type]  # see with_row
    return replace(evidence, delivered=lines)


MUTANTS: dict[str, Callable[[Evidence], Evidence]] = {
    "a row is dropped": lambda e: replace(e, rows=e.rows[:4] + e.rows[5:], delivered=e.delivered[:4] + e.delivered[5:]),
    "the last row is dropped": lambda e: replace(e, rows=e.rows[:-1], delivered=e.delivered[:-1]),
    "an answer came before its commit": lambda e: replace(
        e,
        sent={**e.sent, "lost": payload("lost")},
        answers=[*e.answers, Answered(control_id="lost", code="AA", answer_sha256="x")],
    ),
    "two deliveries are swapped": swapped,
    "a row is doubled": lambda e: replace(e, rows=[*e.rows, replace(e.rows[0], id=row_id(11), row=11, sequence=6)]),
    "a delivery is doubled": lambda e: replace(e, delivered=[*e.delivered, e.delivered[3]]),
    "a number is used twice": lambda e: with_row(e, 4, sequence=2),
    "a number is left out": lambda e: with_row(e, 9, sequence=6),
    "a delivery carries another number": lambda e: with_line(e, 0, body=body("M1", 7)),
    "a delivery carries another message": lambda e: with_line(e, 0, body=body("M3", 1)),
    "a message changed on its way": lambda e: with_line(e, 0, body=body("M1", 1).replace("PID|1", "PID|2")),
    "a message changed in the store": lambda e: with_row(e, 0, sha256="0" * 64),
    "a retransmit got another answer": lambda e: replace(
        e, answers=[*e.answers, Answered(control_id="M1", code="AA", answer_sha256="other")]
    ),
    "a retransmit made a row": lambda e: replace(e, rows_after=11),
    "a row waits for ever": lambda e: with_row(e, 9, state="inflight"),
    "a row is settled without delivery": lambda e: replace(e, delivered=e.delivered[:-1]),
    "a row was passed over": lambda e: replace(
        with_row(e, 2, state="queued"), delivered=e.delivered[:2] + e.delivered[3:]
    ),
    "a row needed a person": lambda e: with_row(e, 9, state="failed", error_code="interrupted"),
    "a row nobody sent": lambda e: with_row(e, 0, control_id="stranger"),
    "a delivery of no row": lambda e: with_line(e, 9, callback=f"Agent/demo-{row_id(99)}#0.1"),
}


@pytest.mark.parametrize("tells", [True, False])
def test_good_evidence_is_good(tells: bool) -> None:
    assert judge(good(tells=tells)) == []


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_turns_the_oracle_red(name: str) -> None:
    mutant = MUTANTS[name](good())
    if len(mutant.rows) != len(good().rows):
        # The mutant is to be found by its own mark, not by the count of rows.
        mutant = replace(mutant, rows_after=len(mutant.rows))
    assert judge(mutant)


def test_a_repeat_that_the_server_recognised_is_no_double() -> None:
    evidence = good()
    repeat = replace(evidence.delivered[3], repeat=True)
    assert judge(replace(evidence, delivered=[*evidence.delivered, repeat])) == []
    plain = good(tells=False)
    assert judge(replace(plain, delivered=[*plain.delivered, repeat]))


def test_a_row_in_doubt_may_be_held_where_the_server_cannot_tell() -> None:
    held = with_row(good(tells=False), 4, state="failed", error_code="interrupted")
    assert judge(held) == []
    assert judge(replace(held, delivered=held.delivered[:4] + held.delivered[5:])) == []
    assert judge(with_row(held, 4, error_code="retry-exhausted"))


def test_an_audit_row_is_nobody_s_message() -> None:
    evidence = good()
    nacked = replace(evidence.rows[0], id=row_id(11), row=11, state="nacked", sequence=None)
    assert judge(replace(evidence, rows=[*evidence.rows, nacked], rows_after=11)) == []
