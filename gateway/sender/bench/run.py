"""Runs a bench and reports. The one door of this package for the command line and for tests; prints nothing."""

import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

from gateway.sender.bench import dispatch, idle, intake, size
from gateway.sender.bench.ledger import Ledger
from gateway.sender.bench.options import BenchOptions, Suite
from gateway.sender.bench.report import Report, reported
from gateway.sender.bench.site import Site
from gateway.sender.bench.stage import Stage

_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder is made in it by tempfile, the owner's alone
_SPARE_FILES = 512

Told = Callable[[str], None]


def steps(options: BenchOptions) -> int:
    """Count the steps `bench` will tell of."""
    counts = {
        Suite.INTAKE: intake.steps(options.rounds, has_baseline=options.has_baseline),
        Suite.DISPATCH: dispatch.steps(options.rounds, has_baseline=options.has_baseline),
        Suite.SIZE: size.steps(options.rounds),
        Suite.IDLE: idle.steps(),
    }
    return sum(counts[suite] for suite in options.suites)


async def bench(options: BenchOptions, *, told: Told) -> Report:
    """Measure; `told` is called with the words of each step before it. Raises BenchFailed.

    Everything is written to a temporary folder on the chosen disk, which is removed in the end.
    """
    _allow_files(options.idle + _SPARE_FILES if Suite.IDLE in options.suites else _SPARE_FILES)
    ledger = Ledger()
    load_before = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory(dir=options.disk, prefix="hl7-gateway-bench-") as folder,
        tempfile.TemporaryDirectory(dir=_memory(folder)) as memory,
    ):
        stage = Stage(
            site=Site(programs=options.programs, folder=Path(folder)),
            options=options,
            ledger=ledger,
            memory=Path(memory),
            told=told,
        )
        suites = {Suite.INTAKE: intake.intake, Suite.DISPATCH: dispatch.dispatch}
        suites |= {Suite.SIZE: size.size, Suite.IDLE: idle.idle}
        for suite in options.suites:
            await suites[suite](stage)
    return reported(ledger, load=load_before, cores=os.cpu_count() or 1)


def _memory(folder: str) -> Path:
    """Give a folder that needs no disk; where there is none, one on the disk must do."""
    return _MEMORY if _MEMORY.is_dir() else Path(folder)


def _allow_files(wanted: int) -> None:
    """Raise this process's bound of open files, which the programs it starts inherit, as far as the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
