"""Follows one connection's raw bytes while frames of its channel are captured. Otherwise it only counts them."""

from collections.abc import Callable, Sequence

from gateway.model.anomalies import Caught, Oddity
from gateway.model.ids import ChannelName
from gateway.ports.capture import Tap
from gateway.wire.frames import FS, Anomaly, BadFrame, Frame, Item

FRAME, UNFINISHED = "frame", "unfinished"
_BLANKS = b"\r\n\0 "


class Trace:
    """Cuts raw bytes where frames end. `wall` gives Unix time in ms."""

    __slots__ = (
        "_at",
        "_channel",
        "_is_known",
        "_lost",
        "_oddities",
        "_offset",
        "_raw",
        "_tap",
        "_wall",
        "number",
        "peer",
    )

    def __init__(self, tap: Tap, *, channel: ChannelName, wall: Callable[[], int]) -> None:
        self.number = 0
        self.peer = ""
        self._tap = tap
        self._channel = channel
        self._wall = wall
        self._offset = 0  # of the next byte that comes
        self._raw = bytearray()
        self._at = 0  # offset of the first byte of `_raw`
        self._is_known = False  # the bytes since the last cut are in `_raw`
        self._lost = 0
        self._oddities: list[Oddity] = []

    def saw(self, data: bytes, items: Sequence[Item]) -> None:
        """Take bytes as they came, and what they mean."""
        begin = self._offset
        self._offset += len(data)
        if not self._tap.wants(self._channel):
            if self._is_known:
                self.drop()
            return
        if not self._is_known:
            self._is_known, self._at = True, begin
        if self._lost or not self._tap.hold(len(data)):
            self._lost += len(data)
        else:
            self._raw += data
        self.understood(items)

    def understood(self, items: Sequence[Item]) -> None:
        """Take what earlier bytes mean after all."""
        if not self._is_known:
            return
        self._oddities += [self._oddity(item) for item in items if isinstance(item, Anomaly)]
        for item in items:
            if isinstance(item, Frame):
                self._cut(FRAME, item.offset, len(item.payload))
            elif isinstance(item, BadFrame):
                self._cut(item.kind.value, item.offset, item.size)

    def end(self, items: Sequence[Item]) -> None:
        """Give what a connection that is gone left behind: it may be what somebody looks for."""
        self.understood(items)
        if self._is_known and (self._raw.strip(_BLANKS) or self._lost) and self._tap.wants(self._channel):
            self._give(UNFINISHED, len(self._raw))
        self.drop()

    def drop(self) -> None:
        """Forget everything and give the room back."""
        self._tap.release(len(self._raw))
        self._raw = bytearray()
        self._is_known, self._lost = False, 0
        self._oddities = []

    def _cut(self, kind: str, offset: int, size: int) -> None:
        """End a frame; one whose beginning came before anybody wanted it is not given."""
        trailer = self._raw.find(FS, max(0, offset - self._at + 1 + size))
        end = trailer + 1 if trailer >= 0 else len(self._raw)
        if self._raw[end : end + 1] == b"\r":
            end += 1
        if offset >= self._at and self._tap.wants(self._channel):
            self._give(kind, end)
        else:
            self._forget(end)

    def _give(self, kind: str, end: int) -> None:
        behind = self._at + end
        self._tap.take(
            Caught(
                channel=self._channel,
                peer=self.peer,
                connection=self.number,
                kind=kind,
                offset=self._at,
                raw=bytes(self._raw[:end]),
                lost=self._lost,
                oddities=tuple(each for each in self._oddities if each.offset < behind or self._lost),
            )
        )
        self._forget(end)

    def _forget(self, end: int) -> None:
        """Begin anew behind the cut; after a loss only with the next bytes, since it is not known where these are."""
        if self._lost:
            self.drop()
            return
        self._tap.release(end)
        del self._raw[:end]
        self._at += end
        self._oddities = [each for each in self._oddities if each.offset >= self._at]

    def _oddity(self, item: Anomaly) -> Oddity:
        return Oddity(
            channel=self._channel,
            at=self._wall(),
            peer=self.peer,
            kind=item.kind.value,
            offset=item.offset,
            count=item.count,
            bytes_hex=item.bytes_hex,
        )
