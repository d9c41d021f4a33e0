"""Numbered migrations: forward only, one transaction each, checksummed. Never repairs, never goes back."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import apsw

from gateway.errors import StoreRefused
from gateway.model.ids import new_store_id
from gateway.ports.clock import Clock
from gateway.store.sqlite.statements import ask

APPLICATION_ID = 0x484C3747
"""`HL7G`: the mark in the file header that makes it ours."""

MIN_READER = 1
"""The oldest schema whose program may still use a file of today's schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step; `sha256` is of its text, so that nobody edits history."""

    number: int
    name: str
    text: str
    sha256: bytes


@cache
def migrations() -> tuple[Migration, ...]:
    """Give the migrations this program knows, in order."""
    folder = files("gateway.store.sqlite").joinpath("migrations")
    texts = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir() if each.name.endswith(".sql")}
    return tuple(
        Migration(number=int(name.split("_", 1)[0]), name=name, text=text, sha256=sha256(text.encode("utf-8")).digest())
        for name, text in sorted(texts.items())
    )


def latest() -> int:
    """Give the number of the newest migration, which is the schema version of this program."""
    return migrations()[-1].number


def check_identity(db: apsw.Connection, path: Path) -> bool:
    """Say whether the file holds a store already (False: it is empty). Raises StoreRefused for anything else's file.

    Reads only, so that a file that is not ours is left exactly as it was.
    """
    mark = int(db.pragma("application_id"))
    if mark == APPLICATION_ID:
        return True
    if mark != 0 or db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None:
        raise StoreRefused(path=str(path), reason="is the database of another program")
    return False


def pending(db: apsw.Connection, path: Path) -> tuple[Migration, ...]:
    """Give the migrations the file still lacks. Raises StoreRefused if it is newer, or its history is another."""
    if not check_identity(db, path):
        return migrations()
    version, min_reader = ask(db, "SELECT schema_version, min_reader FROM meta")[0]
    if min_reader > latest():
        reason = (
            f"was written by a newer version (schema {version}; this program knows {latest()}): upgrade the program"
        )
        raise StoreRefused(path=str(path), reason=reason)
    applied = dict(ask(db, "SELECT number, sha256 FROM migrations"))
    for each in migrations():
        if each.number in applied and applied[each.number] != each.sha256:
            raise StoreRefused(path=str(path), reason=f"was made by another text of migration {each.name}")
    return tuple(each for each in migrations() if each.number not in applied)


def migrate(db: apsw.Connection, path: Path, *, clock: Clock, random: Callable[[int], bytes]) -> tuple[str, ...]:
    """Bring the file to this program's schema; gives the names of what was applied.

    Raises BusyError when another process holds the write lock for longer than the busy timeout.
    """
    done: list[str] = []
    while True:
        db.execute("BEGIN IMMEDIATE")
        try:
            # Looked up inside the transaction: another process may have come first.
            missing = pending(db, path)
            if missing:
                _apply(db, missing[0], clock=clock, random=random)
                done.append(missing[0].name)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        if len(missing) <= 1:
            return tuple(done)


def _apply(db: apsw.Connection, step: Migration, *, clock: Clock, random: Callable[[int], bytes]) -> None:
    """Run one step and note it, inside the caller's transaction."""
    db.execute(step.text)
    if step.number == migrations()[0].number:
        db.execute(
            "INSERT INTO meta (id, store_id, schema_version, min_reader, created_at) VALUES (1, ?, ?, ?, ?)",
            (new_store_id(random(16)).bytes, step.number, MIN_READER, clock().wall),
        )
    db.execute("UPDATE meta SET schema_version = max(schema_version, ?), min_reader = ?", (step.number, MIN_READER))
    db.execute(
        "INSERT INTO migrations (number, name, sha256, applied_at) VALUES (?, ?, ?, ?)",
        (step.number, step.name, step.sha256, clock().wall),
    )
