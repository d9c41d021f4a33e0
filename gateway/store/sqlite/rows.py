"""From rows of the database to values. No query, no decision."""

from typing import Any
from uuid import UUID

from gateway.model.clock import Due
from gateway.model.delivery import Claim, Head
from gateway.model.ids import ChannelName, RowId, row_uuid
from gateway.model.policy import RetryPolicy
from gateway.model.review import EventRow, Halt, Row
from gateway.model.states import AnswerState, State

Columns = tuple[Any, ...]
"""One row as SQLite gives it; the order is that of the query named in each function."""

ROW_COLUMNS = """m.id, c.name, m.state, m.error_code, m.control_id, m.message_type, m.sender, m.version, m.sequence,
m.inbound_sequence, m.declared_charset, m.encoding, m.flags, m.partition, m.barrier, m.sends, m.attempts, m.generation,
m.link_losses, m.epoch, m.repeats, m.size, m.sha256, m.remote, m.received_at, m.first_sent_wall, m.settled_at,
m.due_boot, m.due_ms, m.answer_state"""


def due_of(boot: str | None, ms: int | None) -> Due | None:
    """Give a moment of one boot, or None."""
    return None if boot is None or ms is None else Due(boot_id=boot, ms=ms)


def head_of(columns: Columns, policy: RetryPolicy | None) -> Head:
    """Read a row of `heads`, `head` or `inflight`."""
    row, partition, barrier, state, generation, sends, attempts, losses, due_boot, due_ms, _, boot, ms, wall = columns
    return Head(
        row=RowId(row),
        partition=partition,
        barrier=bool(barrier),
        state=State(state),
        generation=generation,
        sends=sends,
        attempts=attempts,
        link_losses=losses,
        due=due_of(due_boot, due_ms),
        policy=policy,
        first_sent=due_of(boot, ms),
        first_sent_wall=wall,
    )


def claim_of(row: RowId, columns: Columns, policy: RetryPolicy) -> Claim:
    """Read what `claim` returned."""
    partition, generation, sends, attempts, losses, _, boot, ms, wall = columns
    return Claim(
        row=row,
        partition=partition,
        generation=generation,
        send=sends,
        attempts=attempts,
        link_losses=losses,
        policy=policy,
        first_sent=due_of(boot, ms),
        first_sent_wall=wall,
    )


def row_of(columns: Columns, store_id: UUID) -> Row:
    """Read a row of ROW_COLUMNS."""
    (
        number, channel, state, error_code, control_id, message_type, sender, version, sequence,
        inbound_sequence, declared_charset, encoding, flags, partition, barrier, sends, attempts, generation,
        link_losses, epoch, repeats, size, sha256, remote, received_at, first_sent_at, settled_at,
        due_boot, due_ms, answer_state,
    ) = columns  # fmt: skip
    return Row(
        id=row_uuid(store_id, RowId(number)),
        row=RowId(number),
        channel=ChannelName(channel),
        state=State(state),
        error_code=error_code,
        control_id=control_id,
        message_type=message_type,
        sender=sender,
        version=version,
        sequence=sequence,
        inbound_sequence=inbound_sequence,
        declared_charset=declared_charset,
        encoding=encoding,
        flags=flags_of(flags),
        partition=partition,
        barrier=bool(barrier),
        sends=sends,
        attempts=attempts,
        generation=generation,
        link_losses=link_losses,
        epoch=epoch,
        repeats=repeats,
        size=size,
        sha256=sha256,
        remote=remote,
        received_at=received_at,
        first_sent_at=first_sent_at,
        settled_at=settled_at,
        due=due_of(due_boot, due_ms),
        answer_state=AnswerState(answer_state),
    )


def flags_of(text: str) -> tuple[str, ...]:
    """Read the words of a row's flags."""
    return tuple(text.split(" ")) if text else ()


def with_flag(text: str, flag: str) -> str:
    """Add a word to a row's flags, once."""
    return text if flag in flags_of(text) else f"{text} {flag}".strip()


def event_of(columns: Columns) -> EventRow:
    """Read a row of `events`."""
    number, row, channel, at, actor, kind, before, after, send, epoch, code, reason = columns
    return EventRow(
        id=number,
        row=None if row is None else RowId(row),
        channel=None if channel is None else ChannelName(channel),
        at=at,
        actor=actor,
        kind=kind,
        from_state=None if before is None else State(before),
        to_state=None if after is None else State(after),
        send=send,
        epoch=epoch,
        code=code,
        reason=reason,
    )


def halt_of(channel: ChannelName, columns: Columns) -> Halt:
    """Read a row of `halts`."""
    partition, row, who, why, since = columns
    return Halt(
        channel=channel,
        partition=partition,
        row=None if row is None else RowId(row),
        who=who,
        why=why,
        since=since,
    )
