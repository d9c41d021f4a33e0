"""Which code an answer carries, by cause and agreement, and the bytes of it. Stores and sends nothing."""

from collections.abc import Sequence
from functools import partial
from time import localtime

from gateway.core.sequence import number
from gateway.listener.agreement import Agreement
from gateway.listener.options import AckOptions
from gateway.listener.reading import Cause, Message, Unfit
from gateway.listener.slots import Reply
from gateway.model.intake import Admission, Seal
from gateway.model.policy import OnDeadline, OnUnavailable
from gateway.ports.clock import Clock, NewId
from gateway.wire import charset
from gateway.wire.ack import AckCode, Condition, Problem, build, read_msa
from gateway.wire.batch import Batch
from gateway.wire.batch import answer as build_batch
from gateway.wire.header import Header

_CODES: dict[Cause, tuple[AckCode, AckCode]] = {
    Cause.CONTENT: (AckCode.AE, AckCode.CE),
    Cause.NOT_ACCEPTABLE: (AckCode.AR, AckCode.CR),
    Cause.NOT_ITS_SENDER: (AckCode.AR, AckCode.CE),
    Cause.COLLISION: (AckCode.AR, AckCode.CE),
}
"""Original mode, enhanced mode (HL7 ch. 2, 2.9.2.2 and 2.9.3.1)."""

_UNAVAILABLE = {OnUnavailable.AR: AckCode.AR, OnUnavailable.AE: AckCode.AE, OnUnavailable.CLOSE: None}
_OVERDUE = {OnDeadline.AR: AckCode.AR, OnDeadline.AE: AckCode.AE, OnDeadline.AA: AckCode.AA, OnDeadline.CLOSE: None}

_COLLISION = Problem(condition=Condition.DUPLICATE_KEY, field=10, text="this control id was used for other content")
_GAP = Problem(condition=Condition.INTERNAL_ERROR, field=13, text="MSH-13 is not the number that MSA-4 expects")
_LATE = Problem(condition=Condition.INTERNAL_ERROR, field=None, text="no answer of the application in time")
_TROUBLE = Problem(condition=Condition.INTERNAL_ERROR, field=None, text="temporarily unavailable, send again later")


class Answers:
    """Builds one channel's own answers."""

    def __init__(self, options: AckOptions, *, clock: Clock, new_id: NewId) -> None:
        self._options = options
        self._clock = clock
        self._new_id = new_id
        self._second = -1
        self._timestamp = ""

    def seal(self, message: Message) -> Seal:
        """Give what builds the commit answer inside the transaction; its id is taken now, its time is the receipt's."""
        return partial(_sealed, message, self._new_id(), self._at(message.offer.received_at // 1000))

    def refusal(self, unfit: Unfit) -> bytes:
        """Build the answer to a frame that is not taken; b"" where none is wanted."""
        if unfit.problem is None or not unfit.agreement.commit.admits(positive=False):
            return b""
        code = _CODES[unfit.cause][unfit.agreement.enhanced]
        return self._build(unfit.header, code, unfit.problem)

    def positive(self, message: Message) -> bytes:
        """Build a positive answer for a row that has none stored."""
        code, offer = _positive(message.agreement), message.offer
        taken = number(offer.inbound_sequence) if offer.in_sequence else None
        return self._build(message.header, code, None, codec=offer.encoding, expected=taken)

    def batch(self, batch: Batch, acks: Sequence[bytes]) -> bytes:
        """Build the one answer of a batch from those of its messages (b"": none wanted)."""
        ids = [self._new_id() for _ in range(batch.headers)]
        return build_batch(batch, acks, ids=ids, timestamp=self._now())

    def unavailable(self, header: Header | None, agreement: Agreement) -> Reply:
        """Answer temporary trouble (storage, space, load, stopping)."""
        code = AckCode.CE if agreement.enhanced else _UNAVAILABLE[self._options.unavailable]
        if code is None:
            return Reply(answer=b"", closes=True)
        wanted = agreement.commit.admits(positive=False)
        return Reply(answer=self._build(header, code, _TROUBLE) if wanted else b"")

    def overdue(self, message: Message) -> Reply:
        """Answer a frame whose application answer has not come by the deadline; never stored."""
        code = _OVERDUE[self._options.on_deadline]
        if code is None:
            return Reply(answer=b"", closes=True)
        is_positive = code is AckCode.AA
        if not message.agreement.application.admits(positive=is_positive):
            return Reply(answer=b"")
        problem = None if is_positive else _LATE
        return Reply(answer=self._build(message.header, code, problem, codec=message.offer.encoding))

    def _build(
        self,
        header: Header | None,
        code: AckCode,
        problem: Problem | None,
        *,
        codec: str = "utf-8",
        expected: int | None = None,
    ) -> bytes:
        return build(
            header,
            code,
            message_id=self._new_id(),
            timestamp=self._now(),
            problem=problem,
            expected_sequence=expected,
            codec=codec,
        )

    def _now(self) -> str:
        return self._at(self._clock().wall // 1000)

    def _at(self, second: int) -> str:
        if second != self._second:
            self._second, self._timestamp = second, timestamp(second)
        return self._timestamp


def timestamp(second: int) -> str:
    """Write a Unix time as MSH-7 in local time with its offset: `YYYYMMDDHHMMSS+ZZZZ`."""
    at = localtime(second)
    minutes = at.tm_gmtoff // 60
    sign, minutes = ("-", -minutes) if minutes < 0 else ("+", minutes)
    date = f"{at.tm_year:04}{at.tm_mon:02}{at.tm_mday:02}"
    # A leap second is written as the last ordinary one.
    return f"{date}{at.tm_hour:02}{at.tm_min:02}{min(at.tm_sec, 59):02}{sign}{minutes // 60:02}{minutes % 60:02}"


def is_positive_body(body: bytes, codec: str) -> bool:
    """Tell whether an application answer says yes; one without a readable MSA does not."""
    msa = read_msa(charset.decode_stored(body, codec))
    return msa is not None and msa.code in {AckCode.AA, AckCode.CA}


def _positive(agreement: Agreement) -> AckCode:
    return AckCode.CA if agreement.enhanced else AckCode.AA


_NEGATIVE = {Admission.COLLISION: (Cause.COLLISION, _COLLISION), Admission.GAP: (Cause.CONTENT, _GAP)}


def _sealed(message: Message, message_id: str, at: str, admission: Admission, number: int | None) -> bytes:
    agreement, header, offer = message.agreement, message.header, message.offer
    code, problem = _positive(agreement), None
    if admission in _NEGATIVE:
        if not agreement.commit.admits(positive=False):
            return b""
        cause, problem = _NEGATIVE[admission]
        code = _CODES[cause][agreement.enhanced]
    elif admission is Admission.NEW and agreement.waits:
        return b""
    # Stored even where MSH-15 keeps it from being sent: a retransmit gets it, so that its sender can stop.
    return build(
        header,
        code,
        message_id=message_id,
        timestamp=at,
        problem=problem,
        expected_sequence=number if offer.in_sequence else None,
        codec=offer.encoding,
    )
