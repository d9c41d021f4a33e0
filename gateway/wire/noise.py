"""Naming the bytes between frames. Knows bytes, not frames: it is never asked about a payload."""

import re

from gateway.wire.frames import AnomalyKind

BOM = b"\xef\xbb\xbf"

_SIGNATURES = {
    b"\x16\x03": AnomalyKind.LOOKS_LIKE_TLS,
    **dict.fromkeys(
        (b"GET ", b"PUT ", b"POST ", b"HEAD ", b"PATCH ", b"TRACE ", b"DELETE ", b"OPTIONS ", b"CONNECT ", b"PRI * "),
        AnomalyKind.LOOKS_LIKE_HTTP,
    ),
}
_STRAYS = (
    (b"\n", AnomalyKind.STRAY_LF),
    (b"\r", AnomalyKind.STRAY_CR),
    (b"\0", AnomalyKind.STRAY_NUL),
    (b" ", AnomalyKind.STRAY_SPACE),
    (BOM, AnomalyKind.BOM),
    (b"\x0b", AnomalyKind.DOUBLED_TRAILER),  # VT ends the stretch, so it is free to stand for a trailer's bytes
)
SHOWN = {kind: token for token, kind in _STRAYS} | {AnomalyKind.DOUBLED_TRAILER: b"\x1c\r"}
"""What a person is shown of each kind: the bytes that make it, never what stood around them."""

_TRAILERS = re.compile(rb"(?:[\r\n\0 \x1c]|\xef\xbb\xbf)*")
_NAMED = re.compile(rb"(?:[\r\n\0 \x0b]|\xef\xbb\xbf)*")
_SEGMENT = re.compile(rb"[A-Za-z][A-Za-z0-9]{2}[^A-Za-z0-9 ]")


def foreign(head: bytes) -> AnomalyKind | None:
    """Name the other protocol that these first bytes of a connection belong to, if any."""
    return next((kind for signature, kind in _SIGNATURES.items() if head.startswith(signature)), None)


def is_maybe_foreign(head: bytes) -> bool:
    """Tell whether these first bytes are too few to tell another protocol from noise."""
    return any(len(head) < len(signature) and signature.startswith(head) for signature in _SIGNATURES)


def undecided(stretch: bytes, *, after_frame: bool) -> int:
    """Count the bytes at the end whose kind the next byte decides: part of a BOM, or the FS of a doubled trailer."""
    if stretch.endswith((b"\xef", b"\xef\xbb")):
        return 1 if stretch.endswith(b"\xef") else 2
    if after_frame and stretch.endswith(b"\x1c"):
        return 1
    return 0


def count(stretch: bytes, *, after_frame: bool) -> list[tuple[AnomalyKind, int, int]]:
    """Count a stretch without VT by kind: (kind, index of its first byte, number of bytes), by index.

    `after_frame`: only blanks and trailers came since a frame ended, so FS is a doubled trailer.
    """
    if after_frame:
        lead = _TRAILERS.match(stretch).group()  # type: ignore[union-attr]  # it matches the empty string too
        stretch = lead.replace(b"\x1c\r", b"\x0b\x0b").replace(b"\x1c", b"\x0b") + stretch[len(lead) :]
    found = [
        (kind, stretch.find(token), stretch.count(token) * len(token)) for token, kind in _STRAYS if token in stretch
    ]
    rest = len(stretch) - sum(number for _, _, number in found)
    if rest:
        first = _NAMED.match(stretch).end()  # type: ignore[union-attr]  # it matches the empty string too
        found.append((AnomalyKind.NOISE, first, rest))
    return sorted(found, key=lambda one: one[1])


def is_showable(noise: bytes) -> bool:
    """Tell whether these bytes cannot be the beginning of a segment, so that some of them may be shown to a person."""
    return len(noise) > 3 and _SEGMENT.match(noise) is None
