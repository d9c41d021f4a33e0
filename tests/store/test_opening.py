"""What the store refuses to open, what it insists on, and that it says which file and why."""

import asyncio
import stat
import sys
from pathlib import Path

import apsw
import pytest

from gateway.errors import StoreRefused
from gateway.store.sqlite import filesystem, migrate, opening
from gateway.store.sqlite.statements import ask
from gateway.store.sqlite.version import schema_version
from tests.store.samples import ManualClock, Notes, offer, seal
from tests.store.stage import opened, options

HOLD_LOCK = """
import sys, apsw
db = apsw.Connection(sys.argv[1])
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
db.execute("COMMIT")
"""


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_folder_and_files_are_the_owners_alone(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "data" / "deep" / "queue.db"
    store = await opened(path, clock, ballast=4096)
    await store.intake.accept(offer(), seal)
    assert [_mode(tmp_path / "data"), _mode(path.parent)] == [0o700, 0o700]
    assert {each.name: _mode(each) for each in path.parent.iterdir()} == {
        f"queue.db{suffix}": 0o600 for suffix in ("", "-wal", "-shm", "-ballast")
    }
    await store.close()


async def test_files_open_to_others_are_closed_and_an_open_folder_is_reported(
    tmp_path: Path, clock: ManualClock
) -> None:
    path = tmp_path / "queue.db"
    await (await opened(path, clock)).close()
    path.chmod(0o664)
    tmp_path.chmod(0o755)
    notes = Notes()
    store = await opened(path, clock, notes)
    assert _mode(path) == 0o600
    assert _mode(tmp_path) == 0o755, "a folder that was there before may be somebody else's too"
    assert "folder-open-to-others" in notes.names()
    await store.close()


async def test_every_connection_has_the_settings_the_promises_need(tmp_path: Path, clock: ManualClock) -> None:
    store = await opened(tmp_path / "queue.db", clock)

    def settings(db: apsw.Connection) -> dict[str, object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "trusted_schema", "temp_store", "mmap_size")
        return {name: db.pragma(name) for name in names}

    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "trusted_schema": 0, "temp_store": 2}
    assert await store._readers.read(settings) == {**wanted, "mmap_size": 0}
    assert await store._writer.submit(settings) == {**wanted, "mmap_size": 0}
    assert await store._readers.read(lambda db: db.pragma("query_only")) == 1
    await store.close()


@pytest.mark.parametrize(
    ("version", "safe"), [("3.40.1", False), ("3.51.2", False), ("3.51.3", True), ("3.54.0", True), ("4.0", True)]
)
def test_old_sqlite_is_known(version: str, safe: bool) -> None:
    assert opening.is_safe(version) is safe


async def test_old_sqlite_is_refused(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    with pytest.raises(StoreRefused, match=r"queue\.db: SQLite 3\.40\.1 is older than 3\.51\.3"):
        await opened(tmp_path / "queue.db", clock)


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/share /srv/share nfs4 rw 0 0
//server/x /srv/with\\040space cifs rw 0 0
user@host: /srv/ssh fuse.sshfs rw 0 0
lxcfs /srv/lx fuse.lxcfs rw 0 0
tmpfs /srv/share/local tmpfs rw 0 0
sound
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/x", None),
        ("/srv/share/q", "nfs4"),
        ("/srv/shared/q", None),
        ("/srv/with space/q", "cifs"),
        ("/srv/ssh/q", "fuse.sshfs"),
        ("/srv/lx/q", None),
        ("/srv/share/local/q", None),
    ],
)
def test_network_file_systems_are_known(path: str, kind: str | None) -> None:
    assert filesystem.network_type(Path(path), MOUNTS) == kind


async def test_network_file_systems_are_refused(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mounts"
    table.write_text(f"server:/x {tmp_path.resolve()} nfs rw 0 0\n")
    monkeypatch.setattr(filesystem, "MOUNTS", table)
    with pytest.raises(StoreRefused, match=r"queue\.db: lies on a network file system \(nfs\)"):
        await opened(tmp_path / "queue.db", clock)
    assert not (tmp_path / "queue.db").exists()
    monkeypatch.setattr(filesystem, "MOUNTS", tmp_path / "nothing there")
    await (await opened(tmp_path / "queue.db", clock)).close()


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    path.write_bytes(b"a letter to somebody" * 100)
    with pytest.raises(StoreRefused, match=r"queue\.db: is damaged or no database"):
        await opened(path, clock)
    assert path.read_bytes() == b"a letter to somebody" * 100


@pytest.mark.parametrize("mark", [0, 7])
async def test_the_database_of_another_program_is_refused_and_left_alone(
    tmp_path: Path, clock: ManualClock, mark: int
) -> None:
    path = tmp_path / "queue.db"
    other = apsw.Connection(str(path))
    other.execute(f"CREATE TABLE theirs (x); PRAGMA application_id = {mark}")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreRefused, match=r"queue\.db: is the database of another program"):
        await opened(path, clock)
    assert path.read_bytes() == before
    with pytest.raises(StoreRefused):
        schema_version(path)


