"""The operator's reading: rows, bytes, events, channels at a glance. Acts are in `acts`, checks in `verify`."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import apsw

from gateway.core.lease import remaining
from gateway.errors import OperatorError
from gateway.model.anomalies import Capture, CaptureEnd, NotedOddity, Oddity
from gateway.model.clock import Now
from gateway.model.ids import ChannelName, RowId, row_of
from gateway.model.review import (
    ChannelSummary,
    Counter,
    EventRow,
    Finding,
    Halt,
    LeaseView,
    Row,
    RowFilter,
    StoredContent,
)
from gateway.model.states import Note, State
from gateway.store.sqlite import rows as reading
from gateway.store.sqlite.acts import Acts
from gateway.store.sqlite.anomalies import Q as ODD
from gateway.store.sqlite.anomalies import end_capture
from gateway.store.sqlite.journal import note
from gateway.store.sqlite.readers import Readers
from gateway.store.sqlite.rows import ROW_COLUMNS, Columns, due_of, event_of, halt_of
from gateway.store.sqlite.statements import ask, named
from gateway.store.sqlite.verify import Verification
from gateway.store.sqlite.watch import Watch
from gateway.store.sqlite.writer import Writer

Q = named("desk")
PAGE = 500
LAST_ROW = (1 << 48) - 1


class SqliteDesk(Acts):
    """Implements `ports.store.Desk`."""

    def __init__(self, *, store_id: UUID, writer: Writer, readers: Readers, watch: Watch) -> None:
        super().__init__(writer=writer, readers=readers, watch=watch)
        self._store_id = store_id

    @property
    def store_id(self) -> UUID:
        """The random part of every public row id."""
        return self._store_id

    async def resolve_id(self, text: str) -> RowId | None:
        """Read a public UUID or a row number."""
        number = _number(text.strip(), self._store_id)
        if number is None or not 0 < number <= LAST_ROW:
            return None
        found = await self._readers.read(lambda db: ask(db, Q["row_exists"], (number,)))
        return RowId(number) if found else None

    async def summaries(self) -> Sequence[ChannelSummary]:
        """Give every channel at a glance, all as of one moment."""
        return await self._readers.snapshot(_summaries)

    async def counters(self, channel: ChannelName) -> Sequence[Counter]:
        """Give the channel's last sequence numbers."""
        found = await self._readers.read(lambda db: ask(db, Q["counters"], (channel,)))
        return [Counter(sender=sender, last=last) for sender, last in found]

    async def leases(self, now: Now) -> Sequence[LeaseView]:
        """Give every dispatch group's lease."""
        found = await self._readers.read(lambda db: ask(db, named("leases")["leases"]))
        return [
            LeaseView(
                group=group,
                holder=holder,
                epoch=epoch,
                expires_in=None if holder is None else remaining(due_of(boot, ms), now),
                link=link,
            )
            for group, holder, epoch, boot, ms, link in found
        ]

    async def rows(self, which: RowFilter) -> AsyncIterator[Row]:
        """Give rows in store order, page by page."""
        after, left = 0, which.limit
        while left is None or left > 0:
            limit = PAGE if left is None else min(PAGE, left)
            query, values = _page(which, after=after, limit=limit)
            found = await self._read_rows(query, values)
            for columns in found:
                yield reading.row_of(columns, self._store_id)
            if len(found) < limit:
                return
            after = found[-1][0]
            left = None if left is None else left - len(found)

    async def row(self, row: RowId) -> Row | None:
        """Read one row."""
        query = f"SELECT {ROW_COLUMNS} FROM messages m JOIN channels c ON c.id = m.channel_id WHERE m.id = ?"  # noqa: S608 - fixed text
        found = await self._read_rows(query, (row,))
        return reading.row_of(found[0], self._store_id) if found else None

    async def _read_rows(self, query: str, values: Columns) -> list[Columns]:
        return await self._readers.read(lambda db: ask(db, query, values))

    async def stored(self, row: RowId) -> StoredContent | None:
        """Read one row's bytes."""
        found = await self._read_rows(Q["stored"], (row,))
        if not found:
            return None
        original, commit_answer, application_answer, status, body = found[0]
        return StoredContent(
            original=original,
            commit_answer=commit_answer or b"",
            application_answer=application_answer,
            server_status=status,
            server_body=body,
        )

    async def events(self, *, row: RowId | None, after: int, limit: int) -> Sequence[EventRow]:
        """Give events in order, of one row or of all."""
        if row is None:
            found = await self._read_rows(Q["events"], (after, limit))
        else:
            found = await self._read_rows(Q["events_of_row"], (after, limit, row))
        return [event_of(columns) for columns in found]

    async def anomalies(self, channel: ChannelName, *, after: int, limit: int) -> Sequence[NotedOddity]:
        """Give the channel's anomalies, newest first."""
        return await self._readers.read(lambda db: _oddities(db, channel, after=after, limit=limit))

    async def ask_capture(
        self, channel: ChannelName, *, frames: int, until: int, who: str, why: str, now: Now
    ) -> Capture:
        """Ask for the next frames of a channel as they come; one capture of a channel at a time."""

        def work(db: apsw.Connection) -> int:
            number = _registered(db, channel)
            for before, by, ends in ask(db, ODD["capture_of"], (number,)):
                if now.wall < ends:
                    raise OperatorError(f"a capture of channel {channel} is open already, asked for by {by}")
                end_capture(db, before, CaptureEnd.EXPIRED, at=now.wall)
            asked = int(ask(db, ODD["ask_capture"], (number, frames, who, why, now.wall, until))[0][0])
            note(db, Note.CAPTURE_ASKED, at=now.wall, channel=number, actor=who, code=f"capture {asked}", reason=why)
            return asked

        return Capture(
            id=await self._writer.submit(work),
            channel=channel,
            wanted=frames,
            taken=0,
            size=0,
            who=who,
            why=why,
            since=now.wall,
            until=until,
        )

    def verify(self) -> AsyncIterator[Finding]:
        """Check the store against its own promises."""
        return Verification(self._readers).run()


