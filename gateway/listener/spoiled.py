"""Why a frame that framing found bad is refused. Never looks at more of it than its header."""

from gateway.listener.agreement import Agreement
from gateway.listener.reading import Cause, Unfit
from gateway.model.states import ErrorCode
from gateway.wire.ack import Condition, Problem
from gateway.wire.frames import AnomalyKind, BadFrame
from gateway.wire.header import Header

_TEXTS = {
    AnomalyKind.EMPTY: "the frame is empty",
    AnomalyKind.TERMINATOR_INSIDE: "a frame terminator (FS CR) inside the message",
    AnomalyKind.OVERSIZE: "the message is longer than this channel takes",
}
_KNOWS_TOO_LONG = (2, 7)


def spoiled(bad: BadFrame, header: Header | None, agreement: Agreement) -> Unfit:
    """Name the refusal of a bad frame."""
    text = _TEXTS.get(bad.kind, "the frame is not well formed")
    problem = Problem(condition=_condition(bad, header), field=None, text=text)
    return Unfit(cause=Cause.CONTENT, error=ErrorCode.BAD_FRAME, problem=problem, header=header, agreement=agreement)


def _condition(bad: BadFrame, header: Header | None) -> Condition:
    if bad.kind is not AnomalyKind.OVERSIZE:
        return Condition.SEGMENT_SEQUENCE
    # Table 0357 has "value too long" from 2.7 on only.
    return Condition.VALUE_TOO_LONG if header and _version(header) >= _KNOWS_TOO_LONG else Condition.INTERNAL_ERROR


def _version(header: Header) -> tuple[int, ...]:
    text = header.split(header.version, header.component_separator, 1)[0]
    try:
        return tuple(int(part) for part in text.split(b"."))
    except ValueError:
        return ()
