"""A connection's frames on their way to the intake, in their order. Holds them back while too many are unanswered."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import assert_never

from gateway.listener.intake import FrameIntake, Reading
from gateway.listener.options import ChannelOptions
from gateway.listener.outgoing import Outgoing
from gateway.listener.rate import Rate
from gateway.listener.reading import Unfit
from gateway.listener.slots import Line, Slot
from gateway.ports.observe import Observer
from gateway.wire.header import is_wide
from gateway.wire.mllp import Anomaly, AnomalyKind, BadFrame, Close, Frame, Item

LARGE = 256 << 10
"""Longer payloads are hashed and decoded on another thread, so that other connections are served meanwhile."""

WIDE = "looks-like-utf-16"
"""Kind of a frame in UTF-16 or UTF-32, whose header nobody can read."""

_FRAMES = (Frame, BadFrame)


class Reception:
    """Takes what the decoder found; `changed` is called when frames that were held back have gone on.

    `held` counts the bytes of frames that wait for their turn.
    """

    __slots__ = (
        "_allowance",
        "_backlog",
        "_changed",
        "_held",
        "_intake",
        "_is_aside",
        "_is_overloaded",
        "_line",
        "_loop",
        "_observer",
        "_options",
        "_outgoing",
        "_rate",
        "_slots",
        "_turn",
        "ending",
        "frames",
        "held",
    )

    def __init__(
        self,
        options: ChannelOptions,
        *,
        intake: FrameIntake,
        observer: Observer,
        rate: Rate,
        outgoing: Outgoing,
        line: Line,
        loop: asyncio.AbstractEventLoop,
        changed: Callable[[], None],
    ) -> None:
        self.ending: AnomalyKind | None = None
        self.frames = 0
        self.held = 0
        self._options = options
        self._intake = intake
        self._observer = observer
        self._rate = rate
        self._outgoing = outgoing
        self._slots = outgoing.slots
        self._line = line
        self._loop = loop
        self._changed = changed
        self._backlog: deque[Item] = deque()
        self._allowance = options.max_pipelined
        self._is_overloaded = False
        self._is_aside = False
        self._held: Frame | None = None
        self._turn: asyncio.TimerHandle | None = None

    @property
    def has_room(self) -> bool:
        """True while more bytes may be read."""
        is_held = self._backlog or self._is_aside or self._held is not None or self.ending is not None
        return not is_held and len(self._slots) < self._allowance

    @property
    def is_empty(self) -> bool:
        """True when every frame read so far has been given to the intake."""
        return not self._backlog and not self._is_aside and self._held is None

    def take(self, items: list[Item]) -> None:
        """Take the decoder's items, in order."""
        self._backlog.extend(items)
        for item in items:
            if isinstance(item, Frame):
                self.held += len(item.payload)
        self._go()

    def room_made(self) -> None:
        """Go on after answers have left."""
        if self._is_overloaded and len(self._slots) < self._options.max_pipelined:
            self._is_overloaded = False
            self._allowance = self._options.max_pipelined
        if self._backlog:
            self._go()

    def lose_patience(self) -> None:
        """Turn away what is held back: reading must not stop for longer."""
        self._is_overloaded = True
        self._allowance = len(self._slots) + self._options.max_pipelined
        self._stop_turn()
        if self._held is not None:
            frame, self._held = self._held, None
            self._turn_away(frame)
        self._go()

    def note_lost(self, items: list[Item]) -> None:
        """Note what was odd about the last bytes of a connection that is gone; its open frame is never stored."""
        for item in items:
            if isinstance(item, Anomaly):
                self._note(item.kind, item.offset, item.bytes_hex, item.count)

    def close(self) -> None:
        """Forget what is held back: the connection is gone."""
        self._stop_turn()
        self._held = None
        self._backlog.clear()
        self.held = 0

    def _go(self) -> None:
        while self._backlog and not self._is_aside and self._held is None:
            item = self._backlog[0]
            if isinstance(item, _FRAMES) and len(self._slots) >= self._allowance:
                return
            self._pass_on(self._backlog.popleft())

    def _pass_on(self, item: Item) -> None:
        match item:
            case Frame():
                self._receive(item)
            case BadFrame():
                self.frames += 1
                self._note(item.kind, item.offset, "", item.size)
                self._intake.take_spoiled(item, self._outgoing.slot(self._line))
            case Anomaly():
                self._note(item.kind, item.offset, item.bytes_hex, item.count)
            case Close():
                self.ending = item.reason
            case _:
                assert_never(item)

    def _receive(self, frame: Frame) -> None:
        self.frames += 1
        if self._is_overloaded:
            self._turn_away(frame)
            return
        wait = self._rate.reserve(self._loop.time(), longest=self._options.patience.pause)
        if wait == 0:
            self._admit(frame)
            return
        self._held = frame
        if wait is not None:
            self._turn = self._loop.call_later(wait, self._take_turn)

    def _take_turn(self) -> None:
        frame, self._held = self._held, None
        self._turn = None
        if frame is not None:
            self._admit(frame)
            self._resume()

    def _admit(self, frame: Frame) -> None:
        slot = self._slot(frame)
        if len(frame.payload) <= LARGE:
            self._take(self._intake.read(frame.payload, self._line.peer), frame, slot)
            return
        self._is_aside = True

        def read_aside(done: "asyncio.Future[Reading]") -> None:
            self._is_aside = False
            self._take(done.result(), frame, slot)
            self._resume()

        reading = self._intake.reading(frame.payload, self._line.peer)
        self._loop.run_in_executor(None, reading).add_done_callback(read_aside)

    def _take(self, reading: Reading, frame: Frame, slot: Slot) -> None:
        if isinstance(reading, Unfit) and reading.header is None and is_wide(frame.payload):
            self._note(WIDE, frame.offset, "", len(frame.payload))
        task = self._intake.take(reading, frame.payload, slot)
        if task is None:
            return
        self._is_aside = True

        def admitted(_: "asyncio.Task[None]") -> None:
            self._is_aside = False
            self._resume()

        task.add_done_callback(admitted)

    def _resume(self) -> None:
        self._go()
        self._changed()

    def _turn_away(self, frame: Frame) -> None:
        self._intake.turn_away(frame.payload, self._slot(frame), reason="load")

    def _slot(self, frame: Frame) -> Slot:
        size = len(frame.payload)
        self.held -= size
        return self._outgoing.slot(self._line, size=size)

    def _note(self, kind: str, offset: int, bytes_hex: str, count: int) -> None:
        self._observer.anomaly(
            channel=self._options.name,
            peer=self._line.peer.text,
            kind=str(kind),
            offset=offset,
            bytes_hex=bytes_hex,
            count=count,
        )

    def _stop_turn(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
