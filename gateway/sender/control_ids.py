"""Finds and renews MSH-10 in a frame. Touches no other byte; knows no sockets."""

import re
from collections.abc import Iterator

from gateway.errors import HeaderUnreadable
from gateway.ports.clock import NewId
from gateway.wire.header import Header, is_batch, scan

_LATER_MSH = re.compile(rb"(?<=[\r\n])MSH[^A-Za-z0-9\x00-\x20]")
_SEGMENT_END = re.compile(rb"[\r\n]")


def read(payload: bytes) -> tuple[bytes, ...]:
    """Give MSH-10 of every message of the frame: one, or as many as a batch holds; empty where it cannot be read."""
    found = tuple(bytes(header.control_id) for _, header in _headers(payload))
    return found or (b"",)


def renew(payload: bytes, new_id: NewId) -> bytes:
    """Give the frame with a fresh MSH-10 in every message; a message without one keeps having none."""
    pieces, kept = [], 0
    for base, header in _headers(payload):
        span = _span(payload, base, header)
        if span is None:
            continue
        start, end = span
        pieces += [payload[kept:start], new_id().encode("ascii")]
        kept = end
    return b"".join((*pieces, payload[kept:]))


def _headers(payload: bytes) -> Iterator[tuple[int, Header]]:
    """Give every readable MSH with the offset its own offsets count from."""
    if not is_batch(payload):
        try:
            yield 0, scan(payload)
        except HeaderUnreadable:
            return
        return
    for match in _LATER_MSH.finditer(payload):
        end = _SEGMENT_END.search(payload, match.start())
        try:
            yield match.start(), scan(payload[match.start() : end.start() if end else len(payload)])
        except HeaderUnreadable:
            continue


def _span(payload: bytes, base: int, header: Header) -> tuple[int, int] | None:
    """Give where MSH-10 begins and ends; None when it is absent or empty."""
    if not header.control_id:
        return None
    before = (
        header.encoding_characters,
        header.sending_application,
        header.sending_facility,
        header.receiving_application,
        header.receiving_facility,
        header.timestamp,
    )
    after_timestamp = base + header.start + len(b"MSH") + sum(1 + len(field) for field in before)
    # MSH-8 lies between, and the header does not keep it: MSH-9 and MSH-10 are found together, behind it.
    tail = header.separator + header.message_type + header.separator
    pattern = re.compile(
        re.escape(tail) + re.escape(header.control_id) + rb"(?=" + re.escape(header.separator) + rb"|[\r\n]|\Z)"
    )
    match = pattern.search(payload, after_timestamp + 1)
    if match is None:
        return None
    return match.start() + len(tail), match.end()
