"""Carries observations of the store's threads to the loop. Knows nothing of what they tell."""

import asyncio
import contextlib
from functools import partial

from gateway.ports.observe import Fact, Observer


class Relay:
    """An observer for threads: tells the real one on its loop; a loop that is gone is told nothing."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._loop = asyncio.get_running_loop()

    def event(self, name: str, /, **facts: Fact) -> None:
        """Pass one event on, without waiting."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(partial(self._observer.event, name, **facts))
