"""What listener tests stand on: a small store that keeps its promises in memory, a client, a clock to move."""

import asyncio
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gateway.core.admission import admit
from gateway.errors import Unavailable
from gateway.listener.options import ChannelOptions
from gateway.listener.server import Listener
from gateway.model.clock import Now
from gateway.model.ids import ChannelName, RowId
from gateway.model.intake import Admission, ApplicationAnswer, Offer, Receipt, Refusal, Seal
from gateway.model.review import Row, RowFilter
from gateway.model.states import AnswerState, State
from gateway.ports.clock import Passing, pass_by
from gateway.ports.observe import Fact
from gateway.ports.store import Intake
from gateway.store.options import StoreOptions
from gateway.store.sqlite.engine import SqliteStore, open_store

ADT = ChannelName("adt")
NOON = 1_767_265_200_000
_STATES = {Admission.COLLISION: State.NACKED, Admission.QUARANTINED: State.FAILED}


def m(control_id: str | bytes, *, accept: str = "", application: str = "", patient: str = "ANNA") -> bytes:
    """Give the ordinary message of the cases, with MSH-15 and MSH-16 if asked for."""
    name = control_id if isinstance(control_id, bytes) else control_id.encode()
    tail = f"|||{accept}|{application}".encode() if accept or application else b""
    return (
        b"MSH|^~\\&|SNDAPP|SNDFAC|RCVAPP|RCVFAC|20260101120000||ADT^A01^ADT_A01|" + name + b"|P|2.5.1" + tail + b"\r"
        b"EVN|A01|20260101120000\rPID|1||1001^^^HOSP^MR||TEST^" + patient.encode() + b"\r"
    )


def f(payload: bytes) -> bytes:
    """Frame a payload."""
    return b"\x0b" + payload + b"\x1c\r"


def fields(answer: bytes, segment: bytes) -> list[bytes]:
    """Give the fields of an answer's first segment of that name; MSH is counted as HL7 counts it."""
    separator = answer[3:4]
    line = next(line for line in answer.split(b"\r") if line.startswith(segment))
    found = line.split(separator)
    return [found[0], separator, *found[1:]] if segment == b"MSH" else found


def msa(answer: bytes) -> tuple[bytes, bytes]:
    """Give MSA-1 and MSA-2."""
    found = fields(answer, b"MSA")
    return found[1], found[2]


class Clock:
    """A wall clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.wall = NOON

    def __call__(self) -> Now:
        return Now(wall=self.wall, boot_id="boot", ms=self.wall)


class Ids:
    """Fresh control ids, counted."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self) -> str:
        self.given += 1
        return f"G{self.given}"


class Notes:
    """An observer that remembers, and wakes who waits for an event."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Fact]]] = []
        self.anomalies: list[dict[str, Fact]] = []
        self._news = asyncio.Event()

    def event(self, name: str, /, **facts: Fact) -> None:
        self.events.append((name, facts))
        self._news.set()

    def anomaly(self, *, channel: str, peer: str, kind: str, offset: int, bytes_hex: str, count: int = 1) -> None:
        self.anomalies.append(
            {"channel": channel, "peer": peer, "kind": kind, "offset": offset, "bytes_hex": bytes_hex, "count": count}
        )
        self._news.set()

    def named(self, name: str) -> list[dict[str, Fact]]:
        return [facts for found, facts in self.events if found == name]

    def counted(self, kind: str) -> int:
        return sum(int(found["count"] or 0) for found in self.anomalies if found["kind"] == kind)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait, from event to event, until something is so."""
        async with asyncio.timeout(10):
            while not is_so():
                self._news.clear()
                await self._news.wait()


@dataclass
class Kept:
    """One row of the small store."""

    offer: Offer
    receipt: Receipt
    answered: "asyncio.Future[ApplicationAnswer]"
    leg: AnswerState


