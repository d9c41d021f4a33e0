"""The operator's acts, each with who and why in its own transaction. Refuses in plain words what the state forbids."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import apsw

from gateway.core.states import advance, sources
from gateway.errors import OperatorError
from gateway.model.clock import Now
from gateway.model.ids import ChannelName, RowId
from gateway.model.policy import RetryPolicy
from gateway.model.states import ErrorCode, Event, Note, State
from gateway.store.sqlite import channels as registry
from gateway.store.sqlite.dispatch import lift_halt
from gateway.store.sqlite.journal import note
from gateway.store.sqlite.policies import freeze
from gateway.store.sqlite.readers import Readers
from gateway.store.sqlite.rows import with_flag
from gateway.store.sqlite.statements import ask, named
from gateway.store.sqlite.watch import Watch
from gateway.store.sqlite.writer import Writer

T = TypeVar("T")

Q = named("desk")
_COUNT_ACT = named("outbox")["count_act"]

FORGOTTEN = "forgotten"
"""Flag of a row whose fingerprint a person dropped: the next copy is new."""

LATER_DELIVERED = "later rows of its partition were already delivered: the server sees it out of order"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The row an act is about, as it is inside the transaction."""

    row: RowId
    channel: int
    name: ChannelName
    state: State
    generation: int
    sends: int
    flags: str
    key: bytes | None
    sha256: bytes


class Acts:
    """The writing half of the desk."""

    def __init__(self, *, writer: Writer, readers: Readers, watch: Watch) -> None:
        self._writer = writer
        self._readers = readers
        self._watch = watch

    async def requeue(self, row: RowId, *, who: str, why: str, now: Now) -> str | None:
        """Queue a failed or rejected row again, with its budgets full; gives a warning if order is already lost."""
        is_late = bool(await self._readers.read(lambda db: ask(db, Q["delivered_later"], (row,))))

        def work(db: apsw.Connection) -> ChannelName:
            target = _target(db, row, Event.REQUEUED)
            db.execute(Q["requeue"], (row,))
            _note(db, target, Event.REQUEUED, who=who, why=why, now=now)
            lift_halt(db, row, actor=who, at=now.wall)
            return target.name

        await self._act(work, lambda name: name)
        return LATER_DELIVERED if is_late else None

    async def resolve(self, row: RowId, *, who: str, why: str, forget: bool, now: Now) -> None:
        """Note that a failed or rejected row did arrive."""
        await self._end(row, Event.RESOLVED, None, who=who, why=why, forget=forget, now=now)

    async def discard(self, row: RowId, *, who: str, why: str, forget: bool, now: Now) -> None:
        """Give a queued, failed or rejected row up; its content stays until retention."""
        await self._end(row, Event.DISCARDED, ErrorCode.DISCARDED, who=who, why=why, forget=forget, now=now)

    async def _end(
        self,
        row: RowId,
        event: Event,
        code: ErrorCode | None,
        *,
        who: str,
        why: str,
        forget: bool,
        now: Now,
    ) -> None:
        def work(db: apsw.Connection) -> ChannelName:
            target = _target(db, row, event)
            db.execute(Q["end"], (row, advance(target.state, event), now.wall, code))
            if forget:
                db.execute(Q["forget"], (target.channel, target.key, target.sha256, row))
                db.execute(Q["flag"], (row, with_flag(target.flags, FORGOTTEN)))
            _note(db, target, event, who=who, why=why, now=now)
            lift_halt(db, row, actor=who, at=now.wall)
            return target.name

        await self._act(work, lambda name: name)

    async def halt(self, channel: ChannelName, *, who: str, why: str, now: Now) -> None:
        """Halt the whole channel."""

        def work(db: apsw.Connection) -> None:
            number = _channel(db, channel)
            for by, _ in ask(db, Q["channel_halt"], (number,)):
                raise OperatorError(f"channel {channel} is halted already, by {by}")
            db.execute(Q["add_channel_halt"], (number, who, why, now.wall))
            note(db, Note.HALTED, at=now.wall, channel=number, actor=who, reason=why)

        await self._act(work, lambda _: channel)

    async def resume(self, channel: ChannelName, *, who: str, why: str, now: Now) -> int:
        """Lift every halt of the channel."""

        def work(db: apsw.Connection) -> int:
            number = _channel(db, channel)
            lifted = len(ask(db, Q["lift_halts"], (number,)))
            if lifted:
                note(db, Note.RESUMED, at=now.wall, channel=number, actor=who, reason=why)
            return lifted

        return await self._act(work, lambda _: channel)

    async def set_counter(
        self, channel: ChannelName, sender: str, last: int | None, *, who: str, why: str, now: Now
    ) -> int | None:
        """Set or forget a sender's last number. The event names both numbers; the sender is whoever sends next."""

        def work(db: apsw.Connection) -> int | None:
            number = _channel(db, channel)
            found = ask(db, Q["counter"], (number, sender))
            before = int(found[0][0]) if found else None
            if last is None:
                db.execute(named("intake")["clear_last"], (number, sender))
            else:
                db.execute(named("intake")["set_last"], (number, sender, last))
            told = f"{sender}: {_or_none(before)} -> {_or_none(last)}: {why}"
            note(db, Note.SEQUENCE_SET, at=now.wall, channel=number, actor=who, reason=told)
            return before

        # No row moves, so that no leader needs to be told; intake reads the counter with every message.
        return await self._writer.submit(work)

    async def apply_policy(self, channel: ChannelName, policy: RetryPolicy, *, who: str, why: str, now: Now) -> int:
        """Freeze another retry policy on every live row of the channel."""

        def work(db: apsw.Connection) -> int:
            number = _channel(db, channel)
            changed = len(ask(db, Q["apply_policy"], (number, freeze(db, policy))))
            note(db, Note.POLICY_APPLIED, at=now.wall, channel=number, actor=who, reason=why)
            return changed

        return await self._act(work, lambda _: channel)

    async def _act(self, work: Callable[[apsw.Connection], T], channel_of: Callable[[T], ChannelName]) -> T:
        """Write one act, count it for other processes, and tell this one."""

        def counted(db: apsw.Connection) -> T:
            result = work(db)
            db.execute(_COUNT_ACT)
            return result

        return await self._writer.submit(
            counted, after=lambda result: self._watch.bump(channel_of(result), reload=True)
        )


