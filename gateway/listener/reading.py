"""Turns the bytes of a frame into an offer, or into the reason why not. Pure; reads MSH and named fields, no more."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from operator import attrgetter

from gateway.errors import CharsetUnusable, HeaderUnreadable
from gateway.listener.agreement import Agreement, agree
from gateway.listener.options import AcceptOptions, ChannelOptions
from gateway.model.intake import Offer
from gateway.model.policy import SequenceMode
from gateway.model.states import AnswerState, ErrorCode
from gateway.wire import charset
from gateway.wire.ack import Condition, Problem
from gateway.wire.header import Header, field, is_batch, is_several, scan

KEY_SIZE = 16
LEADING = "leading-bytes"
DOUBTFUL = "unknown-ack-condition"
"""Flag of a row whose MSH-15 or MSH-16 holds a value outside table 0155."""

_NULL = b'""'
_MSH_FIELDS: dict[str, Callable[[Header], bytes]] = {
    "MSH-3": attrgetter("sending_application"),
    "MSH-4": attrgetter("sending_facility"),
    "MSH-10": attrgetter("control_id"),
}


class Cause(StrEnum):
    """Who would have to change what for the frame to be taken (HL7 ch. 2, 2.9.2.2 and 2.9.3.1)."""

    CONTENT = "content"
    NOT_ACCEPTABLE = "not-acceptable"
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
        self._key = tuple(_getter(path) for path in options.dedupe_key)
        self._order = options.order_by or ()
        self._stamped = options.sequence is SequenceMode.STAMP

    def read(self, payload: bytes, *, remote: str, identity: str, received_at: int) -> Message | Unfit:
        """Read one frame; `identity` is the certificate mapping's name (empty without TLS), `received_at` Unix ms."""
        try:
            header = scan(payload, encoding=self._options.encoding)
        except HeaderUnreadable as why:
            error, text = ErrorCode.BAD_HEADER, why.reason
            if is_batch(payload):
                # Taking one message of a batch would lose the others, so none is taken.
                error, text = ErrorCode.BAD_FRAME, "batches (FHS, BHS) are not taken, send single messages"
            return self._unfit(None, error, Condition.SEGMENT_SEQUENCE, None, text)
        if is_several(payload, header):
            # Taking the first and losing the rest would be a loss nobody sees.
            text = "more than one MSH in a frame without a batch header"
            return self._unfit(header, ErrorCode.BAD_FRAME, Condition.SEGMENT_SEQUENCE, None, text)
        if header.type_parts()[0] == b"ACK":
            agreement = agree(self._options.ack.mode, header)
            error = ErrorCode.UNEXPECTED_ACK
            return Unfit(cause=Cause.CONTENT, error=error, problem=None, header=header, agreement=agreement)
        return (
            self._required(header)
            or self._acceptable(header)
            or self._message(payload, header, remote=remote, identity=identity, received_at=received_at)
        )

    def describe(self, header: Header | None) -> tuple[str, str, str]:
        """Give type, sender and version as text for the audit row of a refused frame."""
        if header is None:
            return "", "", ""
        try:
            codec = self._charset(header, b"").codec
        except CharsetUnusable:
            codec = "utf-8"
        return _type_text(header, codec), _sender(header, codec), _text(header.version, codec)

    def _required(self, header: Header) -> Unfit | None:
        if _is_absent(header.type_parts()[0]):
            return self._missing(header, 9, "MSH-9 is required")
        if self._options.require_control_id and _is_absent(header.control_id):
            return self._missing(header, 10, "MSH-10 is required")
        return None

    def _missing(self, header: Header, number: int, text: str) -> Unfit:
        return self._unfit(header, ErrorCode.BAD_HEADER, Condition.REQUIRED_FIELD, number, text)

    def _acceptable(self, header: Header) -> Unfit | None:
        found = _objection(self._options.accept, header)
        if found is None:
            return None
        condition, number, text = found
        return self._unfit(header, ErrorCode.NOT_ALLOWED, condition, number, text, cause=Cause.NOT_ACCEPTABLE)

    def _charset(self, header: Header, payload: bytes) -> charset.Charset:
        options = self._options
        return charset.resolve(
            header.charset,
            separator=header.repetition_separator,
            configured=options.encoding,
            default=options.default_encoding,
            payload=payload,
        )

    def _message(
        self, payload: bytes, header: Header, *, remote: str, identity: str, received_at: int
    ) -> Message | Unfit:
        options = self._options
        try:
            found = self._charset(header, payload)
            decoded = charset.decode(payload, found, fallback=options.fallback_encoding)
        except CharsetUnusable as why:
            return self._unfit(header, ErrorCode.BAD_ENCODING, Condition.DATA_TYPE, 18, why.reason)
        agreement = agree(options.ack.mode, header)
        flags = found.flags
        if decoded.mismatch:
            flags += ("encoding-mismatch",)
        if agreement.doubtful:
            flags += (DOUBTFUL,)
        codec = decoded.codec
        digest = sha256(payload).digest()
        kind = _type_text(header, codec)
        offer = Offer(
            channel=options.name,
            control_id=header.control_id,
            key=self._digest_of_key(payload, header, identity, digest),
            original=payload,
            sha256=digest,
            message_type=kind,
            sender=_sender(header, codec),
            version=_text(header.version, codec),
            inbound_sequence=_text(header.sequence, codec),
            declared_charset=found.declared,
            encoding=codec,
            flags=flags,
            partition=self._partition(payload, header, codec),
            barrier=kind in options.order_barrier,
            stamped=self._stamped,
            answer=AnswerState.PENDING if agreement.owes_application else AnswerState.NOT_OWED,
            on_collision=options.on_collision,
            remote=remote,
            received_at=received_at,
        )
        return Message(header=header, agreement=agreement, offer=offer)

    def _digest_of_key(self, payload: bytes, header: Header, identity: str, digest: bytes) -> bytes:
        parts = [self._options.name.encode(), identity.encode()]
        parts.extend(get(payload, header) for get in self._key)
        if _is_absent(header.control_id):
            # Without a name of its own only a message's bytes can tell it from the sender's others.
            parts.append(digest)
        joined = b"".join(b"%d:%b" % (len(part), part) for part in parts)
        return sha256(joined).digest()[:KEY_SIZE]

    def _partition(self, payload: bytes, header: Header, codec: str) -> str:
        values = [field(payload, header, path) for path in self._order]
        return join(*(_text(value, codec) for value in values)) if any(values) else ""

    def _unfit(
        self,
        header: Header | None,
        error: ErrorCode,
        condition: Condition,
        number: int | None,
        text: str,
        *,
        cause: Cause = Cause.CONTENT,
    ) -> Unfit:
        problem = Problem(condition=condition, field=number, text=text)
        agreement = agree(self._options.ack.mode, header)
        return Unfit(cause=cause, error=error, problem=problem, header=header, agreement=agreement)


