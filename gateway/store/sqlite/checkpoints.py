"""When the write-ahead log is copied back: little while busy, from the start when idle. Never before an answer."""

from pathlib import Path

import apsw

from gateway.store.options import StoreOptions
from gateway.store.sqlite.opening import log_bound

IDLE_AFTER = 1_000
"""Milliseconds without a commit that count as idle."""

IDLE_PATIENCE = 100
"""Milliseconds a checkpoint waits for readers while nothing else is to do."""


class Checkpoints:
    """Belongs to the writer thread. SQLite's own automatic checkpoint is off: it would run before the answers."""

    def __init__(self, db: apsw.Connection, path: Path, options: StoreOptions) -> None:
        self._db = db
        self._log = Path(f"{path}-wal")
        self._options = options
        self._pages = 0
        self._copied = 0
        self._idle_since: int | None = None
        self.is_owed = False
        db.set_wal_hook(self._committed)

    def _committed(self, _db: apsw.Connection, _name: str, pages: int) -> int:
        self._pages = pages
        self.is_owed = True
        self._idle_since = None
        return apsw.SQLITE_OK

    def when_due(self) -> None:
        """Checkpoint what can be, if the log has grown by enough pages since; waits for nobody."""
        if self._pages < self._copied:
            # The log began anew.
            self._copied = 0
        if self._pages - self._copied < self._options.autocheckpoint:
            return
        self._pages, self._copied = self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def when_idle(self, ms: int) -> None:
        """Checkpoint everything and let the log begin anew, once idle for a while; cut it if it outgrew its bound."""
        if not self.is_owed:
            return
        if self._idle_since is None:
            self._idle_since = ms
        if ms - self._idle_since < IDLE_AFTER:
            return
        self._db.set_busy_timeout(IDLE_PATIENCE)
        try:
            self._db.wal_checkpoint(mode=self._idle_mode())
            self.is_owed = False
            self._pages = self._copied = 0
        except apsw.BusyError:
            # A reader is in the log; the next idle moment will do.
            self._idle_since = ms
        finally:
            self._db.set_busy_timeout(self._options.busy_timeout)

    def _idle_mode(self) -> int:
        try:
            size = self._log.stat().st_size
        except OSError:
            size = 0
        return apsw.SQLITE_CHECKPOINT_TRUNCATE if size > log_bound(self._options) else apsw.SQLITE_CHECKPOINT_RESTART
