"""Opening the file: refuses what cannot keep a promise, and says which file and why. Never repairs anything."""

import contextlib
import os
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Literal

import apsw

from gateway.errors import StoreRefused
from gateway.ports.clock import Clock
from gateway.store.options import StoreOptions
from gateway.store.sqlite import filesystem
from gateway.store.sqlite.migrate import check_identity, migrate, pending
from gateway.store.sqlite.relay import Relay
from gateway.store.sqlite.statements import ask

SAFE_SQLITE = (3, 51, 3)
"""Before this version two processes on one file could trigger the WAL-reset corruption."""

SYNCHRONOUS = {"FULL": 2, "NORMAL": 1}
CHECKED_ROWS = 1_000
CHECKED_BYTES = 64 << 20
WRITER_CACHE = 32 << 10
"""KiB of pages the writer keeps: fingerprints are hit at random places, and each miss is a read from the log."""

LOCK_PAUSE = 0.05
"""Seconds between tries where SQLite itself does not wait for a lock."""

Role = Literal["gateway", "desk"]


def is_safe(version: str) -> bool:
    """Say whether this version of SQLite may be trusted with two processes on one file."""
    return tuple(int(part) for part in version.split(".")[:3]) >= SAFE_SQLITE


def open_writer(
    path: Path,
    *,
    clock: Clock,
    observer: Relay,
    options: StoreOptions,
    role: Role,
    random: Callable[[int], bytes],
    with_migrations: bool,
) -> apsw.Connection:
    """Open the store's writing connection, checked and migrated. Raises StoreRefused. Blocks; not for a loop."""
    try:
        return _opened(path, clock, observer, options, role, random, with_migrations)
    except apsw.BusyError:
        raise StoreRefused(path=str(path), reason="another process holds its write lock") from None
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreRefused(path=str(path), reason=f"is damaged or no database ({type(error).__name__})") from None
    except apsw.FullError:
        raise StoreRefused(path=str(path), reason="cannot be prepared: the disk is full") from None
    except apsw.Error as error:
        raise StoreRefused(path=str(path), reason=f"cannot be opened ({type(error).__name__})") from error
    except OSError as error:
        raise StoreRefused(path=str(path), reason=f"cannot be opened ({error.strerror})") from None


def _opened(
    path: Path,
    clock: Clock,
    observer: Relay,
    options: StoreOptions,
    role: Role,
    random: Callable[[int], bytes],
    with_migrations: bool,
) -> apsw.Connection:
    if not is_safe(apsw.sqlite_lib_version()):
        reason = f"SQLite {apsw.sqlite_lib_version()} is older than {'.'.join(map(str, SAFE_SQLITE))}"
        raise StoreRefused(path=str(path), reason=reason)
    kind = filesystem.network_type(path.resolve(), filesystem.mount_table())
    if kind is not None:
        raise StoreRefused(path=str(path), reason=f"lies on a network file system ({kind})")
    with filesystem.private_files():
        is_new = _make_file(path, may_create=with_migrations and role == "gateway")
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=200)
        try:
            _prepare(db, path, clock=clock, options=options, random=random, with_migrations=with_migrations)
            if role == "gateway":
                check_newest(db, path)
                settle_log(db, path, options)
            # Only now: growing the log relies on a cache too small for it.
            db.pragma("cache_size", -WRITER_CACHE)
        except BaseException:
            db.close()
            raise
    if is_new:
        filesystem.sync_folder(path.parent)
    _guard_files(path, observer)
    return db


def _make_file(path: Path, *, may_create: bool) -> bool:
    """Make folder and file, the owner's alone, if they are not there. True if the file is new.

    An existing file is never opened here: closing it again would drop this process's locks on it.
    """
    if path.exists():
        return False
    if not may_create:
        raise StoreRefused(path=str(path), reason="there is no store")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        return True
    return False