def _target(db: apsw.Connection, row: RowId, event: Event) -> _Target:
    """Read the row of an act. Raises OperatorError if there is none, or its state forbids the act."""
    found = ask(db, Q["target"], (row,))
    if not found:
        raise OperatorError(f"there is no row {row}")
    channel, name, state, generation, sends, flags, key, digest = found[0]
    if state not in sources(event):
        allowed = " or ".join(sources(event))
        raise OperatorError(f"row {row} is {state}; only {allowed} rows can be {event}")
    return _Target(
        row=row,
        channel=channel,
        name=ChannelName(name),
        state=State(state),
        generation=generation,
        sends=sends,
        flags=flags,
        key=key,
        sha256=digest,
    )


def _note(db: apsw.Connection, target: _Target, event: Event, *, who: str, why: str, now: Now) -> None:
    note(
        db,
        event,
        at=now.wall,
        row=target.row,
        channel=target.channel,
        actor=who,
        before=target.state,
        after=advance(target.state, event),
        send=target.sends,
        reason=why,
    )


def _or_none(number: int | None) -> str:
    return "none" if number is None else str(number)


def _channel(db: apsw.Connection, name: ChannelName) -> int:
    """Give the channel's number as the file knows it. Raises OperatorError for an unknown one."""
    found = ask(db, registry.Q["channel"], (name,))
    if not found:
        raise OperatorError(f"there is no channel {name}")
    return int(found[0][0])
