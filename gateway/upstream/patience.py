"""How long each send has waited for its answer. Starts a clock only once the frame has left the write buffer."""

import asyncio
from collections.abc import Callable

from gateway.model.upstream import Callback
from gateway.upstream.pipe import Pipe

_LOOK_EVERY = 0.05
"""Seconds between two looks at a write buffer that has not emptied yet."""


class Patience:
    """The clocks of one connection's sends; `silent` hears of a send whose `seconds` have passed."""

    def __init__(self, pipe: Pipe, *, seconds: float, silent: Callable[[Callback], None]) -> None:
        self._pipe = pipe
        self._seconds = seconds
        self._silent = silent
        self._clocks: dict[Callback, asyncio.TimerHandle] = {}
        self._leaving: dict[Callback, int] = {}
        self._looking: asyncio.TimerHandle | None = None

    def begin(self, callback: Callback, mark: int | None) -> None:
        """Begin to wait; `mark` is what the write gave."""
        if mark is None:
            loop = asyncio.get_running_loop()
            self._clocks[callback] = loop.call_later(self._seconds, self._ring, callback)
            return
        self._leaving[callback] = mark
        self._look_later()

    def end(self, callback: Callback) -> None:
        """Stop waiting for one send."""
        self._leaving.pop(callback, None)
        clock = self._clocks.pop(callback, None)
        if clock is not None:
            clock.cancel()

    def end_all(self) -> None:
        """Stop waiting for every send."""
        self._leaving.clear()
        for clock in self._clocks.values():
            clock.cancel()
        self._clocks.clear()
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def _ring(self, callback: Callback) -> None:
        del self._clocks[callback]
        self._silent(callback)

    def _look_later(self) -> None:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(_LOOK_EVERY, self._look)

    def _look(self) -> None:
        self._looking = None
        for callback in [each for each, mark in self._leaving.items() if self._pipe.has_left(mark)]:
            del self._leaving[callback]
            self.begin(callback, None)
        if self._leaving and self._pipe.is_open:
            self._look_later()
