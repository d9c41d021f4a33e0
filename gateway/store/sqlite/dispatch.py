"""Dispatch-class units, on the writer thread: claims, marks, settles, late answers. All behind one door, `fenced`."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import assert_never

import apsw

from gateway.core.states import LIVE, advance, sources
from gateway.errors import StaleEpoch
from gateway.model.clock import Now
from gateway.model.delivery import Again, Finish, GiveUp, Release, Sending, Settled, Settlement, Term
from gateway.model.ids import SYSTEM, RowId
from gateway.model.states import ErrorCode, Event, Note, State
from gateway.store.sqlite.journal import INSERT, note
from gateway.store.sqlite.rows import Columns
from gateway.store.sqlite.statements import ask, named

Q = named("outbox")
_INSERT_TWO = named("intake")["insert_two_events"]
_HOLDS, _CLAIM, _MARK, _SETTLE, _RELEASE = Q["holds_term"], Q["claim"], Q["mark_sent"], Q["settle"], Q["release"]

_IN_HAND = (State.INFLIGHT, State.CLAIMED)
"""States a send is settled from, the usual one first."""


def fenced(db: apsw.Connection, term: Term) -> None:
    """Let only the leader of this term go on. The first statement of every dispatch unit. Raises StaleEpoch."""
    if not ask(db, _HOLDS, (term.group, term.holder, term.epoch)):
        raise StaleEpoch(epoch=term.epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claiming:
    """A claim with its numbers looked up. `reaches` is `claimed`, or `inflight` when it is sent at once."""

    sending: Sending
    channel: int
    policy: int
    reaches: State


def claim(db: apsw.Connection, term: Term, claiming: Claiming, now: Now) -> Columns | None:
    """Claim a head if the store agrees that it is one; gives the columns of the claim."""
    sending = claiming.sending
    is_sent = claiming.reaches is State.INFLIGHT
    found = ask(db,
        _CLAIM,
        (
            term.epoch, claiming.policy, sending.row, claiming.channel, sending.generation, now.boot_id, now.ms,
            term.group, claiming.reaches, *((now.boot_id, now.ms, now.wall) if is_sent else (None, None, None)),
        ),
    )  # fmt: skip
    if not found:
        return None
    columns: Columns = found[0]
    send = columns[2]
    claimed = advance(State.QUEUED, Event.CLAIMED)
    start = (sending.row, claiming.channel, now.wall, SYSTEM)
    tail = (send, term.epoch, None, None)
    noted = (*start, Event.CLAIMED, State.QUEUED, claimed, *tail)
    if is_sent:
        db.execute(_INSERT_TWO, (*noted, *start, Event.SENT, claimed, advance(claimed, Event.SENT), *tail))
    else:
        db.execute(INSERT, noted)
    return columns


def mark_sent(db: apsw.Connection, term: Term, row: RowId, now: Now) -> bool:
    """Mark a claimed row `inflight`; False if this term does not hold it claimed."""
    found = ask(db, _MARK, (row, term.epoch, now.boot_id, now.ms, now.wall, term.group))
    for channel, send in found:
        after = advance(State.CLAIMED, Event.SENT)
        note(
            db,
            Event.SENT,
            at=now.wall,
            row=row,
            channel=channel,
            before=State.CLAIMED,
            after=after,
            send=send,
            epoch=term.epoch,
        )
    return bool(found)


def settle(db: apsw.Connection, term: Term, settled: Settled, now: Now) -> bool:
    """Write one decision about one send; False if no such send is in our hands."""
    event = event_of(settled.settlement)
    for before in _IN_HAND:
        if before not in sources(event):
            continue
        found = ask(db, *_settle_statement(term, settled, before, now))
        if found:
            channel, partition = found[0]
            _follow(db, term, settled, channel=channel, partition=partition, before=before, now=now)
            return True
    return False


def event_of(settlement: Settlement) -> Event:
    """Name the event of a settlement."""
    return Event.RELEASED if isinstance(settlement, Release) else settlement.event


def _settle_statement(term: Term, settled: Settled, before: State, now: Now) -> tuple[str, Columns]:
    """Choose the statement that writes this settlement, and its values."""
    send = (settled.row, settled.generation, settled.send, before)
    settlement = settled.settlement
    if isinstance(settlement, Release):
        return _RELEASE, (*send, term.epoch, term.group)
    after = advance(before, settlement.event)
    counted, link_lost, wait = effects_of(settlement)
    due = (None, None) if wait is None else (now.boot_id, now.ms + wait)
    is_live = after in LIVE
    return _SETTLE, (
        *send, after, int(is_live), term.epoch, counted, link_lost, *due,
        None if is_live else now.wall, code_of(settlement, after), term.group,
    )  # fmt: skip


def effects_of(settlement: Finish | Again | GiveUp) -> tuple[int, int, int | None]:
    """Give what a settlement counts (attempts, link losses) and the ms until the row is due again."""
    match settlement:
        case Finish():
            return 0, 0, None
        case Again():
            return int(settlement.counted), int(settlement.link_lost), settlement.wait
        case GiveUp():
            return int(settlement.counted), int(settlement.link_lost), None
        case _:
            assert_never(settlement)


def code_of(settlement: Finish | Again | GiveUp, after: State) -> ErrorCode | None:
    """Give the error code the row shows; a refusal always has one."""
    if settlement.code is None and after is State.REJECTED:
        return ErrorCode.SERVER_REJECTED
    return settlement.code


def _follow(
    db: apsw.Connection,
    term: Term,
    settled: Settled,
    *,
    channel: int,
    partition: str,
    before: State,
    now: Now,
) -> None:
    """Write what goes with a settle: its event, what the server said, and the halt it causes."""
    settlement = settled.settlement
    event = event_of(settlement)
    code = None if isinstance(settlement, Release) else settlement.code
    after = advance(before, event)
    start = (settled.row, channel, now.wall, SYSTEM, event, before, after)
    db.execute(INSERT, (*start, settled.send, term.epoch, code, None))
    store_reply(db, settled)
    if isinstance(settlement, Finish | GiveUp) and settlement.halts:
        halt(db, settled.row, channel=channel, partition=partition, code=code, now=now)


def store_reply(db: apsw.Connection, settled: Settled) -> None:
    """Keep what the server said, and the answer owed to the sender."""
    reply = settled.reply
    if reply is None and settled.answer is None:
        return
    said = (None, None, None) if reply is None else (reply.status, reply.body, reply.ack_code)
    db.execute(Q["store_reply"], (settled.row, *said, settled.answer))


def halt(db: apsw.Connection, row: RowId, *, channel: int, partition: str, code: ErrorCode | None, now: Now) -> None:
    """Halt a row's partition until the row is decided or the halt is lifted."""
    why = code or "halted"
    db.execute(Q["insert_halt"], (channel, partition, row, SYSTEM, why, now.wall))
    note(db, Note.HALTED, at=now.wall, row=row, channel=channel, code=code)


