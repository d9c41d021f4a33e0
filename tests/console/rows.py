"""Rows, events, summaries and leases with sensible values, to vary one thing at a time."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from gateway.model.clock import Now
from gateway.model.ids import ChannelName, RowId, new_store_id, row_uuid
from gateway.model.review import ChannelSummary, EventRow, Halt, LeaseView, Row
from gateway.model.states import AnswerState, State

STORE = new_store_id(bytes(range(16)))
AT = 1_767_268_800_123
"""2026-01-01T12:00:00.123Z"""

NOW = Now(wall=AT + 60_000, boot_id="boot", ms=1_000_000)
ADT = ChannelName("adt")


def row(number: int = 7, /, **changes: Any) -> Row:
    plain = Row(
        id=public(number),
        row=RowId(number),
        channel=ADT,
        state=State.QUEUED,
        error_code=None,
        control_id=b"MSG00007",
        message_type="ADT^A01^ADT_A01",
        sender="SNDAPP|SNDFAC",
        version="2.5.1",
        sequence=7,
        inbound_sequence="",
        declared_charset="",
        encoding="utf-8",
        flags=(),
        partition="",
        barrier=False,
        sends=0,
        attempts=0,
        generation=0,
        link_losses=0,
        epoch=None,
        repeats=0,
        size=163,
        sha256=bytes(range(32)),
        remote="127.0.0.1:50000",
        received_at=AT,
        first_sent_at=None,
        settled_at=None,
        due=None,
        answer_state=AnswerState.NOT_OWED,
    )
    return replace(plain, **changes)


def public(number: int) -> UUID:
    return row_uuid(STORE, RowId(number))


def event(number: int = 1, /, **changes: Any) -> EventRow:
    plain = EventRow(
        id=number,
        row=RowId(7),
        channel=ADT,
        at=AT,
        actor="system",
        kind="accepted",
        from_state=None,
        to_state=State.QUEUED,
        send=None,
        epoch=None,
        code=None,
        reason=None,
    )
    return replace(plain, **changes)


def summary(**changes: Any) -> ChannelSummary:
    plain = ChannelSummary(
        channel=ADT,
        counts={State.QUEUED: 1},
        depth=1,
        oldest_at=AT,
        head=RowId(7),
        head_state=State.QUEUED,
        head_attempts=0,
        head_due=None,
        last_error=None,
        last_sequence=7,
        in_review=0,
        halted=(),
    )
    return replace(plain, **changes)


def halt(**changes: Any) -> Halt:
    plain = Halt(channel=ADT, partition=None, row=None, who="anna", why="maintenance", since=AT)
    return replace(plain, **changes)


def lease(**changes: Any) -> LeaseView:
    plain = LeaseView(group="main", holder="gw-a:42", epoch=3, expires_in=12_000, link="live")
    return replace(plain, **changes)
