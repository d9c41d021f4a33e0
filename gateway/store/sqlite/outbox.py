"""The dispatcher's door: reads heads and content, and moves rows under a term. A stale term changes nothing."""

from collections.abc import Callable, Sequence
from hashlib import sha256

import apsw

from gateway.errors import StaleEpoch
from gateway.model.clock import Now
from gateway.model.delivery import Advance, Change, Content, Finish, GiveUp, Head, Sending, Settled, Term
from gateway.model.ids import ChannelName, RowId
from gateway.model.intake import ApplicationAnswer
from gateway.model.policy import RetryPolicy
from gateway.model.review import Halt
from gateway.model.states import AnswerState, Note, State
from gateway.ports.observe import Observer
from gateway.store.sqlite import dispatch
from gateway.store.sqlite.channels import Channels
from gateway.store.sqlite.dispatch import Claiming, fenced
from gateway.store.sqlite.journal import note
from gateway.store.sqlite.policies import Policies, freeze
from gateway.store.sqlite.readers import Readers
from gateway.store.sqlite.rows import Columns, claim_of, halt_of, head_of
from gateway.store.sqlite.statements import ask, named
from gateway.store.sqlite.watch import Watch
from gateway.store.sqlite.writer import Writer

Q = named("outbox")
_POLICY = 10
"""Place of the policy's number in the columns of a head."""


