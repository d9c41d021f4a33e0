"""Writes for people and for programs: tables in 80 columns, JSON lines, complaints. Lets no markup or controls in."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway.console.facts import Facts
from gateway.console.plain import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: a fixed `width`, or a `share` of what the fixed ones leave.

    Values too long for a `cut` column end in an ellipsis; elsewhere they go on in the next line.
    """

    title: str
    width: int | None = None
    share: int = 0
    right: bool = False
    cut: bool = False


_PAGE = 200
"""Lines laid out at once."""

Cell = str | Text
"""A value of a table; plain text is made visible, styled text was made here."""


def console(*, stderr: bool = False) -> Console:
    """Open standard output (or error) for people: colours and width of the terminal, neither when it is none."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, force_terminal=stream.isatty(), markup=False, highlight=False, emoji=False)


def table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, titled: bool = True) -> Table:
    """Lay out rows; the same columns give the same widths, so that pages of one listing line up."""
    shared = any(column.share for column in columns)
    grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=titled, expand=shared, header_style="bold")
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.right else "left"
        grid.add_column(
            column.title,
            width=column.width,
            ratio=column.share or None,
            justify=justify,
            no_wrap=column.cut,
            overflow="ellipsis" if column.cut else "fold",
        )
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(visible(cell)) for cell in row))
    return grid


class Listing:
    """A long table, laid out page by page, so that it starts at once and needs little memory."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._out = console()
        self._page: list[Sequence[Cell]] = []
        self._titled = True

    def add(self, cells: Sequence[Cell]) -> None:
        """Take one line; it is printed with its page."""
        self._page.append(cells)
        if len(self._page) >= _PAGE:
            self.print()

    def print(self) -> None:
        """Print what was taken so far; the first page brings the titles, also when it is empty."""
        if self._page or self._titled:
            self._out.print(table(self._columns, self._page, titled=self._titled))
        self._page, self._titled = [], False


def say(*lines: str) -> None:
    """Write sentences to standard output, folded at its width by nobody: one sentence, one line."""
    out = console()
    for line in lines:
        out.print(Text(visible(line)), soft_wrap=True)


def complain(*lines: str) -> None:
    """Write sentences to standard error; line ends inside them stay, other controls do not get through."""
    out = console(stderr=True)
    for line in lines:
        for part in line.split("\n"):
            out.print(Text(visible(part)), soft_wrap=True)


def write_json(facts: Facts) -> None:
    """Write one object on one line of standard output."""
    sys.stdout.buffer.write(orjson.dumps(facts) + b"\n")


def flush() -> None:
    """Let everything written so far be seen now."""
    sys.stdout.flush()
    sys.stdout.buffer.flush()


def write_bytes(payload: bytes) -> None:
    """Write bytes to standard output as they are."""
    sys.stdout.buffer.write(payload)
    sys.stdout.buffer.flush()
