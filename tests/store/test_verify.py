"""Verification finds every kind of harm, names the row, and shows no content."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw
import pytest

from gateway.errors import StoreFailed
from gateway.model.delivery import Taken
from gateway.store.sqlite.engine import SqliteStore
from gateway.store.sqlite.statements import ask
from tests.store.samples import (
    ADT,
    GROUP,
    HOLD_AND_HALT,
    PARK,
    TTL,
    ManualClock,
    offer,
    refusal,
    seal,
    sending,
    settled,
)
from tests.store.stage import opened

Harm = Callable[[str], Awaitable[list[tuple[str, int | None]]]]


async def _live_a_little(store: SqliteStore, clock: ManualClock) -> None:
    """Rows 1 processed, 2 failed and halting, 3 queued, 4 nacked, 5 discarded; numbers 1 to 4."""
    taken = await store.leases.take(GROUP, holder="one", ttl=TTL, channels={ADT: PARK}, now=clock())
    assert isinstance(taken, Taken)
    for control_id in ("A1", "A2", "A3"):
        await store.intake.accept(offer(control_id, stamped=True), seal)
    await store.intake.refuse(refusal())
    last = (await store.intake.accept(offer("A5", stamped=True, partition="p"), seal)).row
    one, two = 1, 2
    await store.outbox.claim(taken.term, sending(one), clock())  # type: ignore[arg-type]  # a row number
    await store.outbox.mark_sent(taken.term, one, clock())  # type: ignore[arg-type]  # a row number
    await store.outbox.advance(taken.term, settled(one), sending(two), clock())  # type: ignore[arg-type]  # row numbers
    await store.outbox.advance(taken.term, settled(two, HOLD_AND_HALT), None, clock())  # type: ignore[arg-type]  # a row number
    await store.desk.discard(last, who="ann", why="test", forget=False, now=clock())


@pytest.fixture
def harm(tmp_path: Path, clock: ManualClock) -> Harm:
    async def do(sql: str) -> list[tuple[str, int | None]]:
        path = tmp_path / "queue.db"
        store = await opened(path, clock)
        await _live_a_little(store, clock)
        assert [finding async for finding in store.desk.verify()] == []
        await store.close()
        db = apsw.Connection(str(path))
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute(sql)
        db.close()
        desk = await opened(path, clock, role="desk", migrate=False)
        findings = [finding async for finding in desk.desk.verify()]
        await desk.close()
        assert not any("ADT" in finding.text or "NTE" in finding.text for finding in findings)
        return [(finding.kind, finding.row) for finding in findings]

    return do


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("UPDATE contents SET original = x'4d5348' WHERE row = 1", [("hash-mismatch", 1)]),
        ("UPDATE messages SET size = size + 1 WHERE id = 3", [("hash-mismatch", 3)]),
        ("UPDATE contents SET original = NULL WHERE row = 3", [("content-missing", 3)]),
        ("UPDATE contents SET original = NULL WHERE row = 1", []),
        ("DELETE FROM contents WHERE row = 2", [("content-missing", 2)]),
        ("DELETE FROM fingerprints WHERE row = 1", [("fingerprint-missing", 1)]),
        ("UPDATE fingerprints SET row = 3 WHERE row = 1", [("fingerprint-stray", 3)]),
        ("UPDATE fingerprints SET row = 1 WHERE row = 3", [("fingerprint-missing", 3), ("fingerprint-stray", 1)]),
        ("UPDATE messages SET sequence = 9 WHERE id = 2", [("sequence-gap", 2), ("sequence-gap", 3)]),
        ("UPDATE messages SET sequence = NULL WHERE id = 2", [("sequence-gap", 3)]),
        ("UPDATE sequences SET last = 9", [("sequence-gap", None)]),
        ("DELETE FROM events WHERE row = 3", [("event-missing", 3)]),
        ("DELETE FROM events WHERE row = 1 AND kind = 'sent'", [("illegal-transition", 1)]),
        ("DELETE FROM events WHERE row = 1 AND kind = 'claimed'", [("illegal-transition", 1)]),
        ("UPDATE events SET from_state = 'failed' WHERE row = 1 AND kind = 'sent'", [("event-mismatch", 1)]),
        ("UPDATE messages SET sends = 2 WHERE id = 1", [("event-missing", 1)]),
        ("UPDATE messages SET generation = 1 WHERE id = 1", [("event-missing", 1)]),
        ("UPDATE tallies SET n = n + 1", [("tally-mismatch", None)]),
        (
            "UPDATE messages SET state = 'processed', error_code = NULL WHERE id = 2",
            [("event-missing", 2), ("tally-mismatch", None), ("halt-stray", 2)],
        ),
        ("PRAGMA foreign_keys = OFF; UPDATE halts SET channel_id = 77", [("dangling", None)]),
    ],
)
async def test_every_kind_of_harm_is_found(harm: Harm, sql: str, found: list[tuple[str, int | None]]) -> None:
    assert await harm(sql) == found


def _ruin(path: Path, index: str) -> None:
    """Write noise over the middle of an index's first page."""
    db = apsw.Connection(str(path))
    [(page,)] = ask(db, "SELECT rootpage FROM sqlite_schema WHERE name = ?", (index,))
    db.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096 + 100)
        file.write(os.urandom(3000))


async def test_a_damaged_file_is_found(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    store = await opened(path, clock)
    for number in range(300):
        await store.intake.accept(offer(f"A{number}"), seal)
    await store.close()
    _ruin(path, "messages_live")
    desk = await opened(path, clock, role="desk", migrate=False)
    kinds = [finding.kind async for finding in desk.desk.verify()]
    assert "damaged" in kinds
    await desk.close()


async def test_damage_that_nobody_touches_is_found_in_the_background_and_closes_the_gate(
    tmp_path: Path, clock: ManualClock
) -> None:
    path = tmp_path / "queue.db"
    store = await opened(path, clock)
    for number in range(300):
        await store.intake.accept(offer(f"A{number}"), seal)
    await store.close()
    _ruin(path, "events_row")
    store = await opened(path, clock)
    async with asyncio.timeout(10):
        failure = await store.failure()
    assert "quick_check" in failure.reason or "CorruptError" in failure.reason
    with pytest.raises(StoreFailed):
        await store.intake.accept(offer("A0"), seal)
    await store.close()


async def test_a_sound_store_passes_its_own_check(tmp_path: Path, clock: ManualClock) -> None:
    store = await opened(tmp_path / "queue.db", clock)
    await store.intake.accept(offer("A1"), seal)
    assert store._inspection._task is not None
    async with asyncio.timeout(10):
        await asyncio.wait([store._inspection._task])
    assert store._inspection._task.exception() is None
    assert store.intake.closed_because is None
    await store.close()


async def test_many_rows_are_read_by_pages(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    store = await opened(path, clock)
    waiting = [store.intake.accept(offer(f"A{number}", stamped=True), seal) for number in range(450)]
    for each in waiting:
        await each
    assert [finding async for finding in store.desk.verify()] == []
    await store._writer.submit(lambda db: db.execute("DROP TRIGGER messages_identity"))
    await store._writer.submit(lambda db: db.execute("UPDATE messages SET sequence = 1000 WHERE id = 401"))
    assert [(f.kind, f.row) async for f in store.desk.verify()] == [("sequence-gap", 401), ("sequence-gap", 402)]
    await store.close()
