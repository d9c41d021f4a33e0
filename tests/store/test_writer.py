"""Group commit: whole groups or nothing, answers after COMMIT, and every kind of trouble told apart."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable
from functools import partial
from pathlib import Path

import apsw
import pytest

from gateway.errors import BugError, OperatorError, StaleEpoch, StoreFailed, Unavailable
from gateway.model.delivery import Taken
from gateway.model.ids import RowId
from gateway.model.review import RowFilter
from gateway.store.sqlite import writer as writing
from gateway.store.sqlite.engine import SqliteStore
from gateway.store.sqlite.statements import ask
from tests.store.samples import ADT, GROUP, HOLD, PARK, TTL, ManualClock, Notes, offer, seal, sending, settled
from tests.store.stage import opened


class Gate:
    """Holds the writer thread inside a unit until it is opened, so that a group gathers behind it."""

    def __init__(self, store: SqliteStore) -> None:
        self._open = threading.Event()
        self._inside = asyncio.Event()
        loop = asyncio.get_running_loop()

        def hold(_: apsw.Connection) -> None:
            loop.call_soon_threadsafe(self._inside.set)
            assert self._open.wait(30)

        self.unit = store._writer.submit(hold)

    async def __aenter__(self) -> None:
        await self._inside.wait()

    async def __aexit__(self, *_: object) -> None:
        self._open.set()
        await self.unit


@pytest.fixture
async def store(tmp_path: Path, clock: ManualClock, notes: Notes) -> AsyncIterator[SqliteStore]:
    opened_store = await opened(tmp_path / "queue.db", clock, notes)
    yield opened_store
    await opened_store.close()


async def _rows(store: SqliteStore) -> int:
    return len([row async for row in store.desk.rows(RowFilter())])


async def test_what_gathers_is_committed_together(store: SqliteStore) -> None:
    async with Gate(store):
        before = store.commits
        waiting = [store.intake.accept(offer(f"A{number}"), seal) for number in range(100)]
    await asyncio.gather(*waiting)
    assert store.commits == before + 2, "the gate's own commit, and one for all"


async def test_a_knock_does_not_cut_a_group_short(store: SqliteStore) -> None:
    async with Gate(store):
        before = store.commits
        waiting = []
        for number in range(20):
            waiting.append(store.intake.accept(offer(f"A{number}"), seal))
            store._writer._queue.put(None)
    await asyncio.gather(*waiting)
    # The gate's own commit, and one for all twenty.
    assert store.commits - before == 2


async def test_a_watcher_that_begins_while_the_writer_sleeps_hears_of_other_processes(
    store: SqliteStore, tmp_path: Path, clock: ManualClock, notes: Notes
) -> None:
    other = await opened(tmp_path / "queue.db", clock, notes)
    try:
        for number in range(20):
            seen = (await store.outbox.changed(ADT, -1)).counter
            change = asyncio.create_task(store.outbox.changed(ADT, seen))
            await asyncio.sleep(0)
            await other.intake.accept(offer(f"A{number}"), seal)
            async with asyncio.timeout(5):
                assert (await change).counter > seen
    finally:
        await other.close()


async def test_intake_and_dispatch_share_commits(store: SqliteStore, clock: ManualClock) -> None:
    taken = await store.leases.take(GROUP, holder="one", ttl=TTL, channels={ADT: PARK}, now=clock())
    assert isinstance(taken, Taken)
    row = (await store.intake.accept(offer("A1"), seal)).row
    await store.outbox.claim(taken.term, sending(row), clock())
    async with Gate(store):
        before = store.commits
        mark = asyncio.ensure_future(store.outbox.mark_sent(taken.term, row, clock()))
        renew = asyncio.ensure_future(store.leases.renew(taken.term, ttl=TTL, now=clock()))
        await asyncio.sleep(0)
        accepted = store.intake.accept(offer("A2"), seal)
    assert (await mark, await renew, (await accepted).row) == (True, True, RowId(2))
    assert store.commits == before + 2


async def test_nobody_is_answered_before_the_commit_is_there_for_others_to_read(store: SqliteStore) -> None:
    other = apsw.Connection(str(store._readers._path))
    seen: list[int] = []

    def look(_: object) -> None:
        seen.append(ask(other, "SELECT count(*) FROM messages")[0][0])

    async with Gate(store):
        waiting = [asyncio.ensure_future(store.intake.accept(offer(f"A{number}"), seal)) for number in range(5)]
        for each in waiting:
            each.add_done_callback(look)
        assert ask(other, "SELECT count(*) FROM messages")[0][0] == 0
    await asyncio.gather(*waiting)
    assert seen == [5] * 5
    other.close()


async def test_a_unit_that_breaks_undoes_itself_alone(store: SqliteStore) -> None:
    def broken(db: apsw.Connection) -> None:
        db.execute("INSERT INTO channels (name, grp) VALUES ('ghost', 'x')")
        raise OperatorError("no")

    def wrong(db: apsw.Connection) -> None:
        db.execute("INSERT INTO channels (name, grp) VALUES ('ghost', 'x')")
        db.execute("INSERT INTO channels (name, grp) VALUES ('adt', 'x')")

    async with Gate(store):
        before = store.intake.accept(offer("A1", stamped=True), seal)
        failing = [store._writer.submit(broken), store._writer.submit(wrong)]
        after = store.intake.accept(offer("A2", stamped=True), seal)
    results = await asyncio.gather(*failing, return_exceptions=True)
    assert [type(result) for result in results] == [OperatorError, BugError]
    assert [(await before).sequence, (await after).sequence] == [1, 2]
    assert [summary.channel for summary in await store.desk.summaries()] == ["adt", "lab"]


async def test_a_unit_that_failed_half_way_costs_the_others_nothing_but_a_second_run(store: SqliteStore) -> None:
    runs: list[str] = []

    def counted(name: str, db: apsw.Connection) -> str:
        runs.append(name)
        db.execute("UPDATE meta SET acts = acts + 1")
        if name == "bad":
            raise OperatorError("half done")
        return name

    def clean(_: apsw.Connection) -> str:
        runs.append("clean")
        raise OperatorError("nothing written")

    async with Gate(store):
        before = store.commits
        units: list[asyncio.Future[str]] = [store._writer.submit(clean)]
        units += [store._writer.submit(partial(counted, name)) for name in ("a", "b")]
    await asyncio.gather(*units, return_exceptions=True)
    assert runs == ["clean", "a", "b"], "who failed before writing needs no second run"
    runs.clear()
    async with Gate(store):
        units = [store._writer.submit(partial(counted, name)) for name in ("a", "bad", "b")]
    results = await asyncio.gather(*units, return_exceptions=True)
    assert runs == ["a", "bad", "a", "bad", "b"]
    assert [results[0], type(results[1]), results[2]] == ["a", OperatorError, "b"]
    assert await store.outbox.acts() == 4, "two and two; the bad one is undone both times"
    assert store.commits == before + 4


async def test_full_in_the_middle_of_twenty_fails_all_twenty(store: SqliteStore, notes: Notes) -> None:
    await store._writer.submit(lambda db: db.execute("CREATE TABLE filler (x BLOB)"))

    def shrink(db: apsw.Connection) -> None:
        pages = int(ask(db, "PRAGMA page_count")[0][0])
        db.execute(f"PRAGMA max_page_count = {pages + 12}")

    await store._writer.submit(shrink)

    def fill(db: apsw.Connection) -> None:
        db.execute("INSERT INTO filler VALUES (zeroblob(200000))")

    def ran(number: int, _: apsw.Connection) -> object:
        done.append(number)
        return number

    done: list[int] = []
    async with Gate(store):
        before = store.commits
        waiting: list[Awaitable[object]] = [store._writer.submit(partial(ran, number)) for number in range(9)]
        waiting.append(store.intake.accept(offer("FIRST"), seal))
        waiting.append(store._writer.submit(fill))
        waiting += [store.intake.accept(offer(f"A{number}"), seal) for number in range(9)]
        await asyncio.sleep(0)
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert len(results) == 20
    assert all(isinstance(result, Unavailable) and result.reason == "full" for result in results)
    assert done == list(range(9)), "nine units had run before the disk was full, and failed all the same"
    assert await _rows(store) == 0
    assert store.commits == before + 1
    assert store.intake.closed_because == "full"
    assert ("intake-closed", {"reason": "full"}) in notes.events
    assert store._writer.failed is None


async def test_a_transaction_that_vanishes_inside_a_unit_fails_the_whole_group(store: SqliteStore) -> None:
    async with Gate(store):
        before = store.intake.accept(offer("A1"), seal)
        vanishing = store._writer.submit(lambda db: db.execute("ROLLBACK"))
        after = store.intake.accept(offer("A2"), seal)
    for each in (before, vanishing, after):
        with pytest.raises(Unavailable):
            await each
    assert await _rows(store) == 0
    assert (await store.intake.accept(offer("A1"), seal)).row == 1


async def test_a_busy_file_is_temporary_and_known_retransmits_are_still_answered(
    tmp_path: Path, clock: ManualClock
) -> None:
    store = await opened(tmp_path / "busy.db", clock, busy_timeout=30)
    first = await store.intake.accept(offer("A1"), seal)
    other = apsw.Connection(str(tmp_path / "busy.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="busy"):
        await store.intake.accept(offer("A2"), seal)
    again = await store.intake.accept(offer("A1"), seal)
    assert (again.replayed, again.row, again.answer) == (True, first.row, first.answer)
    other.execute("ROLLBACK")
    assert (await store.intake.accept(offer("A2"), seal)).row == 2
    other.close()
    await store.close()


async def test_a_full_queue_refuses_new_messages_but_not_settles_or_known_retransmits(
    tmp_path: Path, clock: ManualClock
) -> None:
    store = await opened(tmp_path / "queue2.db", clock, queue=8)
    first = await store.intake.accept(offer("A1"), seal)
    async with Gate(store):
        waiting = [store.intake.accept(offer(f"B{number}"), seal) for number in range(7)]
        refused = store.intake.accept(offer("C1"), seal)
        with pytest.raises(Unavailable, match="overloaded"):
            await refused
        assert (await store.intake.accept(offer("A1"), seal)).answer == first.answer
        spare = [store._writer.submit(lambda _: "settled") for _ in range(8)]
        with pytest.raises(Unavailable, match="overloaded"):
            await store._writer.submit(lambda _: None)
    assert await asyncio.gather(*spare) == ["settled"] * 8
    assert len(await asyncio.gather(*waiting)) == 7
    assert (await store.intake.accept(offer("C1"), seal)).replayed is False
    await store.close()


async def test_a_caller_that_left_before_its_turn_leaves_nothing_behind(store: SqliteStore) -> None:
    async with Gate(store):
        gone = asyncio.ensure_future(store.intake.accept(offer("A1"), seal))
        gone.cancel()
    assert (await store.intake.accept(offer("A2"), seal)).row == 1


async def test_waiters_are_woken_although_the_caller_of_the_settle_left_after_its_turn(
    store: SqliteStore, clock: ManualClock
) -> None:
    inside, go = threading.Event(), threading.Event()

    def work(_: apsw.Connection) -> str:
        inside.set()
        assert go.wait(30)
        return "done"

    told = asyncio.Event()
    future = store._writer.submit(work, after=lambda _: told.set())
    await asyncio.to_thread(inside.wait)
    future.cancel()
    go.set()
    async with asyncio.timeout(5):
        await told.wait()


@pytest.mark.parametrize("error", [apsw.IOError, apsw.CorruptError, apsw.NotADBError, apsw.ReadOnlyError])
async def test_damage_and_io_errors_end_the_store_for_good(
    store: SqliteStore, notes: Notes, error: type[apsw.Error]
) -> None:
    await store.intake.accept(offer("A0"), seal)
    failing = asyncio.ensure_future(store.failure())

    def damage(_: apsw.Connection) -> None:
        raise error("disk I/O error")

    async with Gate(store):
        before = store.intake.accept(offer("A1"), seal)
        damaged = store._writer.submit(damage)
        after = store.intake.accept(offer("A2"), seal)
    for each in (before, damaged, after):
        with pytest.raises(StoreFailed):
            await each
    async with asyncio.timeout(5):
        assert isinstance(await failing, StoreFailed)
    assert "store-failed" in notes.names()
    assert store.intake.closed_because == "failed"
    for attempt in (store.intake.accept(offer("A0"), seal), store.outbox.changed(ADT, 0)):
        with pytest.raises(StoreFailed):
            await attempt
    with pytest.raises(StoreFailed):
        await store.register({ADT: "main"})


async def test_who_waits_is_told_when_the_store_fails(store: SqliteStore) -> None:
    row = (await store.intake.accept(offer("A1"), seal)).row
    counter = (await store.outbox.changed(ADT, 0)).counter
    waiting = [
        asyncio.create_task(store.outbox.changed(ADT, counter)),
        asyncio.create_task(store.intake.wait_answer(row)),
    ]
    await store.desk.row(row)
    await store.desk.row(row)
    store._writer.fail(StoreFailed(reason="IOError"))
    for each in waiting:
        with pytest.raises(StoreFailed):
            await each


async def test_a_damaged_page_met_by_a_reader_ends_the_store(store: SqliteStore) -> None:
    def damage(_: apsw.Connection) -> None:
        raise apsw.CorruptError("malformed")

    with pytest.raises(StoreFailed):
        await store._readers.read(damage)
    async with asyncio.timeout(5):
        assert (await store.failure()).reason.startswith("CorruptError")


async def test_a_real_write_error_ends_the_store_and_leaves_nothing_half_done(
    tmp_path: Path, clock: ManualClock
) -> None:
    import resource

    path = tmp_path / "limited.db"
    store = await opened(path, clock)
    await store.intake.accept(offer("A1"), seal)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(StoreFailed):
            await store.intake.accept(offer("BIG", size=3 << 20), seal)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with pytest.raises(StoreFailed):
        await store.intake.accept(offer("A2"), seal)
    await store.close()
    again = await opened(path, clock)
    assert await _rows(again) == 1
    assert [finding async for finding in again.desk.verify()] == []
    await again.close()


async def test_passing_trouble_fails_the_group_and_the_store_lives(store: SqliteStore) -> None:
    def exhausted(_: apsw.Connection) -> None:
        raise apsw.NoMemError("out of memory")

    async with Gate(store):
        before = store.intake.accept(offer("A1"), seal)
        failing = store._writer.submit(exhausted)
    for each in (before, failing):
        with pytest.raises(Unavailable, match="storage-error"):
            await each
    assert (await store.intake.accept(offer("A1"), seal)).row == 1


async def test_the_trigger_behind_the_door_is_counted(store: SqliteStore, clock: ManualClock, notes: Notes) -> None:
    taken = await store.leases.take(GROUP, holder="one", ttl=TTL, channels={ADT: PARK}, now=clock())
    assert isinstance(taken, Taken)
    row = (await store.intake.accept(offer("A1"), seal)).row
    await store.outbox.claim(taken.term, sending(row), clock())

    def round_the_door(db: apsw.Connection) -> None:
        db.execute("UPDATE messages SET state = 'queued', epoch = 0 WHERE id = ?", (row,))

    assert store.stale_aborts == 0
    with pytest.raises(StaleEpoch):
        await store._writer.submit(round_the_door)
    assert store.stale_aborts == 1
    assert "stale-abort" in notes.names()
    found = await store.desk.row(row)
    assert found is not None
    assert found.state == "claimed"


async def test_a_claim_that_a_rule_stops_does_not_undo_the_settle(store: SqliteStore, clock: ManualClock) -> None:
    taken = await store.leases.take(GROUP, holder="one", ttl=TTL, channels={ADT: PARK}, now=clock())
    assert isinstance(taken, Taken)
    one = (await store.intake.accept(offer("A1"), seal)).row
    two = (await store.intake.accept(offer("A2"), seal)).row
    await store.outbox.claim(taken.term, sending(one), clock())
    await store.outbox.mark_sent(taken.term, one, clock())
    stop = "CREATE TRIGGER stop BEFORE UPDATE OF sends ON messages BEGIN SELECT RAISE(ABORT, 'stopped'); END"
    await store._writer.submit(lambda db: db.execute(stop))
    done = await store.outbox.advance(taken.term, settled(one, HOLD), sending(two), clock())
    assert (done.settled, done.claim) == (True, None)
    states = [row.state async for row in store.desk.rows(RowFilter())]
    assert states == ["failed", "queued"]


async def test_content_that_does_not_match_its_hash_is_never_sent(store: SqliteStore, notes: Notes) -> None:
    row = (await store.intake.accept(offer("A1"), seal)).row
    assert await store.outbox.content(row) is not None
    await store._writer.submit(lambda db: db.execute("DROP TRIGGER contents_fixed"))
    await store._writer.submit(lambda db: db.execute("UPDATE contents SET original = x'4d5348'"))
    assert await store.outbox.content(row) is None
    assert ("content-damaged", {"row": row}) in notes.events


async def test_a_group_is_bounded_by_units_and_by_bytes(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "GROUP_UNITS", 4)
    async with Gate(store):
        before = store.commits
        waiting = [store.intake.accept(offer(f"A{number}"), seal) for number in range(8)]
    await asyncio.gather(*waiting)
    assert store.commits == before + 3
    monkeypatch.setattr(writing, "GROUP_BYTES", 100_000)
    monkeypatch.setattr(writing, "GROUP_UNITS", 512)
    async with Gate(store):
        before = store.commits
        waiting = [store.intake.accept(offer(f"B{number}", size=60_000), seal) for number in range(4)]
    await asyncio.gather(*waiting)
    assert store.commits == before + 3


async def test_what_was_queued_before_closing_is_still_written(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "closing.db"
    store = await opened(path, clock)
    async with Gate(store):
        waiting = [asyncio.ensure_future(store.intake.accept(offer(f"A{number}"), seal)) for number in range(50)]
        closing = asyncio.create_task(store.close())
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="stopping"):
            await store.intake.accept(offer("LATE"), seal)
    await closing
    assert [(await each).row for each in waiting] == list(range(1, 51))
    again = await opened(path, clock)
    assert await _rows(again) == 50
    assert not Path(f"{path}-wal").exists() or again.commits
    await again.close()


async def test_a_writer_that_breaks_outside_any_unit_ends_the_store_instead_of_hanging(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bool:
        raise RuntimeError("broken")

    monkeypatch.setattr(store._space, "look", broken)
    store._writer.submit(lambda _: None).add_done_callback(lambda done: done.exception())
    async with asyncio.timeout(5):
        assert (await store.failure()).reason == "writer stopped (RuntimeError)"
    with pytest.raises(StoreFailed):
        await store.intake.accept(offer("A2"), seal)
