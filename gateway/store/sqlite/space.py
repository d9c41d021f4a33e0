"""Room on the disk: closes intake before it is full, gives up a ballast file when it is. Touches no row."""

import contextlib
import os
from pathlib import Path

from gateway.store.options import StoreOptions
from gateway.store.sqlite import filesystem
from gateway.store.sqlite.faults import FULL, LOW_SPACE
from gateway.store.sqlite.relay import Relay


class Space:
    """The gate of intake as far as room is concerned. Moved by the writer thread, read by everybody."""

    def __init__(self, path: Path, *, options: StoreOptions, observer: Relay) -> None:
        self._folder = path.parent
        self._ballast = Path(f"{path}-ballast")
        self._options = options
        self._observer = observer
        self._looked_at: int | None = None
        self.closed_because: str | None = None

    @property
    def is_full(self) -> bool:
        """Say whether a write met a full disk and nothing has shown since that there is room again."""
        return self.closed_because == FULL

    def look(self, ms: int) -> bool:
        """Look at the free space, at most once in `recheck` ms of the clock; True if it did."""
        if self._looked_at is not None and abs(ms - self._looked_at) < self._options.recheck:
            return False
        self._looked_at = ms
        if not self.is_full:
            self._set(LOW_SPACE if self._is_low() else None)
        return True

    def prepare(self) -> None:
        """Lay the ballast in, if there is room for it."""
        if not self._is_low():
            self._lay_ballast()

    def give_up_ballast(self) -> None:
        """Make room for settles on a full disk, and close intake."""
        with contextlib.suppress(OSError):
            # It may be gone already, or be another process's who had the same idea.
            self._ballast.unlink(missing_ok=True)
        self._set(FULL)

    def recover(self) -> bool:
        """Say whether there is room again, with the ballast back in its place; the caller then tries a write."""
        return not self._is_low() and self._lay_ballast()

    def reopen(self) -> None:
        """Open intake again, once a write has shown that there is room."""
        self._set(None)

    def _is_low(self) -> bool:
        try:
            return filesystem.free_bytes(self._folder) < self._options.low_space
        except OSError:
            # What cannot be looked at is not trusted.
            return True

    def _lay_ballast(self) -> bool:
        """Reserve the ballast's blocks for real; False if they cannot be had."""
        if not self._options.ballast:
            return True
        try:
            handle = os.open(self._ballast, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                os.posix_fallocate(handle, 0, self._options.ballast)
            finally:
                os.close(handle)
        except OSError:
            with contextlib.suppress(OSError):
                self._ballast.unlink(missing_ok=True)
            return False
        return True

    def _set(self, reason: str | None) -> None:
        if reason == self.closed_because:
            return
        self.closed_because = reason
        if reason is None:
            self._observer.event("intake-opened")
        else:
            self._observer.event("intake-closed", reason=reason)
