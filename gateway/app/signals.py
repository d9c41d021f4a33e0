"""SIGTERM and SIGINT as an event, and as nothing else."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

STOPPING = (signal.SIGTERM, signal.SIGINT)


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