@dataclass
class SmallStore:
    """Implements ports.store.Intake in memory. `is_held` keeps offers waiting until `release`."""

    trouble: Exception | None = None
    refuse_trouble: Exception | None = None
    is_held: bool = False
    offers: list[Offer] = field(default_factory=list)
    rows: dict[RowId, Kept] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    recorded: list[tuple[RowId, AnswerState]] = field(default_factory=list)
    waiting: "deque[tuple[Offer, Seal, asyncio.Future[Receipt]]]" = field(default_factory=deque)
    pending: dict[str, list[tuple[int, ApplicationAnswer]]] = field(default_factory=dict)
    told: Callable[[], None] = lambda: None
    collisions: int = 0

    def is_owed(self, row: RowId) -> bool:
        """Tell whether the row's sender is owed an application answer."""
        return self.rows[row].offer.answer is AnswerState.PENDING

    @property
    def closed_because(self) -> str | None:
        return None

    def accept(self, offer: Offer, seal: Seal) -> Awaitable[Receipt]:
        self.offers.append(offer)
        done: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self.waiting.append((offer, seal, done))
        self.told()
        if not self.is_held:
            self.release()
        return done

    def release(self, count: int | None = None) -> None:
        """Commit what waits, as one group."""
        for _ in range(len(self.waiting) if count is None else count):
            offer, seal, done = self.waiting.popleft()
            if self.trouble is not None:
                done.set_exception(self.trouble)
            else:
                done.set_result(self._admit(offer, seal))

    def _admit(self, offer: Offer, seal: Seal) -> Receipt:
        known = {kept.offer.sha256: kept for kept in self.rows.values() if kept.offer.key == offer.key}
        admission = admit(sha256=offer.sha256, known=known, on_collision=offer.on_collision)
        if admission is Admission.REPLAY:
            kept = known[offer.sha256]
            body = kept.answered.result().body if kept.answered.done() else None
            return Receipt(
                admission=admission,
                row=kept.receipt.row,
                state=kept.receipt.state,
                sequence=kept.receipt.sequence,
                answer=kept.receipt.answer,
                application_answer=body,
            )
        row = RowId(len(self.rows) + len(self.refusals) + self.collisions + 1)
        receipt = Receipt(
            admission=admission,
            row=row,
            state=_STATES.get(admission, State.QUEUED),
            sequence=None,
            answer=seal(admission, None),
            application_answer=None,
        )
        if admission is Admission.COLLISION:
            self.collisions += 1
        else:
            future = asyncio.get_running_loop().create_future()
            self.rows[row] = Kept(offer=offer, receipt=receipt, answered=future, leg=offer.answer)
        return receipt

    async def refuse(self, refusal: Refusal) -> RowId:
        if self.refuse_trouble is not None:
            raise self.refuse_trouble
        self.refusals.append(refusal)
        return RowId(len(self.rows) + len(self.refusals))

    async def wait_answer(self, row: RowId) -> ApplicationAnswer:
        return await asyncio.shield(self.rows[row].answered)

    def settle(self, row: RowId, body: bytes) -> None:
        """Store the application answer of a row."""
        self.rows[row].answered.set_result(ApplicationAnswer(row=row, body=body))

    async def pending_answers(self, channel: ChannelName, sender: str, *, since: int) -> Sequence[ApplicationAnswer]:
        return [answer for at, answer in self.pending.get(sender, []) if at >= since]

    async def record_answer(self, row: RowId, state: AnswerState, now: Now) -> None:
        self.recorded.append((row, state))
        for answers in self.pending.values():
            answers[:] = [(at, answer) for at, answer in answers if answer.row != row]
        if row in self.rows:
            self.rows[row].leg = state
        self.told()


class Full(SmallStore):
    """A store in temporary trouble that cannot write audit rows either."""

    def __init__(self) -> None:
        super().__init__(trouble=Unavailable(reason="full"), refuse_trouble=Unavailable(reason="full"))


