"""The listener's door: admits, numbers, answers and stores one message in one transaction. Needs no lease."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import partial

import apsw

from gateway.core.admission import admit
from gateway.core.sequence import Place, Step, expected, place, screen
from gateway.core.states import advance
from gateway.errors import BugError, Unavailable
from gateway.model.clock import Now
from gateway.model.ids import SYSTEM, ChannelName, RowId
from gateway.model.intake import NO_ROW, Admission, ApplicationAnswer, Offer, Receipt, Refusal, Seal
from gateway.model.policy import OnFailedRetransmit
from gateway.model.states import AnswerState, ErrorCode, Event, Landmark, Note, State
from gateway.ports.clock import Passing
from gateway.store.sqlite.channels import Channels
from gateway.store.sqlite.dispatch import lift_halt
from gateway.store.sqlite.faults import STOPPING
from gateway.store.sqlite.journal import note
from gateway.store.sqlite.readers import Readers
from gateway.store.sqlite.rows import Columns, with_flag
from gateway.store.sqlite.space import Space
from gateway.store.sqlite.statements import ask, named
from gateway.store.sqlite.watch import Watch
from gateway.store.sqlite.writer import Writer

Q = named("intake")
_LOOK_UP, _ARRIVAL, _REPLAYED, _COUNT_REPEAT = Q["look_up"], Q["insert_arrival"], Q["replayed"], Q["count_repeat"]

OVERHEAD = 1_024
"""Bytes a row takes beside its content, roughly."""

RETRANSMITTED = "retransmitted"
"""Flag of a row in review, or ended by a refusal or a person, whose sender sent it again."""

REVIVED = "its sender sent it again"
"""Why a retransmit queued a row in review again."""

_BIRTH = {Admission.NEW: Event.ACCEPTED, Admission.QUARANTINED: Event.QUARANTINED, Admission.COLLISION: Event.REFUSED}
_BORN = {admission: advance(None, event) for admission, event in _BIRTH.items()}
_CODE = {
    Admission.QUARANTINED: ErrorCode.QUARANTINED,
    Admission.COLLISION: ErrorCode.DUPLICATE_REJECTED,
    Admission.GAP: ErrorCode.OUT_OF_SEQUENCE,
}
_SHOWN_AGAIN = frozenset({State.FAILED, State.REJECTED, State.DISCARDED})


class SqliteIntake:
    """Implements `ports.store.Intake`."""

    def __init__(
        self,
        *,
        writer: Writer,
        readers: Readers,
        space: Space,
        watch: Watch,
        channels: Channels,
        passing: Passing,
    ) -> None:
        self._writer = writer
        self._readers = readers
        self._space = space
        self._watch = watch
        self._channels = channels
        self._passing = passing
        self.is_stopping = False

    @property
    def closed_because(self) -> str | None:
        """Why no new message is taken; None while intake is open."""
        if self._writer.failed is not None:
            return "failed"
        return STOPPING if self.is_stopping else self._space.closed_because

    def accept(self, offer: Offer, seal: Seal) -> Awaitable[Receipt]:
        """Queue the offer now, in the order of the calls; the receipt comes after the synced commit."""
        closed = None if self._writer.failed is not None else self.closed_because
        if closed is not None:
            return self._stored_answer(offer, Unavailable(reason=closed))
        return self._writer.submit(
            partial(self._admit, offer, seal, self._channels.number(offer.channel)),
            after=partial(self._admitted, offer.channel),
            rescue=partial(self._stored_answer, offer),
            is_intake=True,
            weight=len(offer.original) + OVERHEAD,
        )

    def _admitted(self, channel: ChannelName, receipt: Receipt) -> None:
        if receipt.admission is Admission.NEW:
            self._watch.bump(channel)
        elif receipt.revived:
            self._watch.bump(channel, reload=True)

    async def _stored_answer(self, offer: Offer, trouble: Unavailable) -> Receipt:
        """Answer a known retransmit from what is stored, although nothing can be written now."""
        channel = self._channels.number(offer.channel)

        def look(db: apsw.Connection) -> Receipt | None:
            row = _known(offer, ask(db, _LOOK_UP, (channel, offer.key, _scope(offer)))).get(offer.sha256)
            return None if row is None else _replay(row, _replayed(db, row))

        receipt = await self._readers.snapshot(look)
        if receipt is None:
            raise trouble
        return receipt

    # --- on the writer thread ---

    def _admit(self, offer: Offer, seal: Seal, channel: int, db: apsw.Connection) -> Receipt:
        """One offer, whole: looked up, numbered, sealed, stored."""
        found = ask(db, _LOOK_UP, (channel, offer.key, _scope(offer)))
        known = _known(offer, found)
        admission = admit(sha256=offer.sha256, known=known, on_collision=offer.on_collision)
        newest, last = found[0][:2]
        placed = place(offer.inbound_sequence, last) if offer.in_sequence else None
        if placed is not None:
            admission = screen(admission, placed.step)
        match admission:
            case Admission.REPLAY:
                return _count_replay(db, offer, channel, known[offer.sha256])
            case Admission.COLLISION | Admission.GAP:
                answer = seal(admission, None if placed is None else expected(last))
                row = _refuse(db, channel, _refusal(offer, _CODE[admission], answer))
                return _receipt(admission, row, State.NACKED, None, answer)
            case Admission.LINK if placed is not None:
                _follow_link(db, offer, channel, placed)
                return _receipt(admission, NO_ROW, State.PROCESSED, None, seal(admission, placed.told))
            case _:
                sequence = (last or 0) + 1 if offer.stamped else None
                answer = seal(admission, sequence if placed is None else placed.told)
                receipt = _receipt(admission, RowId((newest or 0) + 1), _BORN[admission], sequence, answer)
                _insert(db, offer, channel, receipt)
                if placed is not None:
                    db.execute(Q["set_last"], (channel, _scope(offer), placed.told))
                self._passing(Landmark.AFTER_INSERT)
                return receipt

    # --- on the loop again ---

    async def refuse(self, refusal: Refusal) -> RowId:
        """Write the audit row, or raise the counter of an equal one. Raises Unavailable while intake is closed."""
        if self._writer.failed is None and self.closed_because is not None:
            raise Unavailable(reason=self.closed_because)
        channel = self._channels.number(refusal.channel)
        weight = len(refusal.original) + OVERHEAD
        return await self._writer.submit(lambda db: _refuse(db, channel, refusal), is_intake=True, weight=weight)

    async def wait_answer(self, row: RowId) -> ApplicationAnswer:
        """Wait for the row's application answer, by whichever process it is settled."""
        return await self._watch.answer(row)

    async def pending_answers(self, channel: ChannelName, sender: str, *, since: int) -> Sequence[ApplicationAnswer]:
        """Give stored answers this sender has not got yet."""
        number = self._channels.number(channel)
        found = await self._readers.read(lambda db: ask(db, Q["pending_answers"], (number, sender, since)))
        return [ApplicationAnswer(row=RowId(row), body=body) for row, body in found]

    async def record_answer(self, row: RowId, state: AnswerState, now: Now) -> None:
        """Close the answer leg of a row that still owes one."""

        def work(db: apsw.Connection) -> None:
            for (channel,) in ask(db, Q["record_answer"], (row, state)):
                note(db, Note.ANSWER_DELIVERED, at=now.wall, row=row, channel=channel, reason=state)

        await self._writer.submit(work)


