"""What a lane does when the world moves between its steps: real store, a link that does as told."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from gateway.app import world
from gateway.dispatcher.options import ChannelDelivery, DispatchOptions
from gateway.dispatcher.supervisor import Doors, Supervisor, World
from gateway.errors import NotLive
from gateway.model.ids import RowId
from gateway.model.upstream import Answer, Callback, Granted, Outcome, StatusResult, StrayAnswer, Transmit
from gateway.ports.clock import pass_by
from tests.dispatcher.rig import CHANNEL, GROUP, Rig, policy, rig


def accepted() -> Answer:
    return Answer(status=200, body=None, begins_msh=False, msa=None, retry_after=None)


class StubConnection:
    """A connection whose every step can be told what to do."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.granted = Granted()
        self.is_live = True
        self.is_prepared = True
        self.sent: list[Transmit] = []
        self.on_prepare: Callable[[], None] = lambda: None
        self.on_transmit: Callable[[], None] = lambda: None

    @property
    def in_flight(self) -> int:
        return 0

    async def prepare(self) -> None:
        self.on_prepare()

    def transmit(self, request: Transmit) -> "asyncio.Future[Outcome]":
        self.on_transmit()
        self.sent.append(request)
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        future.set_result(accepted())
        return future

    async def status(self, callbacks: Sequence[Callback]) -> Sequence[StatusResult] | None:
        return None


class StubLink:
    """Gives the connections put into it, one after the other."""

    def __init__(self) -> None:
        self.connections: list[StubConnection] = []
        self.grown = asyncio.Condition()
        self.state = "live"
        self.last_error = None
        self.closed = 0

    async def add(self) -> StubConnection:
        made = StubConnection(len(self.connections) + 1)
        async with self.grown:
            self.connections.append(made)
            self.grown.notify_all()
        return made

    async def open(self, *, epoch: int) -> None:
        return

    async def close(self) -> None:
        self.closed += 1

    async def live(self, *, after: int = 0) -> StubConnection:
        async with self.grown:
            await self.grown.wait_for(lambda: len(self.connections) > after)
        return self.connections[-1]

    async def stray(self) -> StrayAnswer:
        await asyncio.Event().wait()
        raise AssertionError

    async def receipt(self) -> Callback:
        await asyncio.Event().wait()
        raise AssertionError


@asynccontextmanager
async def staged(folder: Path) -> AsyncIterator[tuple[Rig, StubLink]]:
    """A dispatcher on a real store with a link that does as told."""
    async with rig(folder) as site:
        link = StubLink()
        supervisor = Supervisor(
            DispatchOptions(
                group=GROUP,
                agent_id="demo",
                holder="me",
                ttl=15_000,
                channels=(ChannelDelivery(name=CHANNEL, policy=policy()),),
            ),
            doors=Doors(
                outbox=site.store.outbox,
                leases=site.store.leases,
                link=link,
                store_id=site.store.desk.store_id,
                find_row=site.store.desk.row,
            ),
            world=World(
                clock=world.clock,
                roll=lambda: 0.0,
                new_id=world.answer_ids(),
                observer=site.notes,
                passing=pass_by,
            ),
        )
        task = asyncio.create_task(supervisor.run())
        try:
            yield site, link
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        assert link.closed == 1


def refuse(connection: StubConnection) -> Callable[[], None]:
    """Make a step that finds the connection gone."""

    def gone() -> None:
        connection.is_live = False
        raise NotLive("gone")

    return gone


def quietly(connection: StubConnection) -> Callable[[], None]:
    """Make a step after which the connection is gone."""

    def gone() -> None:
        connection.is_live = False

    return gone


async def test_a_link_lost_while_the_token_is_refreshed_costs_nothing(tmp_path: Path) -> None:
    async with staged(tmp_path) as (site, link):
        first = await link.add()
        first.on_prepare = refuse(first)
        await site.offer("A")
        await site.until(lambda: not first.is_live)
        await link.add()
        await site.settled()
        assert (await site.row(1)).sends == 1


async def test_a_link_lost_before_the_mark_gives_the_claim_back(tmp_path: Path) -> None:
    async with staged(tmp_path) as (site, link):
        first = await link.add()
        first.on_prepare = quietly(first)
        await site.offer("A")
        await site.until(lambda: not first.is_live)
        await link.add()
        await site.settled()
        kinds = await site.kinds(1)
        assert kinds[:3] == ["accepted", "claimed", "released"]
        assert kinds[-3:] == ["claimed", "sent", "accepted"]
        assert first.sent == []


async def test_a_write_that_provably_did_not_happen_is_made_again_by_itself(tmp_path: Path) -> None:
    async with staged(tmp_path) as (site, link):
        first = await link.add()
        first.on_transmit = refuse(first)
        await site.offer_all(["A", "B"])
        await site.until(lambda: not first.is_live)
        second = await link.add()
        await site.settled()
        assert await site.states() == ["processed", "processed"]
        row = await site.row(1)
        assert (row.sends, row.attempts, row.link_losses) == (2, 0, 0)
        assert [request.callback.send for request in second.sent] == [2, 1]


async def test_no_row_follows_in_the_same_commit_while_a_token_has_to_be_refreshed(tmp_path: Path) -> None:
    async with staged(tmp_path) as (site, link):
        first = await link.add()
        first.is_prepared = False
        await site.offer_all(["A", "B"])
        await site.settled()
        assert [request.callback.send for request in first.sent] == [1, 1]


async def test_a_row_that_moved_behind_the_leader_s_back_is_planned_afresh(tmp_path: Path) -> None:
    async with staged(tmp_path) as (site, link):
        await site.offer_all(["A", "B"])
        first = await link.add()

        async def discard() -> None:
            await site.store.desk.discard(RowId(2), who="anna", why="by hand", forget=False, now=world.clock())

        meddled: list[asyncio.Future[None]] = []

        def meddle() -> None:
            if not first.sent:
                meddled.append(asyncio.ensure_future(discard()))

        first.on_transmit = meddle
        await site.settled()
        assert (await site.states())[0] == "processed"
        assert len(first.sent) + (await site.states()).count("discarded") == 2
