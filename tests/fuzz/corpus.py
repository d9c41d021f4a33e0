"""The kept corpus: one text file per target, one input per line, written as a Python bytes literal."""

import ast
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"


def kept(name: str) -> list[bytes]:
    """Give the kept inputs of a target; none when it has no file yet."""
    file = FOLDER / f"{name}.txt"
    return [ast.literal_eval(line) for line in file.read_text("ascii").splitlines()] if file.exists() else []


def keep(name: str, inputs: Iterable[bytes]) -> None:
    """Write the inputs of a target, sorted, each once."""
    FOLDER.mkdir(exist_ok=True)
    lines = sorted({repr(bytes(each)) for each in inputs}, key=lambda line: (len(line), line))
    (FOLDER / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "ascii")
