"""Shows a bench to a person: a bar while it runs, then two tables and the warnings. Measures and judges nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from gateway.sender.bench.report import Measured, Report
from gateway.sender.bench.run import Told
from gateway.sender.bench.targets import Grade, Judged

_STYLES = {Grade.AIM: "bold green", Grade.PASS: "green", Grade.SHORT: "bold red"}
_WORDS = {Grade.AIM: "pass, aim reached", Grade.PASS: "pass", Grade.SHORT: "short"}


@contextmanager
def bar(console: Console, *, total: int) -> Iterator[Told]:
    """Show a bar of `total` steps; gives what is called with the words of each step before it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=total)
        begun = 0

        def told(words: str) -> None:
            nonlocal begun
            progress.update(task, description=words, completed=begun)
            begun += 1

        yield told


def loads(report: Report) -> Table:
    """Lay out what was measured."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("LOAD")
    for title in ("MSG/S", "+-", "P50 ms", "P99 ms", "MAX ms", "CPU us", "COMMITS", "PEAK MiB", "OTHER"):
        table.add_column(title, justify="right", no_wrap=True)
    for each in report.measured:
        table.add_row(*_load(each))
    return table


def _load(found: Measured) -> Iterator[str]:
    yield found.name
    yield f"{found.rate.middle:.0f}"
    yield f"{found.rate.spread / 2:.0%}"
    for seconds in (found.p50, found.p99, found.longest):
        yield "" if seconds is None else f"{seconds * 1_000:.2f}"
    yield f"{found.cpu.middle:.0f}"
    yield f"{found.commits.middle:.3f}"
    yield f"{found.peak:.0f}"
    yield f"{found.share:.0%}"


def targets(report: Report) -> Table:
    """Lay out the targets, and how each was met."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("TARGET", no_wrap=True)
    table.add_column("")
    for title in ("FOUND", "+-", "FLOOR", "AIM"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("")
    for each in report.judged:
        table.add_row(*_target(each))
    return table


def _target(judged: Judged) -> Iterator[str | Text]:
    target = judged.target
    yield judged.name
    yield target.text
    yield f"{judged.series.middle:.3g} {target.unit}".rstrip()
    yield f"{judged.series.spread / 2:.0%}"
    yield f"{'<=' if target.is_ceiling else '>='} {target.floor:g}"
    yield f"{target.aim:g}"
    yield Text(_WORDS[judged.grade], style=_STYLES[judged.grade])


def show(console: Console, report: Report) -> None:
    """Print the whole report."""
    raw = report.raw
    console.print(
        f"Raw sync rate: {raw.middle:.0f} fdatasync/s of 12 KB (p50 {report.raw_p50:.0f} us, spread {raw.spread:.0%})"
    )
    console.print()
    console.print(loads(report))
    console.print()
    console.print(targets(report))
    console.print("OTHER is the share of a core used by the busiest generator, or by the server, beside the gateway.")
    for warning in report.warnings:
        console.print(Text(f"Warning: {warning}", style="yellow"))
