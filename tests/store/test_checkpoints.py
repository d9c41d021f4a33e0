"""The write-ahead log: copied back in small steps, begun anew when idle, cut when it outgrew its bound."""

import asyncio
from pathlib import Path

import apsw
import pytest

from gateway.store.sqlite import checkpoints
from gateway.store.sqlite.engine import SqliteStore
from tests.store.samples import ManualClock, offer, seal
from tests.store.stage import opened


async def _accept(store: SqliteStore, first: int, count: int, size: int = 0) -> None:
    for number in range(first, first + count):
        await store.intake.accept(offer(f"A{number}", size=size), seal)


async def test_the_log_stays_small_under_traffic(tmp_path: Path, clock: ManualClock) -> None:
    store = await opened(tmp_path / "queue.db", clock, autocheckpoint=50)
    await _accept(store, 0, 30, size=40_000)
    log = Path(f"{tmp_path / 'queue.db'}-wal")
    assert log.stat().st_size < 120 * 4_200, "1.2 MB went through it"
    await store.close()


async def test_a_reader_in_the_log_delays_the_checkpoint_and_breaks_nothing(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    store = await opened(path, clock, autocheckpoint=10)
    await _accept(store, 0, 5)
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN")
    held = reader.execute("SELECT count(*) FROM messages").fetchall()
    await _accept(store, 5, 30)
    clock.forward(2_000)
    await store._writer.submit(lambda _: None)
    assert held == reader.execute("SELECT count(*) FROM messages").fetchall() == [(5,)]
    reader.execute("COMMIT")
    reader.close()
    await _accept(store, 35, 5)
    assert [finding async for finding in store.desk.verify()] == []
    await store.close()


async def _idle(store: SqliteStore, clock: ManualClock) -> None:
    """Let the writer find nothing to do, twice, more than a second apart on its clock."""
    async with asyncio.timeout(10):
        while store._writer._checkpoints.is_owed:
            clock.forward(600)
            await store.desk.leases(clock())


async def test_everything_is_copied_back_when_idle(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    store = await opened(path, clock)
    await _accept(store, 0, 20)
    assert _in_the_file_alone(path) == 0
    await _idle(store, clock)
    assert _in_the_file_alone(path) == 20
    await store.close()


def _in_the_file_alone(path: Path) -> int:
    """Count the rows in the database file without its log."""
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    db = apsw.Connection(str(copy))
    [(count,)] = db.execute("SELECT count(*) FROM messages").fetchall()
    db.close()
    return int(str(count))


async def test_a_log_over_its_bound_is_cut_when_idle(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "log_bound", lambda _: 100_000)
    path = tmp_path / "queue.db"
    store = await opened(path, clock, autocheckpoint=100_000)
    await _accept(store, 0, 3, size=100_000)
    log = Path(f"{path}-wal")
    assert log.stat().st_size > 100_000
    await _idle(store, clock)
    assert log.stat().st_size == 0
    await store.close()


async def test_an_idle_checkpoint_waits_for_a_reader_until_another_time(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    store = await opened(path, clock)
    await _accept(store, 0, 5)
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM messages").fetchall()
    await _accept(store, 5, 5)
    tries = 0
    plain = checkpoints.Checkpoints._idle_mode

    def counted(each: checkpoints.Checkpoints) -> int:
        nonlocal tries
        tries += 1
        return plain(each)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints.Checkpoints, "_idle_mode", counted)
        async with asyncio.timeout(10):
            while tries < 2:
                clock.forward(600)
                await store.desk.leases(clock())
    assert store._writer._checkpoints.is_owed
    reader.execute("COMMIT")
    reader.close()
    await _idle(store, clock)
    assert store._writer.failed is None
    await store.close()
