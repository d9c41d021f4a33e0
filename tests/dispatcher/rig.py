"""A dispatcher with everything real around it: the SQLite store, the link, and the bundled server over a WebSocket."""

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from gateway.app import world
from gateway.dispatcher.options import ChannelDelivery, DispatchOptions
from gateway.dispatcher.supervisor import Doors, Supervisor, World
from gateway.model.ids import ChannelName, ControlId, RowId
from gateway.model.intake import Offer, Receipt
from gateway.model.policy import DeliveryPolicy, OnCollision, OutcomePolicy, RetryPolicy
from gateway.model.review import EventRow, Row, RowFilter
from gateway.model.states import AnswerState, State
from gateway.ports.clock import pass_by
from gateway.ports.observe import Fact
from gateway.receiver.options import ReceiverOptions
from gateway.receiver.script import Fault, Script
from gateway.receiver.server import Receiver
from gateway.store.options import StoreOptions
from gateway.store.sqlite.engine import SqliteStore, open_store
from gateway.upstream.link import WebSocketLink
from gateway.upstream.options import LinkOptions
from tests.waiting import until, until_async

CHANNEL = ChannelName("adt")
GROUP = "main"
QUICK = RetryPolicy(initial=20, max=40, jitter=False, attempts=3)
LIVE = frozenset({State.QUEUED, State.CLAIMED, State.INFLIGHT})
PATIENCE = 15.0


@dataclass
class Notes:
    """Remembers events."""

    seen: list[tuple[str, dict[str, Fact]]] = field(default_factory=list)

    def event(self, name: str, /, **facts: Fact) -> None:
        self.seen.append((name, facts))

    def anomaly(self, **facts: object) -> None:
        raise AssertionError("a dispatcher meets no frames")

    def named(self, name: str) -> list[dict[str, Fact]]:
        return [facts for seen, facts in self.seen if seen == name]


def policy(
    *,
    retry: RetryPolicy = QUICK,
    outcome: OutcomePolicy | None = None,
    max_inflight: int = 1,
    response_timeout: int = 5_000,
) -> DeliveryPolicy:
    return DeliveryPolicy(
        retry=retry,
        outcome=outcome or OutcomePolicy(),
        max_inflight=max_inflight,
        response_timeout=response_timeout,
    )


