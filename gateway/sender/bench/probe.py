"""How fast the disk syncs by itself: the measure everything durable is compared with. Writes its own file only."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

BLOCK = 12 << 10
"""Bytes of one synced write: about what the commit of one message writes to the log."""

_FILE = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Synced writes a second, and the median of one in microseconds."""

    rate: float
    p50: float


def probe(folder: Path, *, seconds: float) -> Probe:
    """Overwrite a file, 12 KB by 12 KB, each followed by fdatasync. Blocks for `seconds`; not for a loop."""
    handle = os.open(folder / "probe", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if os.fstat(handle).st_size < _FILE:
            # As the log of the store: grown beforehand, so that no sync has to note a new length.
            os.write(handle, bytes(_FILE))
            os.fsync(handle)
        return _measured(handle, seconds)
    finally:
        os.close(handle)


def _measured(handle: int, seconds: float) -> Probe:
    block = os.urandom(BLOCK)
    took: list[float] = []
    begin = now = time.perf_counter()
    place = 0
    while now - begin < seconds:
        os.pwrite(handle, block, place)
        os.fdatasync(handle)
        place = (place + BLOCK) % (_FILE - BLOCK)
        before, now = now, time.perf_counter()
        took.append(now - before)
    return Probe(rate=len(took) / (now - begin), p50=median(took) * 1e6)
