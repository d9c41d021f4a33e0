"""MLLP framing. Knows bytes, not sockets or HL7 (beyond the segment names it must not glue).

A frame is VT payload FS CR. The decoder takes bytes cut anywhere and yields what they mean; it never reads a clock:
the session tells it about silence and the end of input.
"""

import re
from enum import Enum, auto
from typing import assert_never

from gateway.model.policy import Framing
from gateway.wire import noise
from gateway.wire.frames import (
    CR,
    FS,
    HEAD_BYTES,
    LF,
    NUL,
    VT,
    Anomaly,
    AnomalyKind,
    BadFrame,
    Close,
    Frame,
    Item,
)

__all__ = ["CR", "FS", "LF", "VT", "Anomaly", "AnomalyKind", "BadFrame", "Close", "Decoder", "Frame", "Item", "encode"]

_OPENINGS = (b"MSH", b"FHS", b"BHS", b"\xef\xbb\xbfMSH", b"\xef\xbb\xbfFHS", b"\xef\xbb\xbfBHS")
_LONGEST_OPENING = 6
_SEPARATOR = re.compile(rb"(?:\xef\xbb\xbf|[\r\n ])*(?:MSH|FHS|BHS)(.)", re.DOTALL)
_NEXT_SEGMENT = re.compile(rb"[\r\n\0]*([A-Za-z][A-Za-z0-9]{2})(.)", re.DOTALL)
_BLANK = re.compile(rb"[\xef\xbb\xbf \t\r\n\0]*\Z")


class _State(Enum):
    BETWEEN = auto()  # skipping to the next VT
    OPENED = auto()  # VT read, nothing behind it yet
    PAYLOAD = auto()
    ENDING = auto()  # FS read, its CR is missing


