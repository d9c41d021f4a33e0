"""MLLP framing. Knows bytes, not sockets or HL7 (beyond the segment names it must not glue).

A frame is VT payload FS CR (INTAKE, section 1). The decoder takes bytes cut anywhere and yields what they mean;
it never reads a clock: the session tells it about silence and the end of input.
"""

from dataclasses import dataclass
from enum import StrEnum

from gateway.model.policy import Framing

VT, FS, CR, LF = 0x0B, 0x1C, 0x0D, 0x0A


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

    `kind` is TERMINATOR_INSIDE, OVERSIZE or EMPTY; `head` holds at most the first 4,096 bytes, enough to read an
    MSH for the answer; `size` counts the payload bytes seen.
    """

    kind: AnomalyKind
    head: bytes
    size: int
    offset: int


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something odd that cost no message. `bytes_hex` is empty when the bytes are payload; at most 16 bytes.
    `count` is how many bytes it is about.
    """

    kind: AnomalyKind
    offset: int
    bytes_hex: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Close:
    """The connection must be closed, after the answers of the frames before; `reason` is the kind to show."""

    reason: AnomalyKind


Item = Frame | BadFrame | Anomaly | Close


class Decoder:
    """Incremental and linear: feed bytes as they come, get items in order. Not usable after a Close."""

    def __init__(self, *, framing: Framing = Framing.TOLERANT, max_message_bytes: int = 16 << 20) -> None: ...

    @property
    def in_frame(self) -> bool:
        """True from a VT until the frame ended."""

    @property
    def frame_size(self) -> int:
        """Payload bytes of the open frame so far."""

    @property
    def awaits_silence(self) -> bool:
        """True when FS followed a segment end and its CR is missing: 1 s of silence ends the frame (tolerant)."""

    def feed(self, data: bytes) -> list[Item]:
        """Take bytes."""

    def silence(self) -> list[Item]:
        """Tell it that 1 s passed without a byte while `awaits_silence`."""

    def end(self) -> list[Item]:
        """Tell it that the peer ended its input."""


def encode(payload: bytes) -> bytes:
    """Wrap a payload: VT payload FS CR."""
    return b"\x0b" + payload + b"\x1c\r"