@dataclass(kw_only=True)
class Rig:
    """One store, one server, any number of dispatchers."""

    store: SqliteStore
    receiver: Receiver
    notes: Notes = field(default_factory=Notes)
    tasks: list["asyncio.Task[None]"] = field(default_factory=list)

    async def offer(
        self, control_id: str, *, partition: str = "", barrier: bool = False, owed: bool = False, text: str = ""
    ) -> Receipt:
        """Store one message as a listener does."""
        original = (
            f"MSH|^~\\&|SND|FAC|RCV|FAC|20260101120000||ADT^A01^ADT_A01|{control_id}|P|2.5.1\r"
            f"PID|1||{partition}||TEST^ANNA{text}\r"
        ).encode()
        digest = hashlib.sha256(original).digest()
        offer = Offer(
            channel=CHANNEL,
            control_id=ControlId(control_id.encode()),
            key=hashlib.sha256(control_id.encode()).digest()[:16],
            original=original,
            sha256=digest,
            message_type="ADT^A01",
            sender="SND|FAC",
            version="2.5.1",
            inbound_sequence="",
            declared_charset="",
            encoding="utf-8",
            flags=(),
            partition=partition,
            barrier=barrier,
            stamped=True,
            answer=AnswerState.PENDING if owed else AnswerState.NOT_OWED,
            on_collision=OnCollision.REJECT,
            remote="127.0.0.1:1",
            received_at=world.clock().wall,
        )
        return await self.store.intake.accept(offer, lambda _admission, _number: b"ACK")

    async def offer_all(self, control_ids: Sequence[str]) -> None:
        """Store several messages in this order, in as few commits as the store likes."""
        await asyncio.gather(*(self.offer(each) for each in control_ids))

    def start(
        self,
        delivery: DeliveryPolicy | None = None,
        *,
        ttl: int = 15_000,
        page: int = 256,
        window: int = 10_000,
        clock: Callable[[], object] | None = None,
        url: str | None = None,
    ) -> Supervisor:
        """Start a dispatcher; it ends with the rig."""
        delivery = delivery or policy()
        chance = random.Random(7)
        link = WebSocketLink(
            LinkOptions(
                name=GROUP,
                url=url or self.receiver.url,
                agent_id="demo",
                response_timeout=delivery.response_timeout / 1_000,
                reconnect_initial=0.02,
                reconnect_max=0.05,
                status_timeout=2.0,
            ),
            observer=self.notes,
            clock=world.clock,
            roll=chance.random,
        )
        supervisor = Supervisor(
            DispatchOptions(
                group=GROUP,
                agent_id="demo",
                holder=world.holder(None),
                ttl=ttl,
                channels=(ChannelDelivery(name=CHANNEL, policy=delivery),),
                page=page,
                window=window,
                status_every=0.05,
            ),
            doors=Doors(
                outbox=self.store.outbox,
                leases=self.store.leases,
                link=link,
                store_id=self.store.desk.store_id,
                find_row=self.store.desk.row,
            ),
            world=World(
                clock=world.clock,
                roll=chance.random,
                new_id=world.answer_ids(),
                observer=self.notes,
                passing=pass_by,
            ),
        )
        self.tasks.append(asyncio.create_task(supervisor.run()))
        return supervisor

    async def stop(self) -> None:
        """End every dispatcher at once, as a cancelled process does."""
        for task in self.tasks:
            task.cancel()
        for task in self.tasks:
            with suppress(asyncio.CancelledError):
                await task
        self.tasks.clear()

    async def rows(self) -> list[Row]:
        """Give every row in store order."""
        return [row async for row in self.store.desk.rows(RowFilter())]

    async def row(self, number: int) -> Row:
        """Give one row."""
        row = await self.store.desk.row(RowId(number))
        assert row is not None
        return row

    async def states(self) -> list[str]:
        """Give every row's state in store order."""
        return [row.state.value for row in await self.rows()]

    async def settled(self) -> list[Row]:
        """Wait until nothing waits, and give the rows."""

        async def is_settled() -> bool:
            return not any(row.state in LIVE for row in await self.rows())

        await until_async(is_settled, patience=PATIENCE)
        return await self.rows()

    async def reaches(self, number: int, **wanted: object) -> Row:
        """Wait until a row has these values."""

        async def has() -> bool:
            row = await self.row(number)
            return all(getattr(row, name) == value for name, value in wanted.items())

        await until_async(has, patience=PATIENCE)
        return await self.row(number)

    async def events(self, number: int) -> list[EventRow]:
        """Give one row's events."""
        return list(await self.store.desk.events(row=RowId(number), after=0, limit=1_000))

    async def kinds(self, number: int) -> list[str]:
        """Give the kinds of one row's events."""
        return [event.kind for event in await self.events(number)]

    def taken(self) -> list[str]:
        """Give the control ids the server took, in order."""
        return [str(taken.control_id) for taken in self.receiver.taken]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something of this process."""
        await until(holds, patience=PATIENCE)


@asynccontextmanager
async def rig(
    folder: Path, *, faults: Mapping[str, Sequence[Fault] | Fault] | None = None, plain: bool = False
) -> AsyncIterator[Rig]:
    """Make a rig; everything in it ends with the block."""
    receiver = Receiver(ReceiverOptions(script=Script(faults), plain=plain))
    await receiver.start()
    notes = Notes()
    store = await open_store(
        folder / "queue.db",
        clock=world.clock,
        observer=notes,
        options=StoreOptions(low_space=0, ballast=4096, wal_grow=0),
        random=world.entropy,
    )
    await store.register({CHANNEL: GROUP})
    made = Rig(store=store, receiver=receiver, notes=notes)
    try:
        yield made
    finally:
        await made.stop()
        await store.close()
        await receiver.stop()
