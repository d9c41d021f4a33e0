"""Writes event rows, in the transaction of what they tell. Never writes content."""

import apsw

from gateway.model.ids import SYSTEM, RowId
from gateway.model.states import ErrorCode, Event, Note, State
from gateway.store.sqlite.statements import named

INSERT = named("intake")["insert_event"]


def note(
    db: apsw.Connection,
    kind: Event | Note,
    *,
    at: int,
    row: RowId | None = None,
    channel: int | None = None,
    actor: str = SYSTEM,
    before: State | None = None,
    after: State | None = None,
    send: int | None = None,
    epoch: int | None = None,
    code: ErrorCode | str | None = None,
    reason: str | None = None,
) -> None:
    """Write one event; `at` is Unix time in ms, `channel` the channel's number."""
    db.execute(INSERT, (row, channel, at, actor, kind, before, after, send, epoch, code, reason))