def _prepare(
    db: apsw.Connection,
    path: Path,
    *,
    clock: Clock,
    options: StoreOptions,
    random: Callable[[int], bytes],
    with_migrations: bool,
) -> None:
    """Check that the file is ours, set the connection up, and migrate."""
    db.set_busy_timeout(options.busy_timeout)
    is_store = check_identity(db, path)
    if not is_store and not with_migrations:
        raise StoreRefused(path=str(path), reason="holds no store yet")
    _use_log(db, path, options)
    configure(db, options)
    if int(db.pragma("synchronous")) != SYNCHRONOUS[options.synchronous]:
        raise StoreRefused(path=str(path), reason=f"synchronous={options.synchronous} did not take effect")
    missing = pending(db, path)
    if missing and not with_migrations:
        raise StoreRefused(path=str(path), reason=f"needs migration {missing[0].name} first")
    if missing:
        migrate(db, path, clock=clock, random=random)


def _use_log(db: apsw.Connection, path: Path, options: StoreOptions) -> None:
    """Switch to the write-ahead log; SQLite does not wait for the lock this needs, so we do."""
    tries = max(1, round(options.busy_timeout / 1_000 / LOCK_PAUSE))
    for left in reversed(range(tries)):
        try:
            mode = db.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if not left:
                raise
            time.sleep(LOCK_PAUSE)
        else:
            if mode != "wal":
                raise StoreRefused(path=str(path), reason="cannot use a write-ahead log")
            return


def configure(db: apsw.Connection, options: StoreOptions) -> None:
    """Set what every connection needs."""
    db.set_busy_timeout(options.busy_timeout)
    # Plans do not depend on the values bound; else partial indexes make SQLite prepare a query again at every use.
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    db.pragma("synchronous", options.synchronous)
    db.pragma("foreign_keys", 1)
    db.pragma("trusted_schema", 0)
    db.pragma("temp_store", "memory")
    db.pragma("mmap_size", 0)
    # A log that outgrew its bound is cut when it next begins anew.
    db.pragma("journal_size_limit", log_bound(options))
    # Checkpoints are the writer's own decision, after the answers left.
    db.wal_autocheckpoint(0)


def log_bound(options: StoreOptions) -> int:
    """Give the bytes of write-ahead log that may stay on disk."""
    return max(64 << 20, 2 * options.wal_grow)


def check_newest(db: apsw.Connection, path: Path) -> None:
    """Compare the newest rows, and those in flight, with their hashes. Raises StoreRefused naming the row."""
    newest = "SELECT row FROM contents ORDER BY row DESC LIMIT ?"
    flying = "SELECT id FROM messages WHERE state IN ('claimed', 'inflight')"
    numbers = [row for (row,) in db.execute(flying)] + [row for (row,) in db.execute(newest, (CHECKED_ROWS,))]
    left = CHECKED_BYTES
    for number in dict.fromkeys(numbers):
        found = ask(
            db, "SELECT m.sha256, c.original FROM messages m JOIN contents c ON c.row = m.id WHERE m.id = ?", (number,)
        )
        if not found:
            raise StoreRefused(path=str(path), reason=f"is damaged: row {number} lacks its content")
        digest, original = found[0]
        if original is None:
            continue
        if sha256(original).digest() != digest:
            raise StoreRefused(
                path=str(path), reason=f"is damaged: the content of row {number} does not match its hash"
            )
        left -= len(original)
        if left < 0:
            return


def settle_log(db: apsw.Connection, path: Path, options: StoreOptions) -> None:
    """Make what the log still holds durable, then grow it once, so that commits need not.

    What a killed process had written but not synced is read back by SQLite as committed; a retransmit must not be
    answered from it before it is on disk, and a checkpoint syncs it.
    """
    with contextlib.suppress(apsw.BusyError):
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size >= options.wal_grow:
        return
    # Pages that do not fit the cache are written to the log; dropping them leaves it grown and empty.
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute("CREATE TABLE growing (filler BLOB)")
        db.execute("INSERT INTO growing VALUES (zeroblob(?))", (options.wal_grow,))
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _guard_files(path: Path, observer: Relay) -> None:
    """Close the files to everybody but their owner; a folder that others may enter is only reported."""
    for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        if each.exists() and filesystem.is_open_to_others(each):
            each.chmod(0o600)
    if filesystem.is_open_to_others(path.parent):
        observer.event("folder-open-to-others", folder=str(path.parent))
