"""The clocks of one connection: a frame that stalls, a missing CR, an idle peer. Looks at the time, never at bytes."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from gateway.listener.options import Patience
from gateway.wire.mllp import Decoder


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """What is called when a clock runs out."""

    silent: Callable[[], None]
    stalled: Callable[[], None]
    idle: Callable[[], None]


class Watch:
    """Times one connection by the loop's clock; stands still while the gateway itself does not read."""

    __slots__ = ("_alarms", "_began", "_decoder", "_is_quiet", "_last", "_loop", "_patience", "_stopped", "_timer")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        patience: Patience,
        decoder: Decoder,
        *,
        alarms: Alarms,
        is_quiet: Callable[[], bool],
    ) -> None:
        self._loop = loop
        self._patience = patience
        self._decoder = decoder
        self._alarms = alarms
        self._is_quiet = is_quiet
        self._last = self._began = loop.time()
        self._stopped: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._arm()

    def bytes_came(self, count: int) -> None:
        """Note that `count` bytes were fed to the decoder."""
        self._last = self._loop.time()
        if self._decoder.in_frame:
            if self._decoder.frame_size <= count:
                self._began = self._last
            self._arm()
        elif self._patience.idle and self._timer is None:
            self._arm()

    def stop(self) -> None:
        """Stand still: reading is paused."""
        if self._stopped is None:
            self._stopped = self._loop.time()

    def run(self) -> None:
        """Go on: the pause does not count."""
        if self._stopped is not None:
            pause = self._loop.time() - self._stopped
            self._last += pause
            self._began += pause
            self._stopped = None
            self._arm()

    def close(self) -> None:
        """Stop for good."""
        self._stopped = self._loop.time()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> float | None:
        patience = self._patience
        if self._stopped is not None:
            return None
        if self._decoder.awaits_silence:
            return self._last + patience.silence
        if self._decoder.in_frame:
            whole = self._began + patience.frame + self._decoder.frame_size / patience.rate
            return min(self._last + patience.frame, whole)
        return self._last + patience.idle if patience.idle else None

    def _arm(self) -> None:
        due = self._due()
        if due is None:
            return
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        due = self._due()
        if due is None:
            return
        if due > self._loop.time():
            self._arm()
        elif self._decoder.awaits_silence:
            self._alarms.silent()
        elif self._decoder.in_frame:
            self._alarms.stalled()
        elif self._is_quiet():
            self._alarms.idle()
        else:
            # An answer is still owed: the peer is waiting for us, not we for it.
            self._last = self._loop.time()
            self._arm()