class SqliteOutbox:
    """Implements `ports.store.Outbox`."""

    def __init__(
        self,
        *,
        writer: Writer,
        readers: Readers,
        watch: Watch,
        channels: Channels,
        policies: Policies,
        observer: Observer,
    ) -> None:
        self._writer = writer
        self._readers = readers
        self._watch = watch
        self._channels = channels
        self._policies = policies
        self._observer = observer

    async def heads(self, channel: ChannelName, *, after: RowId, limit: int) -> Sequence[Head]:
        """Give live rows behind `after`, in store order."""
        return await self._heads(Q["heads"], (self._channels.number(channel), after, limit))

    async def inflight(self, channel: ChannelName) -> Sequence[Head]:
        """Give the rows in flight, in store order."""
        return await self._heads(Q["inflight"], (self._channels.number(channel),))

    async def head(self, row: RowId) -> Head | None:
        """Read one live row afresh."""
        found = await self._heads(Q["head"], (row,))
        return found[0] if found else None

    async def _heads(self, query: str, values: Columns) -> Sequence[Head]:
        def read(db: apsw.Connection) -> list[Head]:
            found = ask(db, query, values)
            return [head_of(columns, self._policy(db, columns[_POLICY])) for columns in found]

        return await self._readers.read(read)

    def _policy(self, db: apsw.Connection, number: int | None) -> RetryPolicy | None:
        return None if number is None else self._policies.read(db, number)

    async def content(self, row: RowId) -> Content | None:
        """Read what sending needs; None, and an event, when the bytes do not match their hash."""

        def read(db: apsw.Connection) -> tuple[Columns, bool] | None:
            found = ask(db, Q["content"], (row,))
            return (found[0], sha256(found[0][1]).digest() == found[0][4]) if found else None

        found = await self._readers.read(read)
        if found is None:
            return None
        (control_id, original, encoding, sequence, digest, remote, answer_state, received_at), is_whole = found
        if not is_whole:
            self._observer.event("content-damaged", row=row)
            return None
        return Content(
            row=row,
            control_id=control_id,
            original=original,
            encoding=encoding,
            sequence=sequence,
            sha256=digest,
            remote=remote,
            owes_answer=answer_state == AnswerState.PENDING,
            received_at=received_at,
        )

    async def halts(self, channel: ChannelName) -> Sequence[Halt]:
        """Give the channel's halts, oldest first."""
        number = self._channels.number(channel)
        found = await self._readers.read(lambda db: ask(db, Q["halts"], (number,)))
        return [halt_of(channel, columns) for columns in found]

    async def claim(self, term: Term, sending: Sending, now: Now) -> Advance:
        """Claim a head without sending it yet."""
        claiming = await self._claiming(sending, State.CLAIMED)

        def work(db: apsw.Connection) -> Advance:
            fenced(db, term)
            return self._advance(db, False, sending.row, dispatch.claim(db, term, claiming, now))

        return await self._writer.submit(work)

    async def mark_sent(self, term: Term, claim_row: RowId, now: Now) -> bool:
        """Mark a claimed row `inflight`, synced."""

        def work(db: apsw.Connection) -> bool:
            fenced(db, term)
            return dispatch.mark_sent(db, term, claim_row, now)

        return await self._writer.submit(work)

    async def advance(self, term: Term, settled: Settled, following: Sending | None, now: Now) -> Advance:
        """Settle a send, then claim and mark the next head, behind one look at the lease and in one commit."""
        claiming = None if following is None else await self._claiming(following, State.INFLIGHT)

        def work(db: apsw.Connection) -> Advance:
            fenced(db, term)
            is_settled = dispatch.settle(db, term, settled, now)
            if claiming is None:
                return Advance(settled=is_settled, claim=None)
            return self._advance(db, is_settled, claiming.sending.row, self._follow(db, term, claiming, now))

        try:
            return await self._writer.submit(work, after=lambda done: self._tell(settled, done.settled))
        except StaleEpoch:
            await self._leave_behind(term, settled, now)
            raise

    def _follow(self, db: apsw.Connection, term: Term, claiming: Claiming, now: Now) -> Columns | None:
        """Claim the next head in a savepoint of its own: it never undoes the settle."""
        try:
            return dispatch.in_savepoint(db, "following", lambda: dispatch.claim(db, term, claiming, now))
        except apsw.ConstraintError:
            # A rule of the schema stopped the claim; the dispatcher plans afresh.
            self._observer.event("claim-stopped", row=claiming.sending.row)
            return None

    def _advance(self, db: apsw.Connection, is_settled: bool, row: RowId, columns: Columns | None) -> Advance:
        if columns is None:
            return Advance(settled=is_settled, claim=None)
        return Advance(settled=is_settled, claim=claim_of(row, columns, self._policies.read(db, columns[5])))

    async def _claiming(self, sending: Sending, reaches: State) -> Claiming:
        """Look up the numbers of a claim; a policy not seen before is stored first, in a commit of its own."""
        channel = self._channels.number(sending.channel)
        number = self._policies.number(sending.policy)
        if number is None:
            number = await self._writer.submit(lambda db: freeze(db, sending.policy))
            self._policies.learn(sending.policy, number)
        return Claiming(sending=sending, channel=channel, policy=number, reaches=reaches)

    async def late(self, term: Term, settled: Settled, now: Now) -> bool:
        """Apply a late answer, or keep it as evidence."""

        def work(db: apsw.Connection) -> bool:
            fenced(db, term)
            return dispatch.late(db, term, settled, now)

        try:
            return await self._writer.submit(work, after=lambda moved: self._tell(settled, moved))
        except StaleEpoch:
            await self._leave_behind(term, settled, now)
            raise

    def _tell(self, settled: Settled, is_written: bool) -> None:
        """Wake the sessions that wait for this row's answer, now that the settle is committed."""
        is_final = isinstance(settled.settlement, Finish | GiveUp)
        if is_written and is_final and settled.answer is not None:
            self._watch.answered(ApplicationAnswer(row=settled.row, body=settled.answer))

    async def _leave_behind(self, term: Term, settled: Settled, now: Now) -> None:
        """Leave what the server said for the next holder; inserting needs no term."""
        if settled.reply is not None:
            await self._writer.submit(lambda db: dispatch.keep_late(db, settled, epoch=term.epoch, now=now))

    async def evidence(self, row: RowId, *, kind: str, detail: str, now: Now) -> None:
        """Note what a server said about a row, without moving it."""

        def work(db: apsw.Connection) -> None:
            for channel, send, epoch in ask(db, Q["channel_of"], (row,)):
                word = Note.RECEIPT if kind == Note.RECEIPT else Note.EVIDENCE
                reason = detail if kind in {Note.RECEIPT, Note.EVIDENCE} else f"{kind}: {detail}"
                note(db, word, at=now.wall, row=row, channel=channel, send=send, epoch=epoch, reason=reason)

        await self._writer.submit(work)

    async def changed(self, channel: ChannelName, seen: int) -> Change:
        """Wait until the channel's counter is above `seen`."""
        return await self._watch.changed(channel, seen)

    async def answers(self, rows: Sequence[RowId]) -> Sequence[ApplicationAnswer]:
        """Read the stored application answers of settled rows among these."""
        return await self._readers.read(_answers(rows))

    async def acts(self) -> int:
        """Read the counter of acts that move rows a leader holds in memory."""
        return int(await self._readers.read(lambda db: ask(db, Q["acts"])[0][0]))


def _answers(rows: Sequence[RowId]) -> Callable[[apsw.Connection], list[ApplicationAnswer]]:
    query = named("intake")["answer_of"]

    def read(db: apsw.Connection) -> list[ApplicationAnswer]:
        return [ApplicationAnswer(row=row, body=body) for row in rows for (body,) in ask(db, query, (row,))]

    return read
