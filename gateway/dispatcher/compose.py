"""From a stored row to the text that is sent, and from the server's answer to the one owed to the sender."""

from dataclasses import dataclass

from gateway.errors import CharsetUnusable, HeaderUnreadable
from gateway.model.clock import Now, hl7_timestamp
from gateway.model.delivery import Again, Content, Finish, GiveUp, Release, ServerReply, Settlement
from gateway.model.ids import RowId
from gateway.model.states import Event
from gateway.model.upstream import Answer, ErrorAnswer, Outcome, Unattributed
from gateway.ports.clock import NewId
from gateway.wire import ack, charset, header, stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A row ready to be sent: text body, MSH-10 as text, and what its answer needs."""

    row: RowId
    body: str
    control_id: str
    remote: str
    content: Content


def prepare(content: Content) -> Prepared | None:
    """Decode and stamp; None when the stored bytes cannot be read any more."""
    try:
        head = header.scan(content.original, encoding=content.encoding)
        body = stamp.body_of(content.original, head.start, codec=content.encoding, sequence=content.sequence)
        control_id = charset.decode_stored(content.control_id, content.encoding)
    except (HeaderUnreadable, CharsetUnusable, UnicodeError):
        return None
    return Prepared(row=content.row, body=body, control_id=control_id, remote=content.remote, content=content)


def reply_of(outcome: Outcome) -> ServerReply | None:
    """Give what the server said, as evidence; None when it said nothing."""
    match outcome:
        case Answer():
            code = None if outcome.msa is None else outcome.msa.code
            return ServerReply(status=outcome.status, body=outcome.body, ack_code=code)
        case ErrorAnswer() | Unattributed():
            return ServerReply(status=None, body=outcome.body, ack_code=None)
        case _:
            return None


def answer_owed(
    prepared: Prepared, outcome: Outcome, settlement: Settlement, *, new_id: NewId, now: Now
) -> bytes | None:
    """Give the application answer for the sender: the server's own HL7 body, or one made by us.

    None when the sender is owed none, or none yet. A refusal by status and everything given up or in doubt is
    answered AR and AE by us (PROTOCOL, section 2).
    """
    if not prepared.content.owes_answer or isinstance(settlement, Again | Release):
        return None
    if isinstance(outcome, Answer) and outcome.msa is not None and not _is_doubt(settlement):
        return charset.encode(outcome.body or "", prepared.content.encoding)
    return ack.build(
        header.scan(prepared.content.original, encoding=prepared.content.encoding),
        _code(settlement),
        message_id=new_id(),
        timestamp=hl7_timestamp(now.wall),
        problem=_problem(settlement),
        codec=prepared.content.encoding,
    )


def _is_doubt(settlement: Settlement) -> bool:
    return isinstance(settlement, GiveUp) and settlement.event is Event.IN_DOUBT


def _code(settlement: Finish | GiveUp) -> ack.AckCode:
    if isinstance(settlement, GiveUp):
        return ack.AckCode.AE
    return ack.AckCode.AA if settlement.event is Event.ACCEPTED else ack.AckCode.AR


def _problem(settlement: Finish | GiveUp) -> ack.Problem | None:
    if isinstance(settlement, Finish) and settlement.event is Event.ACCEPTED:
        return None
    text = f"the receiving application did not take the message ({settlement.code})"
    return ack.Problem(condition=ack.Condition.INTERNAL_ERROR, field=None, text=text)
