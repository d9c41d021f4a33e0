"""Ways to cut a byte stream, and a view of the decoder's items that no cut may change."""

from collections.abc import Iterable, Iterator

from gateway.model.policy import Framing
from gateway.wire.mllp import Anomaly, BadFrame, Close, Decoder, Frame, Item

VT, FS, CR, LF = b"\x0b", b"\x1c", b"\r", b"\n"


def message(control_id: str = "A1", *, end: str = "\r") -> bytes:
    segments = (
        f"MSH|^~\\&|SNDAPP|SNDFAC|RCVAPP|RCVFAC|20260101120000||ADT^A01^ADT_A01|{control_id}|P|2.5.1",
        "EVN|A01|20260101120000",
        "PID|1||1001^^^HOSP^MR||TEST^ANNA",
    )
    return "".join(segment + end for segment in segments).encode()


def frame(payload: bytes) -> bytes:
    return VT + payload + FS + CR


def bytewise(stream: bytes) -> Iterator[bytes]:
    return (stream[at : at + 1] for at in range(len(stream)))


def cuts(stream: bytes) -> Iterator[tuple[bytes, bytes]]:
    return ((stream[:at], stream[at:]) for at in range(1, len(stream)))


def decode(*pieces: bytes, framing: Framing = Framing.TOLERANT, cap: int = 16 << 20, ends: bool = False) -> list[Item]:
    decoder = Decoder(framing=framing, max_message_bytes=cap)
    items = [item for piece in pieces for item in decoder.feed(piece)]
    return items + (decoder.end() if ends else [])


def merged(items: Iterable[Item]) -> list[object]:
    """Give the items with the anomalies between two others summed by kind: how many items tell of them, and how much
    of a frame was seen when it was refused, may depend on the cut.
    """
    result: list[object] = []
    counted: dict[str, tuple[int, int, int | None]] = {}
    for item in items:
        if isinstance(item, Anomaly):
            first, number, about = counted.get(item.kind.value, (item.offset, 0, item.frame))
            counted[item.kind.value] = (first, number + item.count, about)
            continue
        result += sorted(counted.items())
        counted = {}
        result.append((item.kind, item.offset) if isinstance(item, BadFrame) else item)
    return result + sorted(counted.items())


def payloads(items: Iterable[Item]) -> list[bytes]:
    return [item.payload for item in items if isinstance(item, Frame)]


def kinds(items: Iterable[Item]) -> list[str]:
    return [item.kind.value for item in items if isinstance(item, Anomaly)]


def refused(items: Iterable[Item]) -> list[str]:
    return [item.kind.value for item in items if isinstance(item, BadFrame)]


def closed(items: Iterable[Item]) -> list[str]:
    return [item.reason.value for item in items if isinstance(item, Close)]
