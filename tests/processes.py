"""Real processes for the campaigns: started, waited for, killed by their own id."""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.waiting import until

ROOT = Path(__file__).parent.parent
START_PATIENCE = 30.0


class DidNotStart(AssertionError):
    """A program ended, or was silent, before it said that it listens."""


@dataclass(kw_only=True)
class Program:
    """One running program that writes a ready file."""

    process: asyncio.subprocess.Process
    ready: dict[str, Any]

    @classmethod
    async def start(cls, arguments: list[str], *, ready: Path, log: Path) -> Self:
        """Start `python ARGUMENTS` and wait for its ready file; its standard error is appended to `log`."""
        ready.unlink(missing_ok=True)
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *arguments,
                cwd=ROOT,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=errors,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            )
        try:
            facts = await _ready(process, ready)
        except (TimeoutError, DidNotStart):
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise DidNotStart(f"{arguments}: {log.read_text()[-2000:]}") from None
        return cls(process=process, ready=facts)

    async def killed(self) -> None:
        """Wait until it is gone by SIGKILL."""
        code = await self.process.wait()
        assert code == -signal.SIGKILL, f"ended by itself with {code}"

    async def kill(self) -> None:
        """Kill it now, if it lives."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        """Ask it to stop, and give its exit code."""
        with suppress(ProcessLookupError):
            self.process.terminate()
        return await self.process.wait()


async def _ready(process: asyncio.subprocess.Process, ready: Path) -> dict[str, Any]:
    """Wait for the ready file."""
    await until(lambda: ready.exists() or process.returncode is not None, patience=START_PATIENCE)
    if not ready.exists():
        raise DidNotStart
    facts: dict[str, Any] = json.loads(ready.read_text())
    return facts


async def command(*arguments: str) -> bytes:
    """Run a command of the gateway to its end and give its output."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, f"{arguments} ended with {process.returncode}"
    return output
