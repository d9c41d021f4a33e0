"""Checks the file against the store's promises, page by page. Repairs nothing, shows no content."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

import apsw

from gateway.core.states import LIVE, advance
from gateway.errors import IllegalTransition
from gateway.model.ids import RowId
from gateway.model.review import Finding
from gateway.model.states import Event, State
from gateway.store.sqlite.acts import FORGOTTEN
from gateway.store.sqlite.readers import Readers
from gateway.store.sqlite.rows import Columns, flags_of
from gateway.store.sqlite.statements import ask, named

Q = named("verify")
PAGE = 200

_FINAL = frozenset({State.PROCESSED, State.DISCARDED, State.NACKED})
_EVENTS = frozenset(Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """One row as verification sees it."""

    row: RowId
    channel: int
    state: State
    sequence: int | None
    sha256: bytes
    size: int
    flags: tuple[str, ...]
    generation: int
    sends: int
    has_content: bool
    original: bytes | None
    fingerprint_row: int | None


class Verification:
    """One run over the whole file. Numbers are compared from row to row, so a run is used once."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._numbers: dict[int, int] = {}

    async def run(self) -> AsyncIterator[Finding]:
        """Yield what is wrong: first the file itself, then every row, then what counts and points."""
        for finding in await self._readers.read(lambda db: list(_file(db))):
            yield finding
        after: int | None = 0
        while after is not None:
            findings, after = await self._readers.snapshot(partial(self._page, after))
            for finding in findings:
                yield finding
        for finding in await self._readers.snapshot(lambda db: [*_counts(db), *_pointers(db)]):
            yield finding

    def _page(self, after: int, db: apsw.Connection) -> tuple[list[Finding], int | None]:
        """Check one page as of one moment; gives where the next one begins."""
        findings: list[Finding] = []
        last: int | None = None
        for columns in db.execute(Q["page"], (after, PAGE)):
            checked = _checked(columns)
            last = checked.row
            findings += _content(checked)
            findings += _fingerprint(checked)
            findings += _history(checked, ask(db, Q["history"], (checked.row,)))
            findings += self._number(checked)
        return findings, last

    def _number(self, checked: _Checked) -> Iterator[Finding]:
        """Numbers of a channel go up by one, in store order."""
        if checked.sequence is None:
            return
        before = self._numbers.get(checked.channel)
        self._numbers[checked.channel] = checked.sequence
        if checked.sequence != (before or 0) + 1:
            yield _found("sequence-gap", checked.row, f"number {checked.sequence} follows {before or 0}")


def _found(kind: str, row: RowId | None, text: str) -> Finding:
    return Finding(kind=kind, row=row, text=text)


def _checked(columns: Columns) -> _Checked:
    row, channel, state, sequence, digest, size, flags, generation, sends, has_content, original, fingerprint = columns
    return _Checked(
        row=RowId(row),
        channel=channel,
        state=State(state),
        sequence=sequence,
        sha256=digest,
        size=size,
        flags=flags_of(flags),
        generation=generation,
        sends=sends,
        has_content=bool(has_content),
        original=original,
        fingerprint_row=fingerprint,
    )


def _file(db: apsw.Connection) -> Iterator[Finding]:
    for (text,) in ask(db, Q["quick_check"]):
        if text != "ok":
            yield _found("damaged", None, "SQLite finds the file damaged")
    for table, number, *_ in ask(db, Q["foreign_keys"]):
        yield _found("dangling", None, f"{table} {number} points at nothing")


def _content(checked: _Checked) -> Iterator[Finding]:
    """Every row has its bytes, unchanged; only what is final may have lost them to retention."""
    if not checked.has_content:
        yield _found("content-missing", checked.row, "the row has no content")
    elif checked.original is None:
        if checked.state not in _FINAL:
            yield _found("content-missing", checked.row, f"a {checked.state} row has lost its bytes")
    elif sha256(checked.original).digest() != checked.sha256 or len(checked.original) != checked.size:
        yield _found("hash-mismatch", checked.row, "the stored bytes do not match their hash")


def _fingerprint(checked: _Checked) -> Iterator[Finding]:
    """Every accepted row is known to dedupe, unless a person dropped that, or its window ended and a copy came."""
    if checked.state is State.NACKED or checked.fingerprint_row == checked.row:
        return
    if checked.fingerprint_row is None and FORGOTTEN in checked.flags:
        return
    is_superseded = checked.fingerprint_row is not None and checked.fingerprint_row > checked.row
    if not (is_superseded and checked.state not in LIVE):
        yield _found("fingerprint-missing", checked.row, "a retransmit of this row would be taken as new")


def _history(checked: _Checked, events: list[Columns]) -> Iterator[Finding]:
    """Replay the events of a row over the transition table; they end where the row stands."""
    state: State | None = None
    claims: list[int] = []
    generation = 0
    for kind, before, after, send in events:
        if kind not in _EVENTS or after is None:
            continue
        try:
            reached = advance(state, Event(kind))
        except IllegalTransition as error:
            yield _found("illegal-transition", checked.row, str(error))
            return
        if before != state or after != reached:
            yield _found("event-mismatch", checked.row, f"{kind} is noted from {before} to {after}")
        state = State(after)
        if kind == Event.CLAIMED:
            claims.append(send)
        generation += kind == Event.REQUEUED
    if state is not checked.state:
        yield _found("event-missing", checked.row, f"events end at {state}, the row is {checked.state}")
    if claims != list(range(1, checked.sends + 1)) or generation != checked.generation:
        yield _found("event-missing", checked.row, "sends or generations do not match the events")


def _counts(db: apsw.Connection) -> Iterator[Finding]:
    """Counters say what the table says."""
    if ask(db, Q["tallies"]) != ask(db, Q["counted"]):
        yield _found("tally-mismatch", None, "the counters of resting rows do not match the rows")
    for _, last, newest in ask(db, Q["sequences"]):
        if newest is not None and newest != last:
            yield _found("sequence-gap", None, f"the counter stands at {last}, the newest row has {newest}")


def _pointers(db: apsw.Connection) -> Iterator[Finding]:
    """Fingerprints and halts point at rows of their kind."""
    for (row,) in ask(db, Q["stray_fingerprints"]):
        yield _found("fingerprint-stray", RowId(row), "a fingerprint names a row of other bytes")
    for (row,) in ask(db, Q["halts_without_review"]):
        yield _found("halt-stray", RowId(row), "a row that is not in review halts its partition")
