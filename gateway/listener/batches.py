"""Frames with a batch header: every message admitted on its own, one frame of answers when all are decided."""

import asyncio
from collections.abc import Callable, Iterator, Sequence

from gateway.errors import GatewayError, Unavailable
from gateway.listener.agreement import agree_in_batch
from gateway.listener.answers import Answers
from gateway.listener.audit import Audit
from gateway.listener.options import ChannelOptions
from gateway.listener.reading import Cause, Message, Reader, Unfit
from gateway.listener.slots import Peer, Reply
from gateway.model.intake import Admission, Receipt
from gateway.model.states import ErrorCode, Landmark
from gateway.ports.clock import Clock, Passing
from gateway.ports.observe import Observer
from gateway.ports.store import Intake
from gateway.wire.batch import Batch

AT_ONCE = 64
"""Messages of one batch that are before the store at the same time."""

MISCOUNTED = "batch-miscounted"

Tell = Callable[[Receipt, float], None]


class Batches:
    """Admits one channel's batches. A message that is not taken does not undo the others."""

    def __init__(
        self,
        options: ChannelOptions,
        *,
        store: Intake,
        observer: Observer,
        clock: Clock,
        passing: Passing,
        reader: Reader,
        answers: Answers,
        audit: Audit,
        tell: Tell,
    ) -> None:
        self._options = options
        self._store = store
        self._observer = observer
        self._clock = clock
        self._passing = passing
        self._reader = reader
        self._answers = answers
        self._audit = audit
        self._tell = tell

    async def answer(self, batch: Batch, peer: Peer) -> Reply:
        """Admit every message in order, and give the one answer of all."""
        self._note_counts(batch, peer)
        replies: list[Reply] = []
        for some in _slices(batch.messages):
            replies += await self._admit(some, peer)
        if any(reply.closes for reply in replies):
            return Reply(answer=b"", closes=True)
        return Reply(answer=self._answers.batch(batch, [reply.answer for reply in replies]))

    async def _admit(self, messages: Sequence[bytes], peer: Peer) -> list[Reply]:
        received_at = self._clock().wall
        loop = asyncio.get_running_loop()
        readings = [
            self._reader.read_message(
                message, remote=peer.text, identity=peer.identity, received_at=received_at, agree=agree_in_batch
            )
            for message in messages
        ]
        began = loop.time()
        # Handed over all at once, in order: the store keeps the order and commits them together.
        pending = [self._offer(reading) if isinstance(reading, Message) else None for reading in readings]
        replies: list[Reply] = []
        for message, reading, receipt in zip(messages, readings, pending, strict=True):
            match reading:
                case Unfit():
                    replies.append(await self._refused(reading, message, peer))
                case Message():
                    replies.append(await self._outcome(reading, receipt, peer, began))
        return replies

    def _offer(self, message: Message) -> "asyncio.Future[Receipt] | GatewayError":
        try:
            return asyncio.ensure_future(self._store.accept(message.offer, self._answers.seal(message)))
        except GatewayError as why:
            return why

    async def _outcome(
        self, message: Message, pending: "asyncio.Future[Receipt] | GatewayError | None", peer: Peer, began: float
    ) -> Reply:
        if not isinstance(pending, asyncio.Future):
            return await self._turned_down(message, pending, peer)
        # Waited for, not awaited: a future that the store cancelled must not look like this task's cancellation.
        await asyncio.wait([pending])
        if pending.cancelled():
            return await self._turned_down(message, Unavailable(reason="stopping"), peer)
        if (why := pending.exception()) is not None:
            return await self._turned_down(message, why, peer)
        receipt = pending.result()
        self._passing(Landmark.AFTER_COMMIT_BEFORE_ACK)
        self._tell(receipt, began)
        if receipt.admission in {Admission.COLLISION, Admission.GAP}:
            return Reply(answer=receipt.answer)
        wanted = receipt.replayed or message.agreement.commit.admits(positive=True)
        return Reply(answer=(receipt.answer or self._answers.positive(message)) if wanted else b"")

    async def _turned_down(self, message: Message, why: BaseException | None, peer: Peer) -> Reply:
        reply = self._answers.unavailable(message.header, message.agreement)
        if isinstance(why, Unavailable):
            unfit = Unfit(
                cause=Cause.TEMPORARY,
                error=ErrorCode.UNAVAILABLE,
                problem=None,
                header=message.header,
                agreement=message.agreement,
            )
            original = message.offer.original
            await self._audit.write(unfit, original, peer.text, reply.answer, seen=original, reason=why.reason)
        else:
            self._observer.event("intake-failed", channel=self._options.name, error=type(why).__name__)
        return reply

    async def _refused(self, unfit: Unfit, message: bytes, peer: Peer) -> Reply:
        reply = Reply(answer=self._answers.refusal(unfit))
        await self._audit.write(unfit, message, peer.text, reply.answer, seen=message, reason=None)
        return reply

    def _note_counts(self, batch: Batch, peer: Peer) -> None:
        for group in batch.groups:
            if group.is_miscounted:
                self._observer.anomaly(
                    channel=self._options.name,
                    peer=peer.text,
                    kind=MISCOUNTED,
                    offset=0,
                    bytes_hex="",
                    count=len(group.messages),
                )


def _slices(messages: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(messages), AT_ONCE):
        yield messages[start : start + AT_ONCE]
