"""Turns the bytes of a frame into an offer, or into the reason why not. Pure; reads MSH and named fields, no more."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from operator import attrgetter

from gateway.errors import CharsetUnusable, HeaderUnreadable
from gateway.listener.agreement import Agreement, agree
from gateway.listener.kinds import Kind, Kinds, is_absent, join, text
from gateway.listener.options import ChannelOptions
from gateway.listener.tls_senders import Senders
from gateway.model.intake import Offer
from gateway.model.policy import AckMode, BatchMode, SequenceMode
from gateway.model.states import AnswerState, ErrorCode
from gateway.wire import charset
from gateway.wire.ack import Condition, Problem
from gateway.wire.batch import Batch, split
from gateway.wire.header import Header, field, is_batch, is_several, scan

KEY_SIZE = 16
LEADING = "leading-bytes"
DOUBTFUL = "unknown-ack-condition"
"""Flag of a row whose MSH-15 or MSH-16 holds a value outside table 0155."""

_MSH_FIELDS = {"MSH-3": "sending_application", "MSH-4": "sending_facility", "MSH-10": "control_id"}


class Cause(StrEnum):
    """Who would have to change what for the frame to be taken (HL7 ch. 2, 2.9.2.2 and 2.9.3.1)."""

    CONTENT = "content"
    NOT_ACCEPTABLE = "not-acceptable"
    NOT_ITS_SENDER = "not-its-sender"
    COLLISION = "collision"
    TEMPORARY = "temporary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit:
    """A frame that is not taken. `header` None: unreadable. `problem` None: it must not be answered."""

    cause: Cause
    error: ErrorCode
    problem: Problem | None
    header: Header | None
    agreement: Agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A readable frame, how it is answered, and what the store is offered."""

    header: Header
    agreement: Agreement
    offer: Offer