class Decoder:
    """Incremental and linear: feed bytes as they come, get items in order. Silent after a Close."""

    def __init__(self, *, framing: Framing = Framing.TOLERANT, max_message_bytes: int = 16 << 20) -> None:
        self._strict = framing is Framing.STRICT
        self._cap = max_message_bytes
        self._state = _State.BETWEEN
        self._offset = 0  # of the first byte in hand, in the connection
        self._held = b""  # bytes whose meaning the next ones decide
        self._next_fs = -1  # in the bytes in hand, so that each is searched once
        self._began = 0  # offset of the open frame's VT
        self._buffer = bytearray()  # the open frame's payload of earlier feeds ...
        self._piece = b""  # ... and of this one, up to FS
        self._frame: int | None = None  # offset of the frame just ended
        self._after_frame = False  # only blanks and trailers came since
        self._is_first = True  # neither VT nor noise came yet
        self._last_words: AnomalyKind | None = None  # close with this once the open frame has its answer
        self._closed = False
        self._items: list[Item] = []
        self._tally: dict[AnomalyKind, Anomaly] = {}

    @property
    def in_frame(self) -> bool:
        """True from a VT until the frame ended."""
        return self._state is not _State.BETWEEN

    @property
    def frame_size(self) -> int:
        """Payload bytes of the open frame so far."""
        return len(self._buffer) + len(self._piece) + (len(self._held) if self.in_frame else 0)

    @property
    def awaits_silence(self) -> bool:
        """True when FS followed a segment end and its CR is missing: 1 s of silence ends the frame (tolerant)."""
        return (
            self._state is _State.ENDING and not self._strict and (self._piece or self._buffer)[-1:] in (b"\r", b"\n")
        )

    def feed(self, data: bytes) -> list[Item]:
        """Take bytes. A frame is given with its last byte; no later byte delays it."""
        if self._closed:
            return []
        if (frame := self._whole(data)) is not None:
            return [frame]
        if self._held:
            data, self._held = self._held + data, b""
        at, self._next_fs = 0, -1
        while at < len(data) and not self._closed:
            at = self._step(data, at)
        self._offset += len(data) - len(self._held)
        return self._taken()

    def _whole(self, data: bytes) -> Frame | None:
        """Take the usual case, exactly one faultless frame, without stepping; None: it is not that case."""
        if not data.startswith(b"\x0bMSH") or self._state is not _State.BETWEEN or self._held:
            return None
        end = data.find(FS)
        if end != len(data) - 2 or data[-1] != CR or end - 1 > self._cap or data.find(VT, 1) >= 0:
            return None
        self._open(self._offset)
        self._state, self._frame, self._after_frame = _State.BETWEEN, self._began, True
        self._offset += len(data)
        return Frame(data[1:end], self._began)

    def silence(self) -> list[Item]:
        """Tell it that 1 s passed without a byte while `awaits_silence`."""
        if self._closed or not self.awaits_silence:
            return []
        self._note(AnomalyKind.MISSING_CR, self._offset - 1)
        self._complete(b"", 0)
        return self._taken()

    def end(self) -> list[Item]:
        """Tell it that the peer ended its input; FS at the very end ends its frame (tolerant)."""
        if self._closed:
            return []
        if self._state is _State.ENDING and self._strict:
            self._refuse(AnomalyKind.MISSING_CR)
        elif self._state is _State.ENDING:
            self._note(AnomalyKind.MISSING_CR, self._offset - 1)
            self._complete(b"", 0)
        elif self.in_frame:
            self._abandon()
        else:
            self._skip(self._held, self._offset)
        self._closed = True
        return self._taken()

    def give_up(self) -> list[Item]:
        """Tell it that the session waits no longer for the rest of the open frame: it is abandoned."""
        if self._closed or not self.in_frame:
            return []
        self._abandon()
        self._close(AnomalyKind.TRUNCATED)
        return self._taken()

    def _step(self, data: bytes, at: int) -> int:
        match self._state:
            case _State.BETWEEN:
                return self._between(data, at)
            case _State.OPENED:
                return self._opened(data, at)
            case _State.PAYLOAD:
                return self._payload(data, at)
            case _State.ENDING:
                return self._ending(data, at)
            case _:
                assert_never(self._state)

    def _between(self, data: bytes, at: int) -> int:
        vt = data.find(VT, at)
        end = vt if vt >= 0 else len(data)
        if self._offset + at == 0 and end and self._is_foreign(data[:end], is_whole=vt >= 0):
            return len(data)
        if vt < 0:
            end -= noise.undecided(data[at:], after_frame=self._after_frame)
            self._held = data[end:]
        if end > at:
            self._skip(data[at:end], self._offset + at)
        if vt < 0 or self._closed:
            return len(data)
        self._open(self._offset + vt)
        return vt + 1

    def _is_foreign(self, head: bytes, *, is_whole: bool) -> bool:
        """Look at the first bytes of the connection: True when they are dealt with or held back."""
        if kind := noise.foreign(head):
            self._note(kind, 0, count=len(head))
            self._close(kind)
            return True
        if not is_whole and noise.is_maybe_foreign(head):
            self._held = head
            return True
        return False

    def _skip(self, stretch: bytes, offset: int) -> None:
        """Count bytes that belong to no frame; strict framing ends with the first that is no doubled trailer."""
        reason = None
        for kind, first, number in noise.count(stretch, after_frame=self._after_frame):
            reason = reason or (kind if kind is not AnomalyKind.DOUBLED_TRAILER else None)
            if kind is AnomalyKind.NOISE:
                self._skip_noise(stretch[first:], offset + first, number)
            else:
                self._note(kind, offset + first, count=number, shown=noise.SHOWN[kind])
        if self._strict and reason:
            self._close(
                AnomalyKind.TRAILING_DATA if reason is AnomalyKind.NOISE and self._frame is not None else reason
            )

    def _skip_noise(self, stretch: bytes, offset: int, number: int) -> None:
        # Right after a frame it may be the rest of a message whose text held FS CR, so it is never shown.
        kind = AnomalyKind.NOISE if self._frame is None else AnomalyKind.TRAILING_DATA
        shown = stretch[:16] if self._is_first and noise.is_showable(stretch) else b""
        self._note(kind, offset, count=number, shown=shown)
        self._after_frame = self._is_first = False

    def _open(self, offset: int) -> None:
        self._state, self._began = _State.OPENED, offset
        self._frame, self._after_frame, self._is_first = None, False, False

    def _opened(self, data: bytes, at: int) -> int:
        if data[at] != VT:
            self._state = _State.PAYLOAD
            return at
        if self._strict:
            self._refuse(AnomalyKind.DOUBLED_VT)
        else:
            self._note(AnomalyKind.DOUBLED_VT, self._offset + at, shown=b"\x0b")
        return at + 1

    def _payload(self, data: bytes, at: int) -> int:
        if self._next_fs < at:
            fs = data.find(FS, at)
            self._next_fs = fs if fs >= 0 else len(data)
        end = self._next_fs
        # Behind the byte that makes the frame too long nothing has a meaning any more, in whatever pieces it came.
        last = min(end, at + self._cap - len(self._buffer) + 1)
        vt = data.find(VT, at, last)
        while vt >= 0:
            behind = data[vt + 1 : vt + 1 + _LONGEST_OPENING]
            if behind.startswith(_OPENINGS):
                return self._restart(data, at, vt)
            if any(opening.startswith(behind) for opening in _OPENINGS):
                self._held, end = data[vt:], vt
                break
            self._note(AnomalyKind.VT_IN_PAYLOAD, self._offset + vt)
            vt = data.find(VT, vt + 1, last)
        self._piece = data[at:end]
        if self._is_too_long():
            return len(data)
        if end == self._next_fs < len(data):
            self._state = _State.ENDING
            return end + 1
        self._keep()
        return len(data)

    def _restart(self, data: bytes, at: int, vt: int) -> int:
        """Abandon the open frame: VT and a header inside it begin another message, and two are never glued."""
        # Never longer than the cap: VT is not looked for behind it.
        self._piece = data[at:vt]
        self._abandon()
        self._open(self._offset + vt)
        if self._strict:
            self._last_words = AnomalyKind.TRUNCATED
        return vt + 1

    def _ending(self, data: bytes, at: int) -> int:
        byte = data[at]
        if byte == CR:
            self._complete(data, at + 1)
            return at + 1
        ends = byte in (VT, LF, NUL)
        kind = AnomalyKind.MISSING_CR if ends else AnomalyKind.FS_IN_PAYLOAD
        if self._strict:
            self._refuse(kind)
            return at
        self._note(kind, self._offset + at - 1)
        if ends:
            self._complete(data, at)
            return at
        self._keep()
        self._piece, self._state = b"\x1c", _State.PAYLOAD
        if not self._is_too_long():
            self._keep()
        return at

    def _complete(self, data: bytes, at: int) -> None:
        """End the open frame, whose trailer ends before `at` in the bytes in hand."""
        if self._buffer:
            self._keep()
        payload = bytes(self._buffer) or self._piece
        self._after_frame = True
        if _BLANK.match(payload):
            self._give(BadFrame(AnomalyKind.EMPTY, payload[:HEAD_BYTES], len(payload), self._began))
        elif at < len(data) and _is_cut(payload, data, at):
            self._refuse(AnomalyKind.TERMINATOR_INSIDE, closes=self._strict)
        else:
            self._give(Frame(payload, self._began))
            self._frame = self._began
        self._reset()
        if self._last_words:
            self._close(self._last_words)

    def _refuse(self, kind: AnomalyKind, *, closes: bool = True) -> None:
        self._keep()
        self._give(BadFrame(kind, bytes(self._buffer[:HEAD_BYTES]), len(self._buffer), self._began))
        self._reset()
        if closes:
            self._close(kind)

    def _abandon(self) -> None:
        self._give(Anomaly(AnomalyKind.TRUNCATED, self._began, "", self.frame_size))
        self._reset()

    def _is_too_long(self) -> bool:
        if len(self._buffer) + len(self._piece) <= self._cap:
            return False
        self._refuse(AnomalyKind.OVERSIZE)
        return True

    def _keep(self) -> None:
        self._buffer += self._piece
        self._piece = b""

    def _reset(self) -> None:
        self._state, self._buffer, self._piece = _State.BETWEEN, bytearray(), b""

    def _close(self, reason: AnomalyKind) -> None:
        if not self._closed:
            self._give(Close(reason))
        self._closed, self._held = True, b""

    def _note(self, kind: AnomalyKind, offset: int, *, count: int = 1, shown: bytes = b"") -> None:
        """Add to the anomalies of this kind since the last item, so that a flood of them stays one item."""
        if (known := self._tally.get(kind)) is not None:
            self._tally[kind] = Anomaly(kind, known.offset, known.bytes_hex, known.count + count, known.frame)
            return
        frame = self._frame if kind is AnomalyKind.TRAILING_DATA else None
        self._tally[kind] = Anomaly(kind, offset, shown.hex(), count, frame)

    def _give(self, item: Item) -> None:
        self._items += self._tally.values()
        self._tally.clear()
        self._items.append(item)

    def _taken(self) -> list[Item]:
        items = [*self._items, *self._tally.values()]
        self._tally.clear()
        self._items = []
        return items


def _is_cut(payload: bytes, data: bytes, at: int) -> bool:
    """Tell whether the bytes behind a trailer begin a segment of the same message: the trailer stood inside it."""
    if data[at] == VT:
        return False
    separator, segment = _SEPARATOR.match(payload), _NEXT_SEGMENT.match(data, at)
    if separator is None or segment is None:
        return False
    return segment[2] == separator[1] and segment[1] not in (b"MSH", b"FHS", b"BHS")


def encode(payload: bytes) -> bytes:
    """Wrap a payload: VT payload FS CR."""
    return b"\x0b" + payload + b"\x1c\r"
