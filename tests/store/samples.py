"""Made-up offers, refusals and decisions, and a clock that moves by hand. No real data."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from gateway.model.clock import Now
from gateway.model.delivery import Again, Finish, GiveUp, Release, Sending, ServerReply, Settled, Settlement, Term
from gateway.model.ids import ChannelName, ControlId, RowId
from gateway.model.intake import FOURTEEN_DAYS, Admission, Offer, Receipt, Refusal
from gateway.model.policy import OnCollision, OnFailedRetransmit, OutcomePolicy, RetryPolicy
from gateway.model.states import AnswerState, ErrorCode, Event
from gateway.ports.observe import Fact

ADT = ChannelName("adt")
LAB = ChannelName("lab")
GROUP = "main"
TTL = 15_000
POLICY = RetryPolicy(attempts=3)
PARK = OutcomePolicy()


class ManualClock:
    """Moves only when told."""

    def __init__(self) -> None:
        self.wall = 1_770_000_000_000
        self.boot_id = "boot-1"
        self.ms = 1_000_000

    def __call__(self) -> Now:
        return Now(wall=self.wall, boot_id=self.boot_id, ms=self.ms)

    def forward(self, ms: int) -> None:
        self.wall += ms
        self.ms += ms

    def reboot(self) -> None:
        self.boot_id += "+"
        self.ms = 5_000
        self.wall += 60_000


class Notes:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Fact]]] = []

    def event(self, name: str, /, **facts: Fact) -> None:
        self.events.append((name, facts))

    def anomaly(self, **_: Any) -> None:
        raise AssertionError("the store sees no frames")

    def names(self) -> list[str]:
        return [name for name, _ in self.events]


def offer(
    control_id: str = "A1",
    *,
    text: str = "",
    channel: ChannelName = ADT,
    partition: str = "",
    barrier: bool = False,
    stamped: bool = False,
    answer: AnswerState = AnswerState.NOT_OWED,
    on_collision: OnCollision = OnCollision.REJECT,
    received_at: int = 1_770_000_000_000,
    sender: str = "SNDAPP",
    number: str | None = None,
    size: int = 0,
    window: int = FOURTEEN_DAYS,
    on_failed_retransmit: OnFailedRetransmit = OnFailedRetransmit.KEEP,
) -> Offer:
    """Give an offer whose key depends on channel and control id alone."""
    original = f"MSH|^~\\&|SNDAPP|||||||{control_id}|P|2.5.1\rNTE|1||{text}\r".encode() + b"x" * size
    return Offer(
        channel=channel,
        control_id=ControlId(control_id.encode()),
        key=sha256(f"{channel}/{control_id}".encode()).digest()[:16],
        original=original,
        sha256=sha256(original).digest(),
        message_type="ADT^A01",
        sender=sender,
        version="2.5.1",
        inbound_sequence="7" if number is None else number,
        in_sequence=number is not None,
        declared_charset="UNICODE UTF-8",
        encoding="utf-8",
        flags=("unknown-charset",),
        partition=partition,
        barrier=barrier,
        stamped=stamped,
        answer=answer,
        on_collision=on_collision,
        remote="127.0.0.1:50000",
        received_at=received_at,
        window=window,
        on_failed_retransmit=on_failed_retransmit,
    )


def seal(admission: Admission, sequence: int | None) -> bytes:
    return f"MSA|{admission}|{sequence}".encode()


def refusal(
    text: str = "broken",
    *,
    code: ErrorCode = ErrorCode.BAD_HEADER,
    channel: ChannelName = ADT,
    keep: bool = True,
    received_at: int = 1_770_000_000_000,
) -> Refusal:
    return Refusal(
        channel=channel,
        error_code=code,
        control_id=ControlId(b""),
        original=text.encode() if keep else b"",
        sha256=sha256(text.encode()).digest(),
        message_type="",
        sender="",
        version="",
        remote="127.0.0.1:50000",
        answer=b"MSA|AE",
        received_at=received_at,
    )


def sending(row: RowId, *, generation: int = 0, channel: ChannelName = ADT, policy: RetryPolicy = POLICY) -> Sending:
    return Sending(channel=channel, row=row, generation=generation, policy=policy)


ACCEPT = Finish(event=Event.ACCEPTED)
REFUSE = Finish(event=Event.REFUSED, code=ErrorCode.UPSTREAM_REJECTED)
REFUSE_AND_HALT = Finish(event=Event.REFUSED, code=ErrorCode.UPSTREAM_REJECTED, halts=True)
RETRY = Again(event=Event.RETRY, wait=1_000, counted=True, code=ErrorCode.UPSTREAM_ERROR)
TROUBLE = Again(event=Event.RETRY, wait=0, counted=False, code=ErrorCode.SERVER_ERROR)
EXHAUSTED = GiveUp(event=Event.EXHAUSTED, code=ErrorCode.RETRY_EXHAUSTED)
HOLD = GiveUp(event=Event.IN_DOUBT, code=ErrorCode.RESPONSE_TIMEOUT)
HOLD_AND_HALT = GiveUp(event=Event.IN_DOUBT, code=ErrorCode.RESPONSE_TIMEOUT, halts=True)
RELEASE = Release()


def settled(
    row: RowId,
    settlement: Settlement = ACCEPT,
    *,
    generation: int = 0,
    send: int = 1,
    answer: bytes | None = None,
    reply: ServerReply | None = None,
) -> Settled:
    return Settled(row=row, generation=generation, send=send, settlement=settlement, reply=reply, answer=answer)


SAID = ServerReply(status=200, body="MSH|said", ack_code="AA")

Opener = Callable[[], Any]


def rows_of(receipts: list[Receipt]) -> list[int]:
    return [receipt.row for receipt in receipts]


def stale(term: Term) -> Term:
    """Give the term a take-over has ended."""
    return Term(group=term.group, holder="an earlier one", epoch=term.epoch)
