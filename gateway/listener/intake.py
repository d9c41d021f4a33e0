"""From a frame to its answer: admission, audit and waiting. No sockets, and nothing positive before the commit."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial

from gateway.errors import GatewayError, HeaderUnreadable, Unavailable
from gateway.listener.agreement import agree
from gateway.listener.answers import Answers, is_positive_body
from gateway.listener.audit import Audit
from gateway.listener.batches import Batches
from gateway.listener.later import LaterAnswers
from gateway.listener.options import ChannelOptions
from gateway.listener.reading import LEADING, Cause, Message, Reader, Unfit
from gateway.listener.slots import Line, Peer, Reply, Slot
from gateway.listener.spoiled import spoiled
from gateway.listener.waiting import Waiting
from gateway.model.ids import RowId
from gateway.model.intake import Admission, Receipt
from gateway.model.policy import AckMode
from gateway.model.states import AnswerState, ErrorCode, Landmark
from gateway.ports.clock import Clock, NewId, Passing
from gateway.ports.observe import Observer
from gateway.ports.store import Intake
from gateway.wire.batch import Batch
from gateway.wire.frames import BadFrame
from gateway.wire.header import Header, scan

Reading = Message | Unfit | Batch | Exception
"""A frame as it was read; an exception is a defect of the gateway."""

_EVENTS = {
    Admission.NEW: "accepted",
    Admission.REPLAY: "replayed",
    Admission.COLLISION: "refused",
    Admission.QUARANTINED: "quarantined",
    Admission.LINK: "sequence-link",
    Admission.GAP: "refused",
}
_REFUSED = {Admission.COLLISION: ErrorCode.DUPLICATE_REJECTED, Admission.GAP: ErrorCode.OUT_OF_SEQUENCE}


class FrameIntake:
    """Answers one channel's frames into the slots it is given; offers reach the store in the order of the calls."""

    def __init__(
        self,
        options: ChannelOptions,
        *,
        store: Intake,
        observer: Observer,
        clock: Clock,
        new_id: NewId,
        passing: Passing,
        later: LaterAnswers,
    ) -> None:
        self._options = options
        self._store = store
        self._observer = observer
        self._clock = clock
        self._passing = passing
        self._later = later
        self._reader = Reader(options)
        self._answers = Answers(options.ack, clock=clock, new_id=new_id)
        self._audit = Audit(options, store=store, observer=observer, clock=clock, reader=self._reader)
        self._batches = Batches(
            options,
            store=store,
            observer=observer,
            clock=clock,
            passing=passing,
            reader=self._reader,
            answers=self._answers,
            audit=self._audit,
            tell=self._tell,
        )
        self._waiting = Waiting(store, deadline=options.ack.deadline)
        self._tasks: set[asyncio.Task[None]] = set()
        self._sends_later = options.ack.mode in {AckMode.ENHANCED, AckMode.AUTO}

    def read(self, payload: bytes, peer: Peer) -> Reading:
        """Read one frame, received now."""
        return self._read(payload, peer, self._clock().wall)

    def reading(self, payload: bytes, peer: Peer) -> Callable[[], Reading]:
        """Give the reading of one frame, received now, as a pure call that may run on another thread."""
        return partial(self._read, payload, peer, self._clock().wall)

    def take(self, reading: Reading, payload: bytes, slot: Slot) -> "asyncio.Task[None] | None":
        """Offer what a frame holds to the store, or refuse the frame; the slot is filled when the answer is due.

        Gives a task when later frames of the connection must wait for it to keep their order.
        """
        match reading:
            case Message():
                self._offer(reading, payload, slot)
            case Unfit():
                self._refuse(reading, payload, slot)
            case Batch():
                return self._spawn(self._admit_batch(reading, slot))
            case _:
                # A defect of ours must not become silence: the sender is told to try again.
                self._observer.event("intake-failed", channel=self._options.name, error=type(reading).__name__)
                slot.fill(self._answers.unavailable(None, agree(self._options.ack.mode, None)))
        return None

    def _offer(self, message: Message, payload: bytes, slot: Slot) -> None:
        if message.header.start:
            self._note_leading(message.header.start, payload, slot)
        if self._sends_later:
            self._later.meet(slot.line, message.offer.sender)
        began = asyncio.get_running_loop().time()
        try:
            receipt = asyncio.ensure_future(self._store.accept(message.offer, self._answers.seal(message)))
        except GatewayError as why:
            self._turn_down(message, slot, why)
            return
        receipt.add_done_callback(partial(self._admitted, message, slot, began))

    def take_spoiled(self, bad: BadFrame, slot: Slot) -> None:
        """Refuse a frame that framing found bad; nothing of it is kept."""
        header = self._header_of(bad.head)
        unfit = spoiled(bad, header, agree(self._options.ack.mode, header))
        self._refuse(unfit, b"", slot, seen=bad.head)

    def turn_away(self, payload: bytes, slot: Slot, *, reason: str) -> None:
        """Answer a frame that cannot be looked at now (load, stopping): the sender may try again."""
        header = self._header_of(payload)
        agreement = agree(self._options.ack.mode, header)
        error = ErrorCode.UNAVAILABLE
        unfit = Unfit(cause=Cause.TEMPORARY, error=error, problem=None, header=header, agreement=agreement)
        self._spawn(self._audited(unfit, payload, slot, self._answers.unavailable(header, agreement), reason=reason))

    def forget(self, line: Line) -> None:
        """Forget a connection that is gone."""
        self._later.forget(line)

    def hurry(self) -> None:
        """Give everyone who waits for the application the answer of the deadline, now."""
        self._waiting.hurry()

    async def close(self) -> None:
        """Stop waiting for anything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _read(self, payload: bytes, peer: Peer, received_at: int) -> Reading:
        try:
            return self._reader.read(payload, remote=peer.text, identity=peer.identity, received_at=received_at)
        except Exception as why:  # noqa: BLE001 - given on as a value, and answered by `take`
            return why

    def _header_of(self, payload: bytes) -> Header | None:
        try:
            return scan(payload, encoding=self._options.encoding)
        except HeaderUnreadable:
            return None

    async def _admit_batch(self, batch: Batch, slot: Slot) -> None:
        try:
            reply = await self._batches.answer(batch, slot.line.peer)
        except Exception as why:  # noqa: BLE001 - a defect must not become silence: the sender is told to try again
            self._observer.event("intake-failed", channel=self._options.name, error=type(why).__name__)
            reply = self._answers.unavailable(None, agree(self._options.ack.mode, None))
        slot.fill(reply)

    def _note_leading(self, count: int, payload: bytes, slot: Slot) -> None:
        self._observer.anomaly(
            channel=self._options.name,
            peer=slot.line.peer.text,
            kind=LEADING,
            offset=0,
            bytes_hex=payload[: min(count, 16)].hex(),
            count=count,
        )

    def _admitted(self, message: Message, slot: Slot, began: float, pending: "asyncio.Future[Receipt]") -> None:
        try:
            receipt = pending.result()
            self._passing(Landmark.AFTER_COMMIT_BEFORE_ACK)
            self._tell(receipt, began)
            self._answer(message, receipt, slot)
        except asyncio.CancelledError:
            # The offer was given up by the store, not this callback by anyone: the sender must still be told.
            self._turn_down(message, slot, Unavailable(reason="stopping"))
        except Exception as why:  # noqa: BLE001 - a defect must not become silence: the sender is told to try again
            self._turn_down(message, slot, why)

    def _tell(self, receipt: Receipt, began: float) -> None:
        name = _EVENTS[receipt.admission]
        if receipt.admission is Admission.NEW:
            waited = asyncio.get_running_loop().time() - began
            self._observer.event(name, channel=self._options.name, row=receipt.row, commit_seconds=waited)
        elif receipt.admission in _REFUSED:
            code = _REFUSED[receipt.admission].value
            self._observer.event(name, channel=self._options.name, row=receipt.row, code=code)
        elif receipt.admission is Admission.LINK:
            self._observer.event(name, channel=self._options.name)
        else:
            self._observer.event(name, channel=self._options.name, row=receipt.row)
        if receipt.admission is Admission.GAP:
            # An alert of its own: until somebody helps, its sender gets nothing through.
            self._observer.event("sequence-gap", channel=self._options.name, row=receipt.row)
        if receipt.revived:
            self._observer.event("revived", channel=self._options.name, row=receipt.row)

    def _answer(self, message: Message, receipt: Receipt, slot: Slot) -> None:
        agreement = message.agreement
        if receipt.admission in _REFUSED:
            slot.fill(Reply(answer=receipt.answer))
            return
        if receipt.admission is Admission.LINK:
            # Nothing of it goes to the server, so ours is the only answer, at whichever level one is wanted.
            slot.fill(Reply(answer=receipt.answer if agreement.commit.admits(positive=True) else b""))
            return
        if agreement.waits and not receipt.answer:
            if receipt.application_answer is not None:
                slot.fill(self._application(message, receipt.row, receipt.application_answer))
                return
            slot.waiting = self._spawn(self._wait(message, receipt.row, slot))
            return
        answer = receipt.answer or self._answers.positive(message)
        # A retransmit is never filtered: its sender shows that it waits for something.
        wanted = receipt.replayed or agreement.commit.admits(positive=True)
        owed = agreement.enhanced and agreement.owes_application
        sent = self._later.owe(message, receipt.row, slot.line) if owed else None
        slot.fill(Reply(answer=answer if wanted else b"", sent=sent))

    async def _wait(self, message: Message, row: RowId, slot: Slot) -> None:
        try:
            found = await self._waiting.answer(row)
        except GatewayError as why:
            self._observer.event("answer-not-awaited", channel=self._options.name, row=row, error=type(why).__name__)
            slot.fill(self._answers.unavailable(message.header, message.agreement))
            return
        if found is None:
            self._observer.event("answer-overdue", channel=self._options.name, row=row)
            slot.fill(self._answers.overdue(message))
            return
        slot.fill(self._application(message, row, found.body))

    def _application(self, message: Message, row: RowId, body: bytes) -> Reply:
        positive = is_positive_body(body, message.offer.encoding)
        if not message.agreement.application.admits(positive=positive):
            return Reply(answer=b"", sent=partial(self._record, row, AnswerState.NOT_OWED))
        return Reply(answer=body, sent=partial(self._record, row, AnswerState.DELIVERED))

    def _record(self, row: RowId, state: AnswerState, left: bool) -> None:
        if left:
            self._spawn(self._recorded(row, state))

    async def _recorded(self, row: RowId, state: AnswerState) -> None:
        try:
            await self._store.record_answer(row, state, self._clock())
        except GatewayError as why:
            self._observer.event("answer-not-recorded", channel=self._options.name, row=row, error=type(why).__name__)

    def _turn_down(self, message: Message, slot: Slot, why: Exception) -> None:
        reply = self._answers.unavailable(message.header, message.agreement)
        if not isinstance(why, Unavailable):
            # Nothing more can be written after an I/O error; a defect would meet itself again.
            name = type(why).__name__
            self._observer.event("intake-failed", channel=self._options.name, error=name)
            slot.fill(reply)
            return
        unfit = Unfit(
            cause=Cause.TEMPORARY,
            error=ErrorCode.UNAVAILABLE,
            problem=None,
            header=message.header,
            agreement=message.agreement,
        )
        self._spawn(self._audited(unfit, message.offer.original, slot, reply, reason=why.reason))

    def _refuse(self, unfit: Unfit, kept: bytes, slot: Slot, *, seen: bytes | None = None) -> None:
        self._spawn(self._audited(unfit, kept, slot, Reply(answer=self._answers.refusal(unfit)), seen=seen))

    async def _audited(
        self,
        unfit: Unfit,
        kept: bytes,
        slot: Slot,
        reply: Reply,
        *,
        seen: bytes | None = None,
        reason: str | None = None,
    ) -> None:
        try:
            remote = slot.line.peer.text
            await self._audit.write(unfit, kept, remote, reply.answer, seen=seen or kept, reason=reason)
        finally:
            slot.fill(reply)

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
