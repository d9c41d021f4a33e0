"""Shows a run to a person: a bar, a line per verdict that is not a plain yes, a summary. Sends and judges nothing."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gateway.sender.options import Judgement, SendReport, Verdict

_STYLES: Mapping[Judgement, str] = {
    Judgement.POSITIVE: "green",
    Judgement.NEGATIVE: "red",
    Judgement.MISMATCH: "bold red",
    Judgement.SILENCE: "yellow",
    Judgement.UNREADABLE: "magenta",
}
_LONGEST = 60


class Board:
    """A context manager whose `verdict` is the `on_verdict` of a run; `verbose` also shows every plain yes."""

    def __init__(self, console: Console, *, total: int, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._progress = Progress(
            TextColumn("sending"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("send", total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def verdict(self, verdict: Verdict) -> None:
        """Move the bar and, where there is something to say, say it."""
        if not (verdict.extra or verdict.retried):
            self._progress.advance(self._task)
        if self._verbose or verdict.judgement is not Judgement.POSITIVE or verdict.extra:
            self._console.print(line(verdict))


def line(verdict: Verdict) -> Text:
    """Write a verdict in one line; whatever the other side sent is shown without control characters."""
    shown = Text()
    shown.append(f"{verdict.judgement:<10}", style=_STYLES[verdict.judgement])
    shown.append(
        f" {verdict.code or '--'}  {_printable(verdict.control_id.decode('utf-8', 'backslashreplace')) or '-'}"
    )
    shown.append(f"  {verdict.origin}", style="dim")
    for words in (verdict.note, verdict.text):
        if words:
            shown.append(f"  {_printable(words)}")
    if verdict.retried:
        shown.append("  sent again", style="dim")
    return shown


def summary(report: SendReport) -> Table:
    """Put the run in numbers into a table."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    for judgement in Judgement:
        count = report.counts.get(judgement, 0) + report.extras.get(judgement, 0)
        if count or judgement is Judgement.POSITIVE:
            table.add_row(judgement, Text(str(count), style=_STYLES[judgement] if count else ""))
    if report.unsent:
        table.add_row("unsent", Text(str(report.unsent), style="red"))
    again = report.written - (report.total - report.unsent)
    if again > 0:
        table.add_row("sent again", str(again))
    table.add_row("seconds", f"{report.elapsed:.2f}")
    if report.elapsed > 0:
        table.add_row("per second", f"{(report.total - report.unsent) / report.elapsed:.0f}")
    if report.trouble is not None:
        table.add_row("trouble", _printable(report.trouble))
    return table


def _printable(text: str) -> str:
    """Escape what a terminal would obey, and shorten: an answer is another machine's text."""
    clean = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
    return clean if len(clean) <= _LONGEST else f"{clean[: _LONGEST - 1]}…"