def lift_halt(db: apsw.Connection, row: RowId, *, actor: str, at: int) -> None:
    """Lift the halt a row holds over its partition, now that the row is decided."""
    for (channel,) in ask(db, Q["lift_row_halt"], (row,)):
        note(db, Note.RESUMED, at=at, row=row, channel=channel, actor=actor)


def late(db: apsw.Connection, term: Term, settled: Settled, now: Now) -> bool:
    """Apply a late answer where the rules let it move the row; else keep it as evidence. True if it moved."""
    found = ask(db, Q["late_target"], (settled.row, term.group))
    if not found:
        return False
    channel, partition, word, generation, sends, first_send = found[0]
    before = State(word)
    event = late_event(settled, before, generation=generation, sends=sends, first_send=first_send)
    settlement = settled.settlement
    if event is None or not isinstance(settlement, Finish):
        keep_late(db, settled, epoch=term.epoch, now=now)
        return False
    after = advance(before, event)
    code = code_of(settlement, after)
    db.execute(Q["settle_late"], (settled.row, after, term.epoch, now.wall, code))
    note(
        db,
        event,
        at=now.wall,
        row=settled.row,
        channel=channel,
        before=before,
        after=after,
        send=settled.send,
        epoch=term.epoch,
        code=code,
    )
    store_reply(db, settled)
    lift_halt(db, settled.row, actor=SYSTEM, at=now.wall)
    if settlement.halts:
        halt(db, settled.row, channel=channel, partition=partition, code=code, now=now)
    return True


def late_event(settled: Settled, before: State, *, generation: int, sends: int, first_send: int | None) -> Event | None:
    """Say what a late answer does to its row (PROTOCOL, section 1, correlation); None: it is evidence only.

    Of the latest send, an accept or a refusal counts as if in time. Of an earlier send of the generation only an
    accept does. Of an earlier generation only an accept that meets a row not sent again yet.
    """
    if settled.send > sends or settled.generation > generation or not isinstance(settled.settlement, Finish):
        return None
    if settled.settlement.event is Event.ACCEPTED:
        is_fresh = before is State.QUEUED and first_send is None
        applies = settled.generation == generation or is_fresh
        return Event.LATE_ACCEPT if applies and before in sources(Event.LATE_ACCEPT) else None
    is_latest = settled.generation == generation and settled.send == sends
    return Event.LATE_REFUSAL if is_latest and before in sources(Event.LATE_REFUSAL) else None


def keep_late(db: apsw.Connection, settled: Settled, *, epoch: int, now: Now) -> None:
    """Keep an answer that may not move its row any more; insert-only, so any epoch may."""
    found = ask(db, Q["channel_of"], (settled.row,))
    if not found:
        return
    event = event_of(settled.settlement)
    code = None if isinstance(settled.settlement, Release) else settled.settlement.code
    reply = settled.reply
    body = None if reply is None or reply.body is None else sha256(reply.body.encode("utf-8", "replace")).digest()
    status = None if reply is None else reply.status
    db.execute(
        Q["insert_late_answer"],
        (settled.row, settled.generation, settled.send, epoch, event, code, status, body, now.wall),
    )
    note(
        db,
        Note.EVIDENCE,
        at=now.wall,
        row=settled.row,
        channel=found[0][0],
        send=settled.send,
        epoch=epoch,
        code=code,
        reason=f"late answer to {settled.generation}.{settled.send}: {event}",
    )


def in_savepoint(db: apsw.Connection, name: str, work: Callable[[], Columns | None]) -> Columns | None:
    """Run a part that may fail without undoing what came before it in the unit."""
    db.execute(f"SAVEPOINT {name}")
    try:
        return work()
    except BaseException:
        if db.in_transaction:
            db.execute(f"ROLLBACK TO {name}")
        raise
    finally:
        if db.in_transaction:
            db.execute(f"RELEASE {name}")