def join(*values: str) -> str:
    r"""Join values so that no two lists give one text: `\` and `|` inside a value are escaped by `\`."""
    return "|".join(value.replace("\\", "\\\\").replace("|", "\\|") for value in values)


def _getter(path: str) -> Callable[[bytes, Header], bytes]:
    direct = _MSH_FIELDS.get(path)
    if direct is not None:
        return lambda _, header: direct(header)
    return lambda payload, header: field(payload, header, path)


def _is_absent(value: bytes) -> bool:
    return value.strip() in (b"", _NULL)


def _objection(accept: AcceptOptions, header: Header) -> tuple[Condition, int, str] | None:
    kind, trigger = (part.decode("latin-1") for part in header.type_parts())
    if accept.types and kind not in accept.types and f"{kind}^{trigger}" not in accept.types:
        if any(taken.partition("^")[0] == kind for taken in accept.types):
            return Condition.UNSUPPORTED_EVENT, 9, "this channel does not take that event"
        return Condition.UNSUPPORTED_TYPE, 9, "this channel does not take that message type"
    if accept.processing_ids and _first(header.processing_id, header) not in accept.processing_ids:
        return Condition.UNSUPPORTED_PROCESSING_ID, 11, "this channel does not take that processing id"
    if accept.versions and _first(header.version, header) not in accept.versions:
        return Condition.UNSUPPORTED_VERSION, 12, "this channel does not take that version"
    return None


def _first(value: bytes, header: Header) -> str:
    return header.split(value, header.component_separator, 1)[0].decode("latin-1")


def _type_text(header: Header, codec: str) -> str:
    kind, trigger = header.type_parts()
    text = _text(kind, codec)
    return f"{text}^{_text(trigger, codec)}" if trigger else text


def _sender(header: Header, codec: str) -> str:
    return join(_text(header.sending_application, codec), _text(header.sending_facility, codec))


def _text(value: bytes, codec: str) -> str:
    if value.isascii() and b"\x1b" not in value:
        return value.decode("ascii")
    try:
        return charset.decode_stored(value, codec)
    except UnicodeDecodeError:
        # Only text for people and grouping: the bytes themselves are kept as they came.
        return value.decode("latin-1")
