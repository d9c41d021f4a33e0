"""Reads what is to be sent from files, folders and standard input. Changes no byte of a message."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from gateway.errors import OperatorError
from gateway.sender.options import Outgoing
from gateway.wire.mllp import VT, BadFrame, Decoder, Frame

STDIN = "-"
"""The name that stands for standard input."""

SUFFIXES = frozenset({".hl7", ".er7", ".mllp", ".msg"})
"""Which files of a folder are messages; a file named by itself may be called anything."""

_LARGEST = 256 << 20
_BLANK = re.compile(rb"(?:\xef\xbb\xbf|[\r\n ])*")
_NEXT_MSH = re.compile(rb"(?<=[\r\n])(?=MSH[^A-Za-z0-9\x00-\x20])")


class SourceUnusable(OperatorError):
    """A file or folder cannot be sent; `name` and `reason` say which and why, never what is in it."""

    def __init__(self, *, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


def read(names: Iterable[str | Path], *, stdin: BinaryIO | None = None) -> tuple[Outgoing, ...]:
    """Read every message of the files, folders (recursively, in name order) and of standard input (`-`).

    A file holds one message, several MLLP frames, several messages each beginning with MSH, or one batch (FHS, BHS).
    Raises SourceUnusable.
    """
    return tuple(message for name in names for message in _read_one(name, stdin))


def _read_one(name: str | Path, stdin: BinaryIO | None) -> Iterator[Outgoing]:
    if str(name) == STDIN:
        if stdin is None:
            raise SourceUnusable(name="standard input", reason="is not open")
        yield from split(stdin.read(), name="stdin")
        return
    path = Path(name)
    for file in _files(path) if path.is_dir() else (path,):
        yield from split(_bytes_of(file), name=str(file))


def _files(folder: Path) -> tuple[Path, ...]:
    found = tuple(sorted(p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file()))
    if not found:
        raise SourceUnusable(name=str(folder), reason=f"holds no file that ends in {', '.join(sorted(SUFFIXES))}")
    return found


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SourceUnusable(name=str(file), reason=error.strerror or "cannot be read") from error


def split(data: bytes, *, name: str) -> tuple[Outgoing, ...]:
    """Cut the bytes of one file into messages. Raises SourceUnusable when there is none or a frame is broken."""
    blank = _BLANK.match(data)
    start = blank.end() if blank else 0
    if start == len(data):
        raise SourceUnusable(name=name, reason="holds no message")
    if data[start] == VT:
        payloads = tuple(_frames(data, name))
    elif data.startswith((b"FHS", b"BHS"), start):
        payloads = (data,)
    else:
        payloads = _messages(data, start)
    if len(payloads) == 1:
        return (Outgoing(payload=payloads[0], origin=name),)
    return tuple(Outgoing(payload=p, origin=f"{name}#{place}") for place, p in enumerate(payloads, start=1))


def _frames(data: bytes, name: str) -> Iterator[bytes]:
    """Give the payload of each MLLP frame; bytes between frames are not sent."""
    decoder = Decoder(max_message_bytes=_LARGEST)
    items = [*decoder.feed(data)]
    cut_off = decoder.in_frame and not decoder.awaits_silence
    for item in (*items, *decoder.end()):
        match item:
            case Frame(payload=payload):
                yield payload
            case BadFrame(kind=kind):
                raise SourceUnusable(name=name, reason=f"holds a broken MLLP frame ({kind})")
            case _:
                continue  # noise between frames, counted by listeners, not by a reader of files
    if cut_off:
        raise SourceUnusable(name=name, reason="ends in the middle of an MLLP frame")


def _messages(data: bytes, start: int) -> tuple[bytes, ...]:
    """Cut before every MSH but the first; what stands before the first belongs to it."""
    cuts = [0, *(match.start() for match in _NEXT_MSH.finditer(data, start + 1)), len(data)]
    return tuple(data[begin:end] for begin, end in pairwise(cuts))
