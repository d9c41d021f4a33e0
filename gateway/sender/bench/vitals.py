"""What the kernel knows of a process: CPU time and memory. Linux only."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """CPU seconds so far, bytes resident now, and the most there ever were (since `reset_peak`)."""

    cpu: float
    resident: int
    peak: int


def vitals(pid: int) -> Vitals:
    """Read a live process."""
    folder = Path(f"/proc/{pid}")
    # The program's name stands in brackets and may hold spaces; the fields behind it do not.
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    lines = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    return Vitals(
        cpu=(int(fields[11]) + int(fields[12])) / _TICKS,
        resident=int(lines["VmRSS"].split()[0]) * _KIB,
        peak=int(lines["VmHWM"].split()[0]) * _KIB,
    )


def reset_peak(pid: int) -> None:
    """Let the peak begin anew at what is resident now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
