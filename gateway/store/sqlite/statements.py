"""Named queries, read from the `.sql` files beside this module, and how one is asked. Builds no SQL."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import apsw

NAME = "-- name: "


def load(text: str) -> Mapping[str, str]:
    """Read the named queries of one file; their comments are for readers and are left out."""
    found: dict[str, str] = {}
    for name, lines in _sections(text):
        if name in found:
            raise ValueError(f"query {name} is there twice")
        found[name] = "\n".join(line for line in lines if not line.lstrip().startswith("--")).strip().rstrip(";")
    return MappingProxyType(found)


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Cut a file at its `-- name:` lines; what stands before the first is its head comment."""
    name: str | None = None
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(NAME):
            if name is not None:
                yield name, lines
            name, lines = line.removeprefix(NAME).strip(), []
        else:
            lines.append(line)
    if name is not None:
        yield name, lines


@cache
def named(file: str) -> Mapping[str, str]:
    """Give the queries of `queries/<file>.sql`."""
    return load(files("gateway.store.sqlite").joinpath("queries", f"{file}.sql").read_text(encoding="utf-8"))


def ask(db: apsw.Connection, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Run one query to its end and give what it returned, so that no statement stays open."""
    return db.execute(query, values).fetchall()
