"""SIGTERM, SIGINT and SIGHUP as an event, and as nothing else."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""A configuration is read at the start only, so a hang-up is what it is by default: the end, but an orderly one."""


@contextmanager
def stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` on the first signal; the loop's own handling is back afterwards."""
    loop = asyncio.get_running_loop()
    for number in STOPPING:
        loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in STOPPING:
            loop.remove_signal_handler(number)