def _known(offer: Offer, found: list[Columns]) -> dict[bytes, RowId]:
    """Give the bytes seen under the offer's key, and their rows; a fingerprint ends with its window."""
    return {
        digest: RowId(row)
        for _, _, digest, row, settled_at in found
        if digest is not None and (settled_at is None or offer.received_at < settled_at + offer.window)
    }


def _scope(offer: Offer) -> str:
    """Name the counter of an offer: its sender's, or the channel's own. A sender's name is never empty."""
    return offer.sender if offer.in_sequence else ""


def _follow_link(db: apsw.Connection, offer: Offer, channel: int, placed: Place) -> None:
    """Do what a link message asks for; it leaves an event, for it has no row."""
    if placed.step is Step.CLEARED:
        db.execute(Q["clear_last"], (channel, _scope(offer)))
    note(
        db,
        Note.SEQUENCE_LINK,
        at=offer.received_at,
        channel=channel,
        reason=f"{offer.sender}: {placed.step}, told {placed.told}",
    )


def _insert(db: apsw.Connection, offer: Offer, channel: int, receipt: Receipt) -> None:
    """Store an admitted message under the number, the row and the answer its receipt names."""
    admission, state = receipt.admission, receipt.state
    is_live = state is State.QUEUED
    db.execute(
        _ARRIVAL,
        (
            receipt.row, channel, state, is_live, offer.partition, offer.barrier,
            None if is_live else offer.received_at, _CODE.get(admission), offer.answer, receipt.sequence,
            offer.received_at, offer.key, offer.sha256, len(offer.original), offer.control_id, offer.message_type,
            offer.sender, offer.version, offer.inbound_sequence, offer.declared_charset, offer.encoding,
            " ".join(offer.flags), offer.remote, receipt.answer, offer.original, _BIRTH[admission],
        ),
    )  # fmt: skip