async def _spoil(path: Path, clock: ManualClock, sql: str) -> None:
    await (await opened(path, clock)).close()
    db = apsw.Connection(str(path))
    db.execute(sql)
    db.close()


async def test_a_newer_store_is_refused_in_plain_words(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    await _spoil(path, clock, "UPDATE meta SET schema_version = 99, min_reader = 98")
    with pytest.raises(
        StoreRefused, match=rf"newer version \(schema 99; this program knows {migrate.latest()}\): upgrade"
    ):
        await opened(path, clock)
    assert schema_version(path) == 99


async def test_a_newer_store_that_this_program_may_still_use_is_opened(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    await _spoil(path, clock, "UPDATE meta SET schema_version = 99")
    await (await opened(path, clock)).close()


async def test_an_edited_history_is_refused(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    await _spoil(path, clock, "UPDATE migrations SET sha256 = zeroblob(32)")
    with pytest.raises(StoreRefused, match=r"another text of migration 0001_spine\.sql"):
        await opened(path, clock)


async def test_a_desk_makes_no_store_and_migrates_none(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    with pytest.raises(StoreRefused, match="there is no store"):
        await opened(path, clock, role="desk")
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreRefused, match="holds no store yet"):
        await opened(path, clock, role="desk", migrate=False)
    assert schema_version(path) == 0


async def test_a_desk_works_beside_a_gateway(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    gateway = await opened(path, clock)
    row = (await gateway.intake.accept(offer(), seal)).row
    desk = await opened(path, clock, role="desk", migrate=False)
    await desk.desk.discard(row, who="ann", why="test", forget=False, now=clock())
    found = await gateway.desk.row(row)
    assert found is not None
    assert found.state == "discarded"
    await desk.close()
    await gateway.close()


async def test_a_pending_migration_is_applied_only_when_allowed(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "queue.db"
    await (await opened(path, clock)).close()
    newest = migrate.latest()
    second = migrate.Migration(
        number=newest + 1, name="more.sql", text="CREATE TABLE more (x) STRICT", sha256=bytes(32)
    )
    sound = migrate.Migration(
        number=newest + 1, name="more.sql", text="CREATE TABLE more (x INT) STRICT", sha256=bytes(32)
    )
    chain = [*migrate.migrations(), second]
    monkeypatch.setattr(migrate, "migrations", lambda: tuple(chain))
    with pytest.raises(StoreRefused, match=r"needs migration more\.sql first"):
        await opened(path, clock, migrate=False)
    with pytest.raises(StoreRefused, match=r"cannot be opened \(SQLError\)"):
        await opened(path, clock)  # STRICT wants a type: the step fails whole
    assert schema_version(path) == newest
    chain[-1] = sound
    await (await opened(path, clock)).close()
    assert schema_version(path) == newest + 1
    db = apsw.Connection(str(path))
    numbers = [number for (number,) in ask(db, "SELECT number FROM migrations ORDER BY number")]
    assert numbers == list(range(1, newest + 2))
    db.close()


async def test_two_processes_that_start_at_once_make_one_store(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    stores = await asyncio.gather(*(opened(path, clock) for _ in range(4)))
    assert len({store.desk.store_id for store in stores}) == 1
    for store in stores:
        await store.close()


@pytest.mark.parametrize("exists", [True, False])
async def test_a_start_waits_while_another_process_holds_the_write_lock(
    tmp_path: Path, clock: ManualClock, exists: bool
) -> None:
    path = tmp_path / "queue.db"
    if exists:
        await (await opened(path, clock)).close()
    pipe = asyncio.subprocess.PIPE
    holder = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLD_LOCK, str(path), stdin=pipe, stdout=pipe)
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"
    starting = asyncio.create_task(opened(path, clock))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await asyncio.shield(starting)
    release = asyncio.create_task(holder.communicate(b"\n"))
    async with asyncio.timeout(10):
        store = await starting
    assert (await store.intake.accept(offer(), seal)).row == 1
    await store.close()
    await release


async def test_a_start_gives_up_when_the_lock_is_held_for_longer_than_the_timeout(
    tmp_path: Path, clock: ManualClock
) -> None:
    path = tmp_path / "queue.db"
    await (await opened(path, clock)).close()
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreRefused, match=r"queue\.db: another process holds its write lock"):
        await opened(path, clock, busy_timeout=20, wal_grow=1 << 20)
    other.execute("ROLLBACK")
    other.close()


async def test_a_damaged_row_closes_the_gate(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    store = await opened(path, clock)
    for number in range(3):
        await store.intake.accept(offer(f"A{number}"), seal)
    await store.close()
    db = apsw.Connection(str(path))
    db.execute("DROP TRIGGER contents_fixed; UPDATE contents SET original = x'00' WHERE row = 2")
    db.close()
    with pytest.raises(StoreRefused, match=r"is damaged: the content of row 2 does not match its hash"):
        await opened(path, clock)
    desk = await opened(path, clock, role="desk", migrate=False)
    assert [finding.kind async for finding in desk.desk.verify()] == ["hash-mismatch"]
    await desk.close()


async def test_a_row_in_flight_is_checked_however_old_it_is(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "CHECKED_ROWS", 1)
    path = tmp_path / "queue.db"
    store = await opened(path, clock)
    for number in range(3):
        await store.intake.accept(offer(f"A{number}"), seal)
    await store.close()
    db = apsw.Connection(str(path))
    db.execute(
        "DROP TRIGGER contents_fixed; DROP TRIGGER contents_keep; UPDATE contents SET original = x'00' WHERE row = 1"
    )
    db.close()
    await (await opened(path, clock)).close()
    db = apsw.Connection(str(path))
    db.execute("INSERT INTO policies VALUES (1, zeroblob(32), 'linear', 1, 2, 1, 3, 4)")
    db.execute("UPDATE messages SET state = 'claimed', epoch = 1, policy_id = 1 WHERE id = 1")
    db.close()
    with pytest.raises(StoreRefused, match="row 1 does not match"):
        await opened(path, clock)
    db = apsw.Connection(str(path))
    db.execute("DELETE FROM contents WHERE row = 1")
    db.close()
    with pytest.raises(StoreRefused, match="row 1 lacks its content"):
        await opened(path, clock)


async def test_the_check_of_rows_is_bounded_by_bytes(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "CHECKED_BYTES", 1)
    path = tmp_path / "queue.db"
    store = await opened(path, clock)
    for number in range(3):
        await store.intake.accept(offer(f"A{number}"), seal)
    await store.close()
    db = apsw.Connection(str(path))
    db.execute("DROP TRIGGER contents_fixed; UPDATE contents SET original = x'00' WHERE row = 1")
    db.close()
    await (await opened(path, clock)).close()


async def test_the_log_is_grown_once_at_the_start_and_the_file_is_not(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "queue.db"
    store = await opened(path, clock, wal_grow=8 << 20)
    log = Path(f"{path}-wal")
    assert log.stat().st_size > 5 << 20
    assert path.stat().st_size < 1 << 20
    tables = await store._readers.read(lambda db: ask(db, "SELECT name FROM sqlite_schema WHERE name = 'growing'"))
    assert tables == [], "what grew it is dropped"
    grown = log.stat().st_size
    for number in range(20):
        await store.intake.accept(offer(f"A{number}"), seal)
    assert log.stat().st_size == grown, "commits land in what was grown"
    beside = await opened(path, clock, wal_grow=1 << 20)
    assert log.stat().st_size == grown
    await beside.close()
    await store.close()


async def test_a_path_that_cannot_be_made_is_refused(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreRefused, match=r"file/queue\.db: cannot be opened"):
        await opened(tmp_path / "file" / "queue.db", clock)
    (tmp_path / "queue.db").mkdir()
    with pytest.raises(StoreRefused, match=r"queue\.db: cannot be opened"):
        await opened(tmp_path / "queue.db", clock)
    with pytest.raises(StoreRefused, match="cannot be read"):
        schema_version(tmp_path / "nothing.db")


def test_full_means_synced_on_every_commit() -> None:
    assert options().synchronous == "FULL"
    assert opening.SYNCHRONOUS == {"FULL": 2, "NORMAL": 1}


async def test_normal_is_there_for_the_bench_alone(tmp_path: Path, clock: ManualClock) -> None:
    store = await opened(tmp_path / "queue.db", clock, synchronous="NORMAL")
    assert await store._readers.read(lambda db: db.pragma("synchronous")) == 1
    await store.close()
