"""Judges a crash campaign from what was written down outside the gateway: by the senders, the server, and `list`.

It knows nothing of how the gateway works, only what it promises. An empty result is the only good one.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

POSITIVE = frozenset({"AA", "CA"})
WAITING = frozenset({"queued", "claimed", "inflight"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One answer a sender got: to which control id, MSA-1, and the hash of its bytes."""

    control_id: str
    code: str
    answer_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One row as `list --json` prints it."""

    id: str
    row: int
    channel: str
    state: str
    control_id: str
    sequence: int | None
    error_code: str | None
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """One line of the server's journal, in its order."""

    callback: str
    body: str
    repeat: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything written down. `sent` maps a control id to the payload its sender put on the wire.

    `rows` were read before every message was sent once more, `rows_after` counts them after that.
    `tells` says whether the server grants extensions, so that nothing may need a person or reach it twice.
    """

    sent: Mapping[str, bytes]
    answers: list[Answered]
    rows: list[Stored]
    rows_after: int
    delivered: list[Delivered]
    tells: bool


def judge(evidence: Evidence) -> list[str]:
    """Give everything that breaks a promise, in words."""
    checks = (_answered, _rows, _numbers, _replays, _order, _payloads, _extras, _ends)
    return [finding for check in checks for finding in check(evidence)]


def _messages(evidence: Evidence) -> list[Stored]:
    return [row for row in evidence.rows if row.state != "nacked"]


def _row_of(delivered: Delivered) -> str:
    """Give the row's id in a callback: `Agent/<agent>-<uuid>#<generation>.<send>`."""
    return delivered.callback.rpartition("#")[0][-36:]


def _answered(evidence: Evidence) -> Iterator[str]:
    """Every positively answered message has exactly one row, with its bytes."""
    rows = defaultdict(list)
    for row in _messages(evidence):
        rows[row.control_id].append(row)
    for control_id in {answer.control_id for answer in evidence.answers if answer.code in POSITIVE}:
        found = rows[control_id]
        if len(found) != 1:
            yield f"{control_id}: answered positively and has {len(found)} rows"
        elif found[0].sha256 != hashlib.sha256(evidence.sent[control_id]).hexdigest():
            yield f"{control_id}: the stored bytes are not those sent"


def _rows(evidence: Evidence) -> Iterator[str]:
    """No message has two rows, and no row is of a message nobody sent."""
    for control_id, count in Counter(row.control_id for row in _messages(evidence)).items():
        if count > 1:
            yield f"{control_id}: {count} rows"
        if control_id not in evidence.sent:
            yield f"{control_id}: a row of a message nobody sent"


def _numbers(evidence: Evidence) -> Iterator[str]:
    """Sequence numbers are 1..n per channel, in store order."""
    numbers = defaultdict(list)
    for row in sorted(_messages(evidence), key=lambda row: row.row):
        numbers[row.channel].append(row.sequence)
    for channel, given in numbers.items():
        if given != list(range(1, len(given) + 1)):
            yield f"{channel}: sequence numbers are not 1..{len(given)} in store order"


def _replays(evidence: Evidence) -> Iterator[str]:
    """Every positive answer to a message is the same bytes, and a retransmit makes no row."""
    if evidence.rows_after != len(evidence.rows):
        yield f"sending everything again made {evidence.rows_after - len(evidence.rows)} rows"
    answers = defaultdict(set)
    for answer in evidence.answers:
        if answer.code in POSITIVE:
            answers[answer.control_id].add(answer.answer_sha256)
    for control_id, different in answers.items():
        if len(different) > 1:
            yield f"{control_id}: {len(different)} different answers"


def _order(evidence: Evidence) -> Iterator[str]:
    """First deliveries are in store order per channel, without a gap that no doubt explains."""
    rows = {row.id: row for row in _messages(evidence)}
    first: dict[str, list[int]] = defaultdict(list)
    seen = set()
    for line in evidence.delivered:
        row = rows.get(_row_of(line))
        if row is None:
            yield f"{line.callback}: delivered, but there is no such row"
        elif row.id not in seen:
            seen.add(row.id)
            first[row.channel].append(row.row)
    for channel, order in first.items():
        if order != sorted(order):
            yield f"{channel}: first deliveries are not in store order"
        reached = max(order)
        for row in rows.values():
            is_due = row.channel == channel and row.row < reached and row.id not in seen
            if is_due and row.state != "failed":
                yield f"row {row.row} ({row.state}) was passed by row {reached} and never delivered"


def _payloads(evidence: Evidence) -> Iterator[str]:
    """What the server got is what was sent, but for MSH-13, which is the row's number."""
    rows = {row.id: row for row in _messages(evidence)}
    for line in evidence.delivered:
        row = rows.get(_row_of(line))
        if row is None or row.control_id not in evidence.sent:
            continue
        body, number = _without_number(line.body)
        original, _ = _without_number(evidence.sent[row.control_id].decode())
        if body != original:
            yield f"row {row.row}: the server got other bytes than were sent"
        if number != str(row.sequence):
            yield f"row {row.row}: delivered as number {number}, stored as {row.sequence}"


def _without_number(message: str) -> tuple[str, str]:
    """Take MSH-13 out; fields behind MSH-12 that are missing count as empty."""
    header, mark, rest = message.partition("\r")
    fields = header.split("|")
    fields += [""] * (13 - len(fields))
    number, fields[12] = fields[12], ""
    return "|".join(fields).rstrip("|") + mark + rest, number


def _extras(evidence: Evidence) -> Iterator[str]:
    """A row reaches the server's application once; only a server that knows repeats may see one."""
    fresh = Counter(_row_of(line) for line in evidence.delivered if not line.repeat)
    for row, count in fresh.items():
        if count > 1:
            yield f"{row}: taken {count} times as new"
    if not evidence.tells:
        for row, count in Counter(_row_of(line) for line in evidence.delivered).items():
            if count > 1:
                yield f"{row}: delivered {count} times to a server that cannot tell repeats"


def _ends(evidence: Evidence) -> Iterator[str]:
    """Everything is settled in the end: processed, or held for the one reason that is allowed."""
    taken = {_row_of(line) for line in evidence.delivered}
    for row in _messages(evidence):
        if row.state in WAITING:
            yield f"row {row.row}: still {row.state}"
        elif row.state == "processed":
            if row.id not in taken:
                yield f"row {row.row}: processed, but the server never got it"
        elif evidence.tells or (row.state, row.error_code) != ("failed", "interrupted"):
            yield f"row {row.row}: ended as {row.state} ({row.error_code})"