def _receipt(admission: Admission, row: RowId, state: State, sequence: int | None, answer: bytes) -> Receipt:
    return Receipt(admission=admission, row=row, state=state, sequence=sequence, answer=answer, application_answer=None)


def _replayed(db: apsw.Connection, row: RowId) -> Columns:
    """Read the row a known fingerprint names."""
    found = ask(db, _REPLAYED, (row,))
    if not found:
        raise BugError(f"a fingerprint names row {row}, which is gone")
    return found[0]


def _replay(row: RowId, columns: Columns) -> Receipt:
    """Give the stored answers once more, byte for byte. The application answer of a row on its way is not final."""
    state, sequence, live, _, answer, application_answer = columns
    return Receipt(
        admission=Admission.REPLAY,
        row=row,
        state=State(state),
        sequence=sequence,
        answer=answer,
        application_answer=None if live else application_answer,
    )


def _count_replay(db: apsw.Connection, offer: Offer, channel: int, row: RowId) -> Receipt:
    """Count a retransmit; one of a row a person should look at is flagged there, once, or revives it if it may."""
    columns = _replayed(db, row)
    receipt = _replay(row, columns)
    db.execute(_COUNT_REPEAT, (row,))
    flags = columns[3]
    if offer.on_failed_retransmit is OnFailedRetransmit.REQUEUE and _revive(db, offer, channel, row):
        return replace(receipt, state=State.QUEUED, application_answer=None, revived=True)
    if receipt.state in _SHOWN_AGAIN and (flagged := with_flag(flags, RETRANSMITTED)) != flags:
        db.execute(Q["flag_row"], (row, flagged))
        note(db, Note.RETRANSMITTED, at=offer.received_at, row=row, channel=channel)
    return receipt


def _revive(db: apsw.Connection, offer: Offer, channel: int, row: RowId) -> bool:
    """Queue a row in review again, if all that its sends met was trouble of the server; False: a person decides."""
    for before, send in ask(db, Q["revivable"], (row,)):
        db.execute(named("desk")["requeue"], (row,))
        after = advance(State(before), Event.REQUEUED)
        note(
            db,
            Event.REQUEUED,
            at=offer.received_at,
            row=row,
            channel=channel,
            before=State(before),
            after=after,
            send=send,
            reason=REVIVED,
        )
        lift_halt(db, row, actor=SYSTEM, at=offer.received_at)
        db.execute(named("outbox")["count_act"])
        return True
    return False


def _refusal(offer: Offer, code: ErrorCode, answer: bytes) -> Refusal:
    """Give the audit row of a message that could be read and was not taken."""
    return Refusal(
        channel=offer.channel,
        error_code=code,
        control_id=offer.control_id,
        original=offer.original,
        sha256=offer.sha256,
        message_type=offer.message_type,
        sender=offer.sender,
        version=offer.version,
        remote=offer.remote,
        answer=answer,
        received_at=offer.received_at,
    )


def _refuse(db: apsw.Connection, channel: int, refusal: Refusal) -> RowId:
    """Write an audit row, or count the repeat; repeats leave an event at the 1st, 2nd, 4th, 8th ... only."""
    same = ask(db, Q["same_refusal"], (channel, refusal.sha256, refusal.error_code))
    if same:
        row, repeats = RowId(same[0][0]), same[0][1] + 1
        db.execute(_COUNT_REPEAT, (row,))
        if repeats & (repeats - 1) == 0:
            note(db, Note.REPEAT_REFUSED, at=refusal.received_at, row=row, channel=channel, code=refusal.error_code)
        return row
    row = RowId((ask(db, Q["newest"])[0][0] or 0) + 1)
    # Bytes that must not be kept come as none at all; without a key the row is nothing dedupe knows.
    db.execute(
        _ARRIVAL,
        (
            row, channel, State.NACKED, 0, "", 0, None, refusal.error_code, AnswerState.NOT_OWED, None,
            refusal.received_at, None, refusal.sha256, len(refusal.original), refusal.control_id,
            refusal.message_type, refusal.sender, refusal.version, "", "", "", "", refusal.remote,
            refusal.answer, refusal.original or None, Event.REFUSED,
        ),
    )  # fmt: skip
    return row
