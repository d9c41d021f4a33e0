"""A real SQLite store with a clock that is moved by hand, and the few acts of listener and dispatcher tests need."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from gateway.console.actions import Actions
from gateway.model.clock import Now
from gateway.model.delivery import Again, Claim, Finish, GiveUp, Sending, ServerReply, Settled, Settlement, Taken, Term
from gateway.model.ids import ChannelName, ControlId, RowId
from gateway.model.intake import Offer, Refusal
from gateway.model.policy import OnCollision, OutcomePolicy, RetryPolicy
from gateway.model.states import AnswerState, ErrorCode, Event
from gateway.ports.clock import Clock
from gateway.ports.observe import Fact
from gateway.store.options import StoreOptions
from gateway.store.sqlite.engine import SqliteStore, open_store

ADT, LAB = ChannelName("adt"), ChannelName("lab")
UPSTREAMS = {ADT: "main", LAB: "main"}
TTL = 15_000


class Quiet:
    """An observer nobody reads."""

    def event(self, name: str, /, **facts: Fact) -> None: ...

    def anomaly(self, *, channel: str, peer: str, kind: str, offset: int, bytes_hex: str, count: int = 1) -> None: ...


class Hands:
    """A clock moved by hand; it starts at 2026-01-01T12:00:00Z."""

    def __init__(self) -> None:
        self.now = Now(wall=1_767_268_800_000, boot_id="boot", ms=1_000_000)

    def __call__(self) -> Now:
        return self.now

    def move(self, ms: int) -> None:
        self.now = Now(wall=self.now.wall + ms, boot_id=self.now.boot_id, ms=self.now.ms + ms)

    def reboot(self) -> None:
        self.now = Now(wall=self.now.wall + 60_000, boot_id="next boot", ms=5_000)


def message(control_id: str, text: str = "TEST^ANNA") -> bytes:
    header = rf"MSH|^~\&|SNDAPP|SNDFAC|RCVAPP|RCVFAC|20260101120000||ADT^A01^ADT_A01|{control_id}|P|2.5.1"
    return f"{header}\rPID|1||1001^^^HOSP^MR||{text}\r".encode()


def ack(code: str, control_id: str) -> bytes:
    header = "MSH|^~\\&|RCVAPP|RCVFAC|SNDAPP|SNDFAC|20260101120000||ACK^A01^ACK|1|P|2.5.1"
    return f"{header}\rMSA|{code}|{control_id}\r".encode()


class Shop:
    """Listener and dispatcher in a few words."""

    def __init__(self, store: SqliteStore, clock: Clock, *, who: str = "anna") -> None:
        self.store = store
        self.clock = clock
        self.actions = Actions(store.desk, clock, who, upstreams=UPSTREAMS)
        self.term: Term | None = None

    async def accept(
        self,
        control_id: str,
        *,
        channel: ChannelName = ADT,
        partition: str = "",
        barrier: bool = False,
        payload: bytes | None = None,
        answer: AnswerState = AnswerState.NOT_OWED,
    ) -> RowId:
        original = payload if payload is not None else message(control_id)
        offer = Offer(
            channel=channel,
            control_id=ControlId(control_id.encode()),
            key=sha256(f"{channel}|{control_id}".encode()).digest()[:16],
            original=original,
            sha256=sha256(original).digest(),
            message_type="ADT^A01^ADT_A01",
            sender="SNDAPP|SNDFAC",
            version="2.5.1",
            inbound_sequence="",
            declared_charset="",
            encoding="utf-8",
            flags=(),
            partition=partition,
            barrier=barrier,
            stamped=True,
            answer=answer,
            on_collision=OnCollision.REJECT,
            remote="127.0.0.1:50000",
            received_at=self.clock().wall,
        )
        return (await self.store.intake.accept(offer, lambda _, __: ack("AA", control_id))).row

    async def refuse(self, original: bytes, *, kept: bool = True) -> RowId:
        return await self.store.intake.refuse(
            Refusal(
                channel=ADT,
                error_code=ErrorCode.BAD_HEADER,
                control_id=ControlId(b""),
                original=original if kept else b"",
                sha256=sha256(original).digest(),
                message_type="",
                sender="",
                version="",
                remote="127.0.0.1:50000",
                answer=ack("AE", ""),
                received_at=self.clock().wall,
            )
        )

    async def lead(self, *, link: str = "live") -> Term:
        taken = await self.store.leases.take(
            "main", holder="gw-a", ttl=TTL, channels=dict.fromkeys(UPSTREAMS, OutcomePolicy()), now=self.clock()
        )
        assert isinstance(taken, Taken)
        self.term = taken.term
        await self.link(link)
        return taken.term

    async def link(self, state: str) -> None:
        assert self.term is not None
        await self.store.leases.note_link(self.term, link=state, granted=None)

    async def step_down(self) -> None:
        assert self.term is not None
        await self.store.leases.release(self.term, self.clock())

    async def claim(self, row: RowId, *, generation: int = 0, channel: ChannelName = ADT) -> Claim:
        assert self.term is not None
        sending = Sending(channel=channel, row=row, generation=generation, policy=RetryPolicy())
        claim = (await self.store.outbox.claim(self.term, sending, self.clock())).claim
        assert claim is not None
        return claim

    async def send(self, row: RowId, *, generation: int = 0, channel: ChannelName = ADT) -> Claim:
        claim = await self.claim(row, generation=generation, channel=channel)
        assert self.term is not None
        assert await self.store.outbox.mark_sent(self.term, row, self.clock())
        return claim

    async def settle(self, claim: Claim, settlement: Settlement, *, reply: ServerReply | None = None) -> None:
        assert self.term is not None
        settled = Settled(
            row=claim.row,
            generation=claim.generation,
            send=claim.send,
            settlement=settlement,
            reply=reply,
            answer=None,
        )
        assert (await self.store.outbox.advance(self.term, settled, None, self.clock())).settled

    async def deliver(self, row: RowId) -> None:
        reply = ServerReply(status=200, body=ack("AA", "SECRET").decode(), ack_code="AA")
        await self.settle(await self.send(row), Finish(event=Event.ACCEPTED), reply=reply)

    async def fail(self, row: RowId, *, halts: bool = False) -> None:
        await self.settle(await self.send(row), GiveUp(event=Event.IN_DOUBT, code=ErrorCode.INTERRUPTED, halts=halts))

    async def back_off(self, row: RowId, *, wait: int = 5_000) -> None:
        again = Again(event=Event.RETRY, wait=wait, counted=True, code=ErrorCode.UPSTREAM_ERROR)
        await self.settle(await self.send(row), again)


@asynccontextmanager
async def opened(path: Path, clock: Clock) -> AsyncIterator[Shop]:
    """Open a store as a running gateway does, with both channels known."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    store = await open_store(
        path,
        clock=clock,
        observer=Quiet(),
        options=StoreOptions(low_space=0, ballast=1 << 16, wal_grow=1 << 16),
        random=lambda size: bytes(range(size)),
    )
    try:
        await store.register(UPSTREAMS)
        yield Shop(store, clock)
    finally:
        await store.close()
