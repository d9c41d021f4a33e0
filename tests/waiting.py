"""Waiting for what another process does. The one place of the suite that looks again and again.

Files and tables of another process cannot be awaited; no test waits a fixed time for anything.
"""

import asyncio
from collections.abc import Awaitable, Callable

LOOK_AGAIN = 0.01


async def until(holds: Callable[[], bool], *, patience: float) -> None:
    """Wait until `holds` is true. Raises TimeoutError after `patience` seconds."""
    async with asyncio.timeout(patience):
        while not holds():  # noqa: ASYNC110 - see the module
            await asyncio.sleep(LOOK_AGAIN)


async def until_async(holds: Callable[[], Awaitable[bool]], *, patience: float) -> None:
    """Wait until `holds`, which asks another process, is true. Raises TimeoutError after `patience` seconds."""
    async with asyncio.timeout(patience):
        while not await holds():  # noqa: ASYNC110 - see the module
            await asyncio.sleep(LOOK_AGAIN)