class Reader:
    """Reads frames by one channel's rules."""

    def __init__(self, options: ChannelOptions) -> None:
        self._options = options
        self._kinds = Kinds(options.accept, options.order_barrier)
        self._key = _values(options.dedupe_key)
        self._channel = _prefixed(options.name.encode())
        self._order = options.order_by or ()
        self._senders = Senders(options.tls.senders) if options.tls is not None and options.tls.senders else None
        self._stamped = options.sequence is SequenceMode.STAMP
        self._in_sequence = options.sequence is SequenceMode.PROTOCOL

    def read(self, payload: bytes, *, remote: str, identity: str, received_at: int) -> Message | Unfit | Batch:
        """Read one frame; `identity` is the certificate mapping's name (empty without TLS), `received_at` Unix ms."""
        if not payload.startswith(b"MSH") and is_batch(payload):
            return self._batch(payload)
        return self.read_message(payload, remote=remote, identity=identity, received_at=received_at, agree=agree)

    def read_message(
        self,
        payload: bytes,
        *,
        remote: str,
        identity: str,
        received_at: int,
        agree: Callable[[AckMode, Header | None], Agreement],
    ) -> Message | Unfit:
        """Read one message; `agree` finds how it is answered."""
        mode = self._options.ack.mode
        try:
            header = scan(payload, encoding=self._options.encoding)
        except HeaderUnreadable as why:
            condition, agreement = Condition.SEGMENT_SEQUENCE, agree(mode, None)
            return _unfit(None, agreement, ErrorCode.BAD_HEADER, condition, None, why.reason)
        agreement = agree(mode, header)
        kind = self._kinds.kind(header)
        unfit = self._objection(payload, header, kind, agreement)
        if unfit is not None:
            return unfit
        options = self._options
        try:
            found = self._charset(header, payload)
            # ASCII is the same in every charset but those of escapes, so most messages need no decoding here.
            is_plain = found.codec == "utf-8" and payload.isascii()
            codec, mismatch = (found.codec, False) if is_plain else self._fit(payload, found)
        except CharsetUnusable as why:
            return _unfit(header, agreement, ErrorCode.BAD_ENCODING, Condition.DATA_TYPE, 18, why.reason)
        if self._senders is not None:
            number = self._senders.objection(header, codec, identity=identity)
            if number is not None:
                return _foreign(header, agreement, number)
        digest = sha256(payload).digest()
        names = self._kinds.names(header, codec)
        offer = Offer(
            channel=options.name,
            control_id=header.control_id,
            key=self._digest_of_key(payload, header, identity, digest),
            original=payload,
            sha256=digest,
            message_type=names.message_type,
            sender=names.sender,
            version=names.version,
            inbound_sequence=text(header.sequence, codec) if header.sequence else "",
            declared_charset=found.declared,
            encoding=codec,
            flags=_flags(found.flags, mismatch=mismatch, doubtful=agreement.doubtful),
            partition=self._partition(payload, header, codec) if self._order else "",
            barrier=names.barrier,
            stamped=self._stamped,
            answer=AnswerState.PENDING if agreement.owes_application else AnswerState.NOT_OWED,
            on_collision=options.on_collision,
            remote=remote,
            received_at=received_at,
            in_sequence=self._in_sequence,
            window=options.dedupe_window,
            on_failed_retransmit=options.on_failed_retransmit,
        )
        return Message(header=header, agreement=agreement, offer=offer)

    def describe(self, header: Header | None) -> tuple[str, str, str]:
        """Give type, sender and version as text for the audit row of a refused frame."""
        if header is None:
            return "", "", ""
        try:
            codec = self._charset(header, b"").codec
        except CharsetUnusable:
            codec = "utf-8"
        names = self._kinds.names(header, codec)
        return names.message_type, names.sender, names.version

    def _batch(self, payload: bytes) -> Unfit | Batch:
        mode = self._options.ack.mode
        try:
            batch = split(payload, encoding=self._options.encoding)
        except HeaderUnreadable as why:
            # Taking what can be read would lose the rest, so nothing is taken.
            agreement = agree(mode, None)
            return _unfit(None, agreement, ErrorCode.BAD_FRAME, Condition.SEGMENT_SEQUENCE, None, why.reason)
        if self._options.batch is BatchMode.SPLIT:
            return batch
        header = batch.header or (batch.groups[0].header if batch.groups else None)
        why_not, cause = "this channel takes no batches", Cause.NOT_ACCEPTABLE
        condition = Condition.UNSUPPORTED_TYPE
        return _unfit(header, agree(mode, None), ErrorCode.NOT_ALLOWED, condition, None, why_not, cause=cause)

    def _objection(self, payload: bytes, header: Header, kind: Kind, agreement: Agreement) -> Unfit | None:
        if payload.find(b"MSH", header.start + 3) >= 0 and is_several(payload, header):
            # Taking the first and losing the rest would be a loss nobody sees.
            why = "more than one MSH in a frame without a batch header"
            return _unfit(header, agreement, ErrorCode.BAD_FRAME, Condition.SEGMENT_SEQUENCE, None, why)
        if kind.is_ack:
            error = ErrorCode.UNEXPECTED_ACK
            return Unfit(cause=Cause.CONTENT, error=error, problem=None, header=header, agreement=agreement)
        found = kind.objection
        if found is not None and found.is_missing:
            return _unfit(header, agreement, ErrorCode.BAD_HEADER, found.condition, found.field, found.text)
        if self._options.require_control_id and is_absent(header.control_id):
            why = "MSH-10 is required"
            return _unfit(header, agreement, ErrorCode.BAD_HEADER, Condition.REQUIRED_FIELD, 10, why)
        if found is not None:
            error, cause = ErrorCode.NOT_ALLOWED, Cause.NOT_ACCEPTABLE
            return _unfit(header, agreement, error, found.condition, found.field, found.text, cause=cause)
        return None

    def _charset(self, header: Header, payload: bytes) -> charset.Charset:
        options = self._options
        return charset.resolve(
            header.charset,
            separator=header.repetition_separator,
            configured=options.encoding,
            default=options.default_encoding,
            payload=payload,
        )

    def _fit(self, payload: bytes, found: charset.Charset) -> tuple[str, bool]:
        decoded = charset.decode(payload, found, fallback=self._options.fallback_encoding)
        return decoded.codec, decoded.mismatch

    def _digest_of_key(self, payload: bytes, header: Header, identity: str, digest: bytes) -> bytes:
        # No value of a segment holds CR, which ends segments, so joined by it no two lists of values are equal.
        parts = [self._channel, _prefixed(identity.encode()) if identity else b"", *self._key(payload, header)]
        if is_absent(header.control_id):
            # Without a name of its own only a message's bytes can tell it from the sender's others.
            parts.append(digest)
        return sha256(b"\r".join(parts)).digest()[:KEY_SIZE]

    def _partition(self, payload: bytes, header: Header, codec: str) -> str:
        values = [field(payload, header, path) for path in self._order]
        return join(*(text(value, codec) for value in values)) if any(values) else ""


def _foreign(header: Header, agreement: Agreement, number: int) -> Unfit:
    why, error = f"this sender may not send with that MSH-{number}", ErrorCode.NOT_ALLOWED
    return _unfit(header, agreement, error, Condition.TABLE_VALUE, number, why, cause=Cause.NOT_ITS_SENDER)


def _unfit(
    header: Header | None,
    agreement: Agreement,
    error: ErrorCode,
    condition: Condition,
    number: int | None,
    why: str,
    *,
    cause: Cause = Cause.CONTENT,
) -> Unfit:
    problem = Problem(condition=condition, field=number, text=why)
    return Unfit(cause=cause, error=error, problem=problem, header=header, agreement=agreement)


def _values(paths: tuple[str, ...]) -> Callable[[bytes, Header], Iterable[bytes]]:
    """Give what reads the fields of a dedupe key."""
    if len(paths) > 1 and all(path in _MSH_FIELDS for path in paths):
        read: Callable[[Header], tuple[bytes, ...]] = attrgetter(*(_MSH_FIELDS[path] for path in paths))
        return lambda _, header: read(header)
    return lambda payload, header: [field(payload, header, path) for path in paths]


def _prefixed(part: bytes) -> bytes:
    return b"%d:%b" % (len(part), part)


def _flags(flags: tuple[str, ...], *, mismatch: bool, doubtful: bool) -> tuple[str, ...]:
    if mismatch:
        flags += ("encoding-mismatch",)
    return (*flags, DOUBTFUL) if doubtful else flags
