"""The answers of one connection on their way out: in frame order, those ready together in one write."""

import asyncio
from collections import deque
from collections.abc import Callable

from gateway.listener.slots import Line, Slot
from gateway.wire.mllp import encode


class Outgoing:
    """Writes answers in the order of their frames.

    `slots` are the frames without an answer on the wire, `held` their bytes. `flushed` is called after each write,
    `stuck` when the peer has read nothing for `patience` seconds while answers wait. `backlog` gives the bytes that the
    socket has not taken yet.
    """

    __slots__ = (
        "_backlog",
        "_flush_due",
        "_flushed",
        "_is_blocked",
        "_loop",
        "_patience",
        "_stuck",
        "_timer",
        "_transport",
        "held",
        "slots",
    )

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        *,
        backlog: Callable[[], int],
        patience: float,
        flushed: Callable[[bool], None],
        stuck: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._backlog = backlog
        self._patience = patience
        self._flushed = flushed
        self._stuck = stuck
        self.slots: deque[Slot] = deque()
        self.held = 0
        self._flush_due = False
        self._is_blocked = False
        self._timer: asyncio.TimerHandle | None = None

    def slot(self, line: Line, *, size: int = 0) -> Slot:
        """Open the next frame's place in the line; `size` in bytes."""
        slot = Slot(line, self._ready, size=size)
        self.slots.append(slot)
        self.held += size
        return slot

    def push(self, answer: bytes) -> bool:
        """Write an answer that belongs to no slot; False if the connection is closing."""
        if self._transport.is_closing():
            return False
        self._write(encode(answer))
        return True

    def block(self) -> None:
        """Stop writing: the peer does not read."""
        self._is_blocked = True
        self._watch(self._backlog())

    def unblock(self) -> None:
        """Go on writing."""
        self._is_blocked = False
        self._stop_timer()
        self._ready()
        self._watch_backlog()

    def drop(self) -> None:
        """Give up every open slot."""
        self._is_blocked = True
        self._stop_timer()
        self.held = 0
        while self.slots:
            self.slots.popleft().drop()

    def _ready(self) -> None:
        if self._flush_due or not self.slots or self.slots[0].reply is None:
            return
        if len(self.slots) == 1:
            self._flush()
        else:
            # Others of the same commit become ready in this turn of the loop: one write for all of them.
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        if self._is_blocked or self._transport.is_closing():
            return
        slots = self.slots
        if len(slots) == 1 and (reply := slots[0].reply) is not None:
            # The sender that waits for each answer: by far the most common.
            if reply.answer:
                self._write(encode(reply.answer))
            self.held -= slots[0].size
            slots.popleft().leave()
            self._flushed(reply.closes)
            return
        leaving, closes = self._leaving()
        frames = [encode(slot.reply.answer) for slot in leaving if slot.reply is not None and slot.reply.answer]
        if frames:
            self._write(frames[0] if len(frames) == 1 else b"".join(frames))
        for slot in leaving:
            slot.leave()
        self._flushed(closes)

    def _leaving(self) -> tuple[list[Slot], bool]:
        leaving: list[Slot] = []
        while self.slots and (reply := self.slots[0].reply) is not None:
            self.held -= self.slots[0].size
            leaving.append(self.slots.popleft())
            if reply.closes:
                return leaving, True
        return leaving, False

    def _write(self, data: bytes) -> None:
        self._transport.write(data)
        self._watch_backlog()

    def _watch_backlog(self) -> None:
        # Not only when told to pause: TLS hands one large answer on, and does not say that the socket did not take it.
        if self._timer is None and (size := self._backlog()):
            self._watch(size)

    def _watch(self, size: int) -> None:
        self._stop_timer()
        self._timer = self._loop.call_later(self._patience, self._check, size)

    def _check(self, size: int) -> None:
        self._timer = None
        now = self._backlog()
        if now >= size:
            self._stuck()
        elif now or self._is_blocked:
            self._watch(now)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
