"""What the store is told. Plain values; no defaults that could weaken a promise."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """How the store behaves on this machine.

    `low_space`: intake closes while the file system has fewer free bytes. `ballast`: bytes kept in a file of their
    own and given up when the disk is full, so that settles go on. `busy_timeout`: ms to wait for another process's
    write transaction. `wal_grow`: bytes the write-ahead log is grown to once, at the start. `autocheckpoint`: pages
    of it after which a checkpoint runs. `queue`: units that may wait for the writer. `retry_initial`: ms after
    which a row that waited under another boot of the machine is due. `recheck`: ms between looks at a full or nearly
    full disk.
    `synchronous` is FULL in every gateway; NORMAL exists for the baseline of a bench alone.
    """

    low_space: int
    ballast: int = 8 << 20
    busy_timeout: int = 10_000
    wal_grow: int = 32 << 20
    autocheckpoint: int = 250
    queue: int = 4096
    synchronous: Literal["FULL", "NORMAL"] = "FULL"
    retry_initial: int = 1_000
    recheck: int = 1_000
