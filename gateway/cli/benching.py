"""The command that measures this program on this machine: bench."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.outcome import Exit, conclude
from gateway.cli.screen import console, write_json
from gateway.cli.target import Json
from gateway.sender.bench.board import bar, show
from gateway.sender.bench.options import BenchOptions, Programs, Suite
from gateway.sender.bench.report import facts
from gateway.sender.bench.run import bench as measure
from gateway.sender.bench.run import steps

PROGRAMS = Programs(
    gateway=(sys.executable, "-m", "gateway", "run"),
    single=(sys.executable, "-m", "gateway.cli.baseline"),
    receiver=(sys.executable, "-m", "gateway", "receive"),
)

Suites = Annotated[
    list[Suite] | None,
    typer.Option("--suite", metavar="NAME", help=f"Only this one; may be repeated. One of {', '.join(Suite)}."),
]
Disk = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER", exists=True, file_okay=False, writable=True, help="A folder on the disk to be measured."
    ),
]
Seconds = Annotated[float, typer.Option(min=0.1, metavar="N", help="How long one load lasts; slow answers: ten times.")]
Rounds = Annotated[int, typer.Option(min=1, metavar="N", help="How often each load is repeated, in turn.")]
Baseline = Annotated[
    bool, typer.Option("--baseline", help="Measure the same build with a commit for each message beside it.")
]
Idle = Annotated[int, typer.Option(min=1, max=60_000, metavar="N", help="Silent connections of suite idle.")]


def bench(
    suite: Suites = None,
    disk: Disk = Path(),
    seconds: Seconds = 3.0,
    rounds: Rounds = 5,
    baseline: Baseline = False,
    idle: Idle = 10_000,
    as_json: Json = False,
) -> None:
    """Measure this gateway on this disk. Exit code 1 when a target's floor is missed; needs no configuration."""
    options = BenchOptions(
        programs=PROGRAMS,
        disk=disk,
        suites=tuple(dict.fromkeys(suite or Suite)),
        seconds=seconds,
        rounds=rounds,
        has_baseline=baseline,
        idle=idle,
    )

    async def work() -> int:
        with bar(console(stderr=True), total=steps(options)) as told:
            report = await measure(options, told=told)
        if as_json:
            write_json(facts(report))
        else:
            show(console(), report)
        return Exit.REFUSED if report.is_short else Exit.DONE

    conclude(work(), refused=Exit.TROUBLE)
