"""What was odd about senders' bytes, and captured frames. Anomalies hold no content; captured frames are content."""

from dataclasses import dataclass
from enum import StrEnum

from gateway.model.ids import ChannelName


@dataclass(frozen=True, slots=True, kw_only=True)
class Oddity:
    """One anomaly: `count` bytes of a kind, the first at `offset` of their connection (or frame, where the kind is
    about one). `bytes_hex` shows at most 16 bytes and is empty when they are payload. `at` is Unix time in ms.
    """

    channel: ChannelName
    at: int
    peer: str
    kind: str
    offset: int
    count: int
    bytes_hex: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedOddity:
    """An anomaly as the store keeps it; `id` grows with the order of writing."""

    id: int
    oddity: Oddity


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How often, and about how many bytes, a kind was met since it was last written; `last_at` is Unix time in ms."""

    channel: ChannelName
    kind: str
    times: int
    size: int
    last_at: int


class CaptureEnd(StrEnum):
    """Why a capture is over."""

    COMPLETE = "complete"
    TOO_LARGE = "too-large"
    EXPIRED = "expired"
    CANNOT_WRITE = "cannot-write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A person's wish to see the next `wanted` frames of a channel; times are Unix ms, `size` counts bytes taken."""

    id: int
    channel: ChannelName
    wanted: int
    taken: int
    size: int
    who: str
    why: str
    since: int
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """One frame as it came: `raw` is every byte since the frame before, from `offset` of the connection on.

    `kind` is `frame`, the kind of a refused frame, or `unfinished` for what a connection left behind. `lost` counts
    bytes of it that there was no room for. The anomalies are those among these bytes.
    """

    channel: ChannelName
    peer: str
    connection: int
    kind: str
    offset: int
    raw: bytes
    lost: int
    oddities: tuple[Oddity, ...]
