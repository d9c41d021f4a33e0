"""Room on the disk: intake closes early, settles go on, and it opens again by itself."""

import asyncio
from pathlib import Path

import apsw
import pytest

from gateway.errors import Unavailable
from gateway.model.delivery import Taken
from gateway.model.ids import RowId
from gateway.store.sqlite import filesystem
from gateway.store.sqlite.engine import SqliteStore
from gateway.store.sqlite.statements import ask
from tests.store.samples import ADT, GROUP, PARK, TTL, ManualClock, Notes, offer, refusal, seal, sending, settled
from tests.store.stage import opened

PLENTY = 1 << 40


class Disk:
    """How much room the file system says there is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free = PLENTY
        self.looks = 0
        self.is_broken = False
        monkeypatch.setattr(filesystem, "free_bytes", self._free)

    def _free(self, _: Path) -> int:
        self.looks += 1
        if self.is_broken:
            raise OSError(5, "Input/output error")
        return self.free


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def _until(store: SqliteStore, closed: str | None) -> None:
    """Wait for the gate, which the writer thread moves."""
    async with asyncio.timeout(10):
        while store.intake.closed_because != closed:
            await store._writer.submit(lambda _: None)


async def test_low_space_closes_intake_and_known_retransmits_are_still_answered(
    tmp_path: Path, clock: ManualClock, notes: Notes, disk: Disk
) -> None:
    store = await opened(tmp_path / "queue.db", clock, notes, low_space=1_000)
    first = await store.intake.accept(offer("A1"), seal)
    await store.intake.accept(offer("A2"), seal)
    disk.free = 999
    clock.forward(10)
    await _until(store, "low-space")
    with pytest.raises(Unavailable, match="low-space"):
        await store.intake.accept(offer("A3"), seal)
    with pytest.raises(Unavailable, match="low-space"):
        await store.intake.refuse(refusal())
    again = await store.intake.accept(offer("A1"), seal)
    assert (again.replayed, again.answer) == (True, first.answer)
    with pytest.raises(Unavailable):
        await store.intake.accept(offer("A1", text="other"), seal)
    taken = await store.leases.take(GROUP, holder="one", ttl=TTL, channels={ADT: PARK}, now=clock())
    assert isinstance(taken, Taken), "dispatch goes on"
    disk.free = 1_000
    clock.forward(10)
    await _until(store, None)
    assert (await store.intake.accept(offer("A3"), seal)).row == 3
    assert [facts for name, facts in notes.events if name == "intake-closed"] == [{"reason": "low-space"}]
    assert notes.names().count("intake-opened") == 1
    await store.close()


async def test_a_store_on_a_nearly_full_disk_opens_closed(tmp_path: Path, clock: ManualClock, disk: Disk) -> None:
    disk.free = 10
    store = await opened(tmp_path / "queue.db", clock, low_space=1_000, ballast=4096)
    assert store.intake.closed_because == "low-space"
    assert not Path(tmp_path / "queue.db-ballast").exists()
    await store.close()


async def test_a_disk_that_cannot_be_looked_at_is_not_trusted(tmp_path: Path, clock: ManualClock, disk: Disk) -> None:
    store = await opened(tmp_path / "queue.db", clock, low_space=1)
    disk.is_broken = True
    clock.forward(10)
    await _until(store, "low-space")
    await store.close()


async def test_the_disk_is_looked_at_now_and_then_not_for_every_message(
    tmp_path: Path, clock: ManualClock, disk: Disk
) -> None:
    store = await opened(tmp_path / "queue.db", clock, low_space=1)
    looks = disk.looks
    for number in range(30):
        await store.intake.accept(offer(f"A{number}"), seal)
    assert disk.looks == looks
    await store.close()


async def _fill_up(store: SqliteStore) -> None:
    def shrink(db: apsw.Connection) -> None:
        pages = int(ask(db, "PRAGMA page_count")[0][0])
        db.execute(f"PRAGMA max_page_count = {pages}")

    await store._writer.submit(shrink)
    with pytest.raises(Unavailable, match="full"):
        await store.intake.accept(offer("BIG", size=500_000), seal)


async def _make_room(store: SqliteStore) -> None:
    await store._writer.submit(lambda db: db.execute("PRAGMA max_page_count = 1000000"))


async def test_full_gives_up_the_ballast_and_settles_go_on_and_intake_reopens_by_itself(
    tmp_path: Path, clock: ManualClock, notes: Notes
) -> None:
    ballast = tmp_path / "queue.db-ballast"
    store = await opened(tmp_path / "queue.db", clock, notes, ballast=1 << 20)
    assert ballast.stat().st_blocks * 512 >= 1 << 20, "reserved for real"
    taken = await store.leases.take(GROUP, holder="one", ttl=TTL, channels={ADT: PARK}, now=clock())
    assert isinstance(taken, Taken)
    row = (await store.intake.accept(offer("A1"), seal)).row
    await store.outbox.claim(taken.term, sending(row), clock())
    await store.outbox.mark_sent(taken.term, row, clock())
    await _fill_up(store)
    assert store.intake.closed_because == "full"
    assert not ballast.exists()
    with pytest.raises(Unavailable, match="full"):
        await store.intake.accept(offer("A2"), seal)
    assert (await store.intake.accept(offer("A1"), seal)).row == row
    done = await store.outbox.advance(taken.term, settled(row), None, clock())
    assert done.settled
    clock.forward(10)
    await store._writer.submit(lambda _: None)
    await store._writer.submit(lambda _: None)
    assert store.intake.closed_because == "full", "a trial write still finds no room"
    await _make_room(store)
    clock.forward(10)
    await _until(store, None)
    assert ballast.stat().st_size == 1 << 20
    assert (await store.intake.accept(offer("BIG", size=500_000), seal)).row == RowId(2)
    assert [finding async for finding in store.desk.verify()] == []
    await store.close()


async def test_intake_reopens_without_any_traffic(tmp_path: Path, clock: ManualClock) -> None:
    store = await opened(tmp_path / "queue.db", clock)
    await _fill_up(store)
    await _make_room(store)
    clock.forward(10)
    async with asyncio.timeout(10):
        while store.intake.closed_because is not None:
            await store.desk.leases(clock())
    await store.close()


async def test_room_counts_only_above_the_floor(tmp_path: Path, clock: ManualClock, disk: Disk) -> None:
    store = await opened(tmp_path / "queue.db", clock, low_space=1_000)
    await _fill_up(store)
    disk.free = 999
    await _make_room(store)
    for _ in range(3):
        clock.forward(10)
        await store._writer.submit(lambda _: None)
    assert store.intake.closed_because == "full"
    disk.free = PLENTY
    clock.forward(10)
    await _until(store, None)
    await store.close()


async def test_ballast_that_cannot_be_laid_leaves_no_file(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", no_room)
    store = await opened(tmp_path / "queue.db", clock, ballast=1 << 20)
    assert not (tmp_path / "queue.db-ballast").exists()
    await store.close()


async def test_free_bytes_are_those_of_the_file_system(tmp_path: Path) -> None:
    assert filesystem.free_bytes(tmp_path) > 0
