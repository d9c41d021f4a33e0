"""The receiver's durable memory: JSON lines, synced before anything is answered. Knows files, not sockets.

FILE holds one line per message taken. A line whose outcome was known at once carries it; a later outcome goes to
FILE.outcomes and names its line by number. A crash can tear only the last line, which nobody was told about.
"""

import asyncio
import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from gateway.errors import OperatorError, Unavailable
from gateway.receiver.values import Reply, Taken

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line read back: its number (from 0), when it was taken (Unix ms), and its outcome if there was one."""

    number: int
    at: int
    taken: Taken
    outcome: Reply | None


class Journal:
    """Appends lines in the order of the calls; several waiting lines share one sync. `path` None: memory only."""

    def __init__(self, path: Path | None) -> None:
        self._lines = _File(path)
        self._outcomes = _File(None if path is None else path.with_name(path.name + ".outcomes"))
        self._count = 0

    def open(self, meet: Callable[[Line], None]) -> None:
        """Open both files (0600, locked), drop a torn last line, and let `meet` see every line in order.

        Raises OperatorError when a file cannot be opened, is in use by another process, or is no journal.
        """
        self._outcomes.open()
        outcomes: dict[int, Reply] = {}
        self._outcomes.read(lambda _, found: outcomes.__setitem__(found["line"], _reply(found)))
        self._lines.open()

        def each(number: int, found: dict[str, Any]) -> None:
            inline = found.get("outcome")
            meet(_line(number, found, outcomes.get(number) if inline is None else _reply(inline)))
            self._count = number + 1

        self._lines.read(each)

    def take(self, taken: Taken, *, at: int, outcome: Reply | None) -> "tuple[int, asyncio.Future[None]]":
        """Append one message taken at `at` (Unix ms); gives its number and a future that is done once it is durable."""
        number = self._count
        self._count += 1
        return number, self._lines.append(_taken_bytes(taken, at, outcome))

    async def settle(self, line: int, outcome: Reply) -> None:
        """Append the outcome of line number `line`; returns once it is durable."""
        await self._outcomes.append(orjson.dumps({"line": line, **_outcome(outcome)}) + b"\n")

    def shut(self) -> None:
        """Close both files at once; for when nothing was written yet."""
        self._lines.shut()
        self._outcomes.shut()

    async def close(self) -> None:
        """Finish what is being written, then close."""
        await self._lines.close()
        await self._outcomes.close()


class _File:
    """One append-only file with a group sync."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._flusher: asyncio.Task[None] | None = None
        self._broken: str | None = None

    def open(self) -> None:
        if self._path is None:
            return
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._file = os.fdopen(descriptor, "r+b", buffering=0)
            os.fchmod(descriptor, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as trouble:
            raise OperatorError(f"journal {self._path}: {trouble.strerror}") from trouble
        self._drop_torn_line(self._file)
        _sync_folder(self._path.parent)

    def _drop_torn_line(self, file: BinaryIO) -> None:
        """Cut what stands behind the last line end: it was never synced whole, so it was never answered."""
        end = file.seek(0, os.SEEK_END)
        keep = end
        while keep > 0:
            start = max(0, keep - _BLOCK)
            file.seek(start)
            cut = file.read(keep - start).rfind(b"\n")
            if cut >= 0:
                keep = start + cut + 1
                break
            keep = start
        if keep != end:
            file.truncate(keep)

    def read(self, meet: Callable[[int, dict[str, Any]], None]) -> None:
        if self._path is None:
            return
        with self._path.open("rb") as reader:
            for number, line in enumerate(reader):
                try:
                    meet(number, orjson.loads(line))
                except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as trouble:
                    raise OperatorError(f"journal {self._path}: line {number + 1} is not ours") from trouble

    def append(self, data: bytes) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        if self._broken is not None:
            done.set_exception(Unavailable(reason=self._broken))
        elif self._file is None:
            done.set_result(None)
        else:
            self._waiting.append((data, done))
            if self._flusher is None:
                self._flusher = loop.create_task(self._flush(self._file))
        return done

    async def _flush(self, file: BinaryIO) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting, []
                if self._broken is None:
                    await self._write(file, b"".join(data for data, _ in group))
                for _, done in group:
                    if done.done():
                        continue
                    if self._broken is None:
                        done.set_result(None)
                    else:
                        done.set_exception(Unavailable(reason=self._broken))
        finally:
            self._flusher = None

    async def _write(self, file: BinaryIO, data: bytes) -> None:
        try:
            await asyncio.to_thread(_write_synced, file, data)
        except OSError as trouble:
            # Part of the group may be on the disk: nothing positive is said any more, and nothing written behind it.
            self._broken = f"journal: {trouble.strerror}"

    async def close(self) -> None:
        if self._flusher is not None:
            await self._flusher
        self.shut()

    def shut(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _write_synced(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
    os.fdatasync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _taken_bytes(taken: Taken, at: int, outcome: Reply | None) -> bytes:
    found: dict[str, Any] = {
        "callback": taken.callback,
        "channel": taken.channel,
        "remote": taken.remote,
        "body": taken.body,
        "repeat": taken.repeat,
        "runs": taken.runs,
        "at": at,
        "control_id": taken.control_id,
    }
    if taken.epoch is not None:
        found["epoch"] = taken.epoch
    if outcome is not None:
        found["outcome"] = _outcome(outcome)
    return orjson.dumps(found) + b"\n"


def _outcome(outcome: Reply) -> dict[str, Any]:
    return {"statusCode": outcome.status, "body": outcome.body, "retryAfter": outcome.retry_after}


def _reply(found: dict[str, Any]) -> Reply:
    return Reply(body=found["body"], status=found["statusCode"], retry_after=found["retryAfter"])


def _line(number: int, found: dict[str, Any], outcome: Reply | None) -> Line:
    taken = Taken(
        callback=found["callback"],
        channel=found["channel"],
        remote=found["remote"],
        body=found["body"],
        epoch=found.get("epoch"),
        control_id=found["control_id"],
        repeat=found["repeat"],
        runs=found["runs"],
    )
    return Line(number=number, at=found["at"], taken=taken, outcome=outcome)
