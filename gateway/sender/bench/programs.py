"""Starts and ends the programs of a bench, and waits for what they say. Measures nothing."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from gateway.sender.bench.options import BenchFailed

_START_PATIENCE = 60.0
_STOP_PATIENCE = 30.0
_LOOK_EVERY = 0.02
_LINE = 1 << 22
"""Longest line a generator may write."""

Child = asyncio.subprocess.Process


def _environment() -> dict[str, str]:
    """Give our environment without what would configure the gateway from outside."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GATEWAY_")}


@asynccontextmanager
async def server(command: Sequence[str], *, ready: Path, log: Path) -> AsyncIterator[tuple[Child, dict[str, Any]]]:
    """Run a program that writes a ready file; gives it and the file's facts. Raises BenchFailed."""
    with _log(ready, log) as errors:
        child = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=errors, stderr=errors, env=_environment()
        )
    try:
        yield child, await _facts(child, ready, log)
    finally:
        await _end(child)


def _log(ready: Path, log: Path) -> BinaryIO:
    """Open a program's log, and forget what an earlier one was ready with."""
    ready.unlink(missing_ok=True)
    return log.open("ab")


async def _facts(child: Child, ready: Path, log: Path) -> dict[str, Any]:
    """Wait for the ready file. Raises BenchFailed when it does not come."""
    end = asyncio.get_running_loop().time() + _START_PATIENCE
    while (facts := _read(ready)) is None:
        if child.returncode is not None or asyncio.get_running_loop().time() > end:
            raise BenchFailed(f"a program did not start; its last words: {_last_words(log)}")
        # Another process makes the file: there is no event to wait for.
        await asyncio.sleep(_LOOK_EVERY)
    return facts


def _read(ready: Path) -> dict[str, Any] | None:
    if not ready.exists():
        return None
    facts: dict[str, Any] = orjson.loads(ready.read_bytes())
    return facts


def _last_words(log: Path) -> str:
    return log.read_text(errors="replace").strip()[-500:] or "none"


@asynccontextmanager
async def helper(*command: str) -> AsyncIterator[Child]:
    """Run a program that speaks over standard input and output; ended with the context, whatever it does."""
    child = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_LINE, env=_environment()
    )
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()


async def tell(child: Child, line: bytes) -> None:
    """Write one line to a helper."""
    assert child.stdin is not None  # noqa: S101 - helpers are started with a pipe
    child.stdin.write(line + b"\n")
    with suppress(ConnectionError):  # a helper that died says so by its silence
        await child.stdin.drain()


async def heard(child: Child, *, patience: float) -> bytes:
    """Read one line of a helper. Raises BenchFailed when it ends, or says nothing for `patience` seconds."""
    assert child.stdout is not None  # noqa: S101 - helpers are started with a pipe
    try:
        async with asyncio.timeout(patience):
            line = await child.stdout.readline()
    except TimeoutError:
        line = b""
    if not line:
        raise BenchFailed("a load generator stopped or hung; its own error is above")
    return line.strip()


async def _end(child: Child) -> None:
    """Ask a program to stop; one that does not is killed."""
    with suppress(ProcessLookupError):
        child.terminate()
    try:
        async with asyncio.timeout(_STOP_PATIENCE):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()
