"""Shows how far a torture run is. Plays and judges nothing."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gateway.sender.torture.values import Finding, Kind


class Board:
    """A context manager whose `found` is the `on_finding` of a run; it names the kind that is being played."""

    def __init__(self, console: Console, kinds: tuple[Kind, ...]) -> None:
        self._names = [kind.name for kind in kinds]
        self._progress = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task(self._names[0], total=len(kinds))
        self._done = 0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def found(self, _: Finding) -> None:
        """Move on to the next kind."""
        self._done += 1
        following = self._names[self._done] if self._done < len(self._names) else ""
        self._progress.update(self._task, advance=1, description=following)