class LoopTime:
    """Moves the clock of the running loop; whatever is due then runs at once."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        real, self._offset = loop.time, 0.0
        loop.time = lambda: real() + self._offset  # type: ignore[method-assign]  # the loop's clock is the subject

    def move(self, seconds: float) -> None:
        self._offset += seconds


class Sender:
    """A peer that says exactly what it is told to, and reads whole answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    def say(self, data: bytes) -> None:
        self.writer.write(data)

    async def hear(self) -> bytes:
        """Read one answer's payload."""
        async with asyncio.timeout(10):
            frame = await self._reader.readuntil(b"\x1c\r")
        assert frame[:1] == b"\x0b"
        return frame[1:-2]

    async def hear_many(self, count: int) -> list[bytes]:
        return [await self.hear() for _ in range(count)]

    async def ask(self, payload: bytes) -> bytes:
        self.say(f(payload))
        return await self.hear()

    async def rest(self) -> bytes:
        """Read until the gateway closes."""
        async with asyncio.timeout(10):
            try:
                return await self._reader.read()
            except ConnectionResetError:
                return b""

    async def finish(self) -> list[bytes]:
        """Say that nothing more comes, and read every answer still owed."""
        self.writer.write_eof()
        rest = await self.rest()
        return [frame[1:] for frame in rest.split(b"\x1c\r")[:-1]]

    def cut(self) -> None:
        """Hang up so that the other side gets a reset."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def close(self) -> None:
        self.writer.close()


async def dial(address: tuple[str, int]) -> Sender:
    return Sender(*await asyncio.open_connection(*address))


@dataclass
class Stage:
    """A running listener and everything around it."""

    listener: Listener
    notes: Notes
    clock: Clock
    ids: Ids
    senders: list[Sender] = field(default_factory=list)

    async def sender(self) -> Sender:
        sender = await dial(self.listener.address)
        self.senders.append(sender)
        return sender


@asynccontextmanager
async def listening(
    store: Intake, options: ChannelOptions | None = None, *, passing: Passing = pass_by, grace: float = 1.0
) -> AsyncIterator[Stage]:
    """Run a listener on a free port of this machine."""
    notes, clock, ids = Notes(), Clock(), Ids()
    listener = Listener(
        options or ChannelOptions(name=ADT), store=store, observer=notes, clock=clock, new_id=ids, passing=passing
    )
    await listener.start()
    stage = Stage(listener=listener, notes=notes, clock=clock, ids=ids)
    try:
        yield stage
    finally:
        for sender in stage.senders:
            sender.close()
        await listener.stop(grace=grace)
        assert listener.connections == 0


@asynccontextmanager
async def opened(folder: Path, *, low_space: int = 0) -> AsyncIterator[SqliteStore]:
    """Open a real store with the channel of the cases."""
    options = StoreOptions(low_space=low_space, ballast=0, wal_grow=0)
    store = await open_store(folder / "queue.db", clock=Clock(), observer=Notes(), options=options, random=bytes)
    try:
        await store.register({ADT: "main"})
        yield store
    finally:
        await store.close()


async def rows_of(store: SqliteStore, *states: State) -> list[Row]:
    """Give the rows in store order; without states those that hold messages."""
    which = states or tuple(state for state in State if state is not State.NACKED)
    return [row async for row in store.desk.rows(RowFilter(states=which))]


async def bytes_of(store: SqliteStore, row: Row) -> bytes:
    """Give the stored bytes of a row."""
    stored = await store.desk.stored(row.row)
    assert stored is not None
    assert stored.original is not None
    return stored.original


@dataclass
class Scene:
    """A listener on a real store, in the middle of a case."""

    stage: Stage
    store: SqliteStore

    async def sender(self) -> Sender:
        return await self.stage.sender()

    async def rows(self) -> list[Row]:
        return await rows_of(self.store)

    async def refused(self) -> list[Row]:
        return await rows_of(self.store, State.NACKED)

    async def stored(self) -> list[bytes]:
        """Give the bytes of every message stored, in store order."""
        return [await bytes_of(self.store, row) for row in await self.rows()]


@asynccontextmanager
async def scene(folder: Path, options: ChannelOptions | None = None) -> AsyncIterator[Scene]:
    """Play a case; at its end another connection must still be served and nothing of a message be in the log."""
    async with opened(folder) as store, listening(store.intake, options) as stage:
        yield Scene(stage=stage, store=store)
        if stage.listener.is_serving:
            bystander = await stage.sender()
            assert msa(await bystander.ask(m("BYSTANDER")))[1] == b"BYSTANDER"
        noted = repr((stage.notes.events, [note["kind"] for note in stage.notes.anomalies]))
        for content in ("ANNA", "SNDAPP", "HOSP", "20260101120000", "BYSTANDER"):
            assert content not in noted