def _number(text: str, store_id: UUID) -> int | None:
    """Read a row number, or a public id of this store."""
    if text.isdecimal() and len(text) <= len(str(LAST_ROW)):
        return int(text)
    try:
        return row_of(store_id, UUID(text))
    except ValueError:
        return None


def _page(which: RowFilter, *, after: int, limit: int) -> tuple[str, Columns]:
    """Put the wanted conditions together; every value is bound."""
    conditions, values = ["m.id > ?"], [after]
    bound: list[object] = [*values]
    if which.channel is not None:
        conditions.append("m.channel_id = (SELECT id FROM channels WHERE name = ?)")
        bound.append(which.channel)
    if which.states:
        conditions.append(f"m.state IN ({', '.join('?' for _ in which.states)})")
        bound += which.states
    if which.control_id is not None:
        conditions.append("m.control_id = ?")
        bound.append(bytes(which.control_id))
    query = (
        f"SELECT {ROW_COLUMNS} FROM messages m JOIN channels c ON c.id = m.channel_id "  # noqa: S608 - values are bound
        f"WHERE {' AND '.join(conditions)} ORDER BY m.id LIMIT ?"
    )
    return query, (*bound, limit)


def _summaries(db: apsw.Connection) -> list[ChannelSummary]:
    channels = ask(db, named("channels")["channels"])
    return [_summary(db, number, ChannelName(name)) for number, name in channels]


def _summary(db: apsw.Connection, number: int, name: ChannelName) -> ChannelSummary:
    """Count one channel without touching the rows that rest."""
    depth = ask(db, Q["count_live"], (number,))[0][0]
    counts = dict.fromkeys(State, 0)
    for query in ("count_flying", "count_review", "tallies"):
        counts.update((State(word), n) for word, n in ask(db, Q[query], (number,)))
    counts[State.QUEUED] = depth - counts[State.CLAIMED] - counts[State.INFLIGHT]
    head = ask(db, Q["first_live"], (number,))
    row, state, attempts, boot, ms, error, oldest_at = head[0] if head else (None, None, 0, None, None, None, None)
    number_of = ask(db, Q["last_number"], (number,))
    return ChannelSummary(
        channel=name,
        counts=counts,
        depth=depth,
        oldest_at=oldest_at,
        head=row,
        head_state=None if state is None else State(state),
        head_attempts=attempts,
        head_due=due_of(boot, ms),
        last_error=error or _last_review(db, number),
        last_sequence=number_of[0][0] if number_of else None,
        in_review=counts[State.FAILED] + counts[State.REJECTED],
        halted=_halts(db, number, name),
        anomalies=dict(ask(db, ODD["tallies"], (number,))),
    )


def _registered(db: apsw.Connection, name: ChannelName) -> int:
    """Give the channel's number as the file knows it. Raises OperatorError for an unknown one."""
    found = ask(db, named("channels")["channel"], (name,))
    if not found:
        raise OperatorError(f"there is no channel {name} in the store yet; start the gateway once")
    return int(found[0][0])


def _oddities(db: apsw.Connection, channel: ChannelName, *, after: int, limit: int) -> list[NotedOddity]:
    found = ask(db, ODD["newest"], (_registered(db, channel), after, limit))
    return [
        NotedOddity(
            id=number,
            oddity=Oddity(
                channel=channel, at=at, peer=peer, kind=kind, offset=offset, count=count, bytes_hex=bytes_hex
            ),
        )
        for number, at, peer, kind, offset, count, bytes_hex in found
    ]


def _last_review(db: apsw.Connection, number: int) -> str | None:
    found = ask(db, Q["last_review"], (number,))
    return found[0][0] if found else None


def _halts(db: apsw.Connection, number: int, name: ChannelName) -> tuple[Halt, ...]:
    return tuple(halt_of(name, columns) for columns in ask(db, named("outbox")["halts"], (number,)))
