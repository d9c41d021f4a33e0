"""Reads the schema version of a store file, and nothing else of it."""

from pathlib import Path

import apsw

from gateway.errors import StoreRefused
from gateway.store.sqlite.migrate import check_identity
from gateway.store.sqlite.statements import ask


def schema_version(path: Path) -> int:
    """Give the schema version of the file; 0 when it is still empty. Raises StoreRefused when it is not a store."""
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            if not check_identity(db, path):
                return 0
            return int(ask(db, "SELECT schema_version FROM meta")[0][0])
        finally:
            db.close()
    except apsw.Error as error:
        raise StoreRefused(path=str(path), reason=f"cannot be read ({type(error).__name__})") from error
