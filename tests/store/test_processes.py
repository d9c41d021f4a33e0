"""Two real processes on one file, and processes that are killed."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.model.delivery import Held, Taken
from gateway.model.ids import RowId
from gateway.model.review import RowFilter
from gateway.store.sqlite.engine import SqliteStore
from tests.store.samples import ADT, GROUP, PARK, TTL, ManualClock, offer, seal
from tests.store.stage import opened

REPOSITORY = Path(__file__).parents[2]


class Child:
    """One running second process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(30):
            return json.loads(await self.process.stdout.readline())  # type: ignore[no-any-return]  # one JSON object

    async def hear_all(self) -> list[dict[str, Any]]:
        """Listen until the process is gone."""
        async with asyncio.timeout(30):
            out, _ = await self.process.communicate()
        return [json.loads(line) for line in out.splitlines()]

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"go on\n")


Spawn = Callable[..., Any]


@pytest.fixture
async def spawn(tmp_path: Path) -> AsyncIterator[Spawn]:
    children: list[Child] = []

    async def start(role: str, *numbers: int) -> Child:
        pipe = asyncio.subprocess.PIPE
        command = [sys.executable, "-m", "tests.store.child", role, str(tmp_path / "queue.db"), *map(str, numbers)]
        child = Child(await asyncio.create_subprocess_exec(*command, cwd=REPOSITORY, stdin=pipe, stdout=pipe))
        children.append(child)
        return child

    yield start
    for child in children:
        if child.process.returncode is None:
            child.process.kill()
            await child.process.communicate()


async def _sound(store: SqliteStore) -> None:
    assert [finding async for finding in store.desk.verify()] == []


async def test_another_process_takes_part_in_intake_without_a_gap_or_a_double(
    tmp_path: Path, clock: ManualClock, spawn: Spawn
) -> None:
    store = await opened(tmp_path / "queue.db", clock)
    counter = (await store.intake.accept(offer("A0", stamped=True), seal)).row
    assert counter == 1
    seen = (await store.outbox.changed(ADT, 0)).counter
    child = await spawn("accept", 0, 4)
    said = await child.hear_all()
    assert [(each["sequence"], each["replayed"]) for each in said] == [(1, True), (2, False), (3, False), (4, False)]
    async with asyncio.timeout(10):
        while len(await store.outbox.heads(ADT, after=RowId(0), limit=9)) < 4:
            seen = (await store.outbox.changed(ADT, seen)).counter
    assert (await store.intake.accept(offer("A9", stamped=True), seal)).sequence == 5
    await _sound(store)
    await store.close()


async def test_two_processes_flooded_with_the_same_messages_give_every_message_one_row_and_one_answer(
    tmp_path: Path, clock: ManualClock, spawn: Spawn
) -> None:
    store = await opened(tmp_path / "queue.db", clock)
    child = await spawn("flood")
    await child.hear()
    child.tell()
    waiting = [store.intake.accept(offer(f"A{number}", stamped=True), seal) for number in range(100)]
    receipts = [await each for each in waiting]
    said = await child.hear()
    assert said["answers"] == [receipt.answer.decode() for receipt in receipts]
    assert said["new"] + sum(not receipt.replayed for receipt in receipts) == 100
    rows = [row async for row in store.desk.rows(RowFilter())]
    assert len(rows) == 100
    assert sorted(row.sequence or 0 for row in rows) == list(range(1, 101))
    await _sound(store)
    await store.close()


async def test_a_command_of_an_operator_is_noticed_by_the_gateway(
    tmp_path: Path, clock: ManualClock, spawn: Spawn
) -> None:
    store = await opened(tmp_path / "queue.db", clock)
    row = (await store.intake.accept(offer("A1"), seal)).row
    change = await store.outbox.changed(ADT, 0)
    await (await spawn("discard", row)).hear_all()
    async with asyncio.timeout(10):
        while not change.reload:
            change = await store.outbox.changed(ADT, change.counter)
    assert await store.outbox.head(row) is None
    await store.close()


@pytest.mark.parametrize("survive", [0, 3])
async def test_a_kill_inside_the_transaction_leaves_what_was_answered_and_nothing_else(
    tmp_path: Path, clock: ManualClock, spawn: Spawn, survive: int
) -> None:
    child = await spawn("die-inside", survive)
    said = await child.hear_all()
    assert child.process.returncode == -signal.SIGKILL
    assert len(said) == survive
    store = await opened(tmp_path / "queue.db", clock)
    assert [row.row async for row in store.desk.rows(RowFilter())] == [each["row"] for each in said]
    again = await store.intake.accept(offer(f"A{survive}", stamped=True), seal)
    assert (again.replayed, again.sequence) == (False, survive + 1)
    await _sound(store)
    await store.close()


async def test_a_kill_after_the_commit_leaves_every_row_and_replays_its_answer(
    tmp_path: Path, clock: ManualClock, spawn: Spawn
) -> None:
    child = await spawn("die-after", 5)
    said = await child.hear_all()
    assert child.process.returncode == -signal.SIGKILL
    assert len(said) == 5
    store = await opened(tmp_path / "queue.db", clock)
    for number in range(5):
        again = await store.intake.accept(offer(f"A{number}", stamped=True), seal)
        assert (again.replayed, again.answer) == (True, f"MSA|new|{number + 1}".encode())
    await _sound(store)
    await store.close()


async def test_a_killed_leader_is_followed_once_its_lease_has_run_out(
    tmp_path: Path, clock: ManualClock, spawn: Spawn
) -> None:
    child = await spawn("lead")
    said = await child.hear()
    child.process.kill()
    await child.hear_all()
    store = await opened(tmp_path / "queue.db", clock)
    held = await store.leases.take(GROUP, holder="here", ttl=TTL, channels={ADT: PARK}, now=clock())
    assert isinstance(held, Held)
    assert (held.holder, held.expires_in) == ("child", TTL)
    clock.forward(TTL)
    taken = await store.leases.take(GROUP, holder="here", ttl=TTL, channels={ADT: PARK}, now=clock())
    assert isinstance(taken, Taken)
    assert (taken.term.epoch, taken.held) == (said["epoch"] + 1, 1)
    await _sound(store)
    await store.close()


async def test_a_frozen_leader_that_wakes_up_changes_nothing(tmp_path: Path, clock: ManualClock, spawn: Spawn) -> None:
    store = await opened(tmp_path / "queue.db", clock)
    child = await spawn("lead")
    said = await child.hear()
    child.process.send_signal(signal.SIGSTOP)
    clock.forward(TTL)
    taken = await store.leases.take(GROUP, holder="here", ttl=TTL, channels={ADT: PARK}, now=clock())
    assert isinstance(taken, Taken)
    before = [(row.row, row.state) async for row in store.desk.rows(RowFilter())]
    child.process.send_signal(signal.SIGCONT)
    child.tell()
    assert await child.hear() == {"error": "StaleEpoch", "aborts": 0}
    assert [(row.row, row.state) async for row in store.desk.rows(RowFilter())] == before
    assert before == [(said["row"], "failed"), (said["row"] + 1, "queued")]
    await _sound(store)
    await store.close()
