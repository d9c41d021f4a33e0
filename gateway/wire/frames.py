"""What an MLLP byte stream means, as values. Never holds more of a message than its answer needs."""

from dataclasses import dataclass
from enum import StrEnum

VT, FS, CR, LF, NUL = 0x0B, 0x1C, 0x0D, 0x0A, 0x00

HEAD_BYTES = 4_096
"""How much of a refused frame is kept: enough to read an MSH for the answer."""


class AnomalyKind(StrEnum):
    """What was odd about the bytes; the words are metric labels."""

    NOISE = "noise"
    BOM = "bom"
    STRAY_LF = "stray-lf"
    STRAY_CR = "stray-cr"
    STRAY_NUL = "stray-nul"
    STRAY_SPACE = "stray-space"
    MISSING_CR = "missing-cr"
    FS_IN_PAYLOAD = "fs-in-payload"
    VT_IN_PAYLOAD = "vt-in-payload"
    DOUBLED_VT = "doubled-vt"
    DOUBLED_TRAILER = "doubled-trailer"
    TERMINATOR_INSIDE = "terminator-inside"
    TRAILING_DATA = "trailing-data"
    TRUNCATED = "truncated"
    OVERSIZE = "oversize"
    EMPTY = "empty"
    LOOKS_LIKE_TLS = "looks-like-tls"
    LOOKS_LIKE_HTTP = "looks-like-http"


@dataclass(frozen=True, slots=True)
class Frame:
    """One whole frame: `payload` is every byte between VT and FS, `offset` that of its VT in the connection."""

    payload: bytes
    offset: int


@dataclass(frozen=True, slots=True)
class BadFrame:
    """A frame that must be answered negatively and never stored as a message.

    `kind` is TERMINATOR_INSIDE, OVERSIZE or EMPTY, under strict framing also MISSING_CR, FS_IN_PAYLOAD or
    DOUBLED_VT; `head` holds at most the first 4,096 bytes, enough to read an MSH for the answer; `size` counts the
    payload bytes seen.
    """

    kind: AnomalyKind
    head: bytes
    size: int
    offset: int


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something odd that cost no message (TRUNCATED: an open frame that was abandoned and never answered).

    `bytes_hex` is empty when the bytes are, or may be, payload; at most 16 bytes. `count` is how many bytes it is
    about: one anomaly stands for all of its kind in one stretch of bytes read together, `offset` is the first.
    TRAILING_DATA came right after the frame at the offset `frame`, whose row is to be marked.
    """

    kind: AnomalyKind
    offset: int
    bytes_hex: str
    count: int = 1
    frame: int | None = None


@dataclass(frozen=True, slots=True)
class Close:
    """The connection must be closed, after the answers of the frames before; `reason` is the kind to show."""

    reason: AnomalyKind


Item = Frame | BadFrame | Anomaly | Close
