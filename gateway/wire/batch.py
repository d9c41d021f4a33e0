"""Splitting a frame with FHS/BHS into its messages, and building its answer. Never drops a byte that is content."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gateway.errors import HeaderUnreadable
from gateway.model.ids import ControlId
from gateway.wire.echo import segment
from gateway.wire.header import Header, is_batch, scan

_BEGINNING = re.compile(rb"(?:\A|(?<=[\r\n]))(MSH|BHS|BTS|FHS|FTS)(?![A-Za-z0-9])")
_LEAD = re.compile(rb"(?:\xef\xbb\xbf|[\r\n ])*")
_END = re.compile(rb"[\r\n]|\Z")
_UNREADABLE = "a batch or file header cannot be read"
_COUNT = re.compile(rb" *([0-9]{1,9}) *")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Messages under one BHS, in order (`header` None: no BHS stood before them).

    Each message is its bytes from `MSH` to the next header or trailer. `declared` is BTS-1 as a number, None when
    there is no BTS or it says nothing readable. Of `header`, `control_id` is BHS-11.
    """

    header: Header | None
    messages: tuple[bytes, ...]
    declared: int | None

    @property
    def is_miscounted(self) -> bool:
        """True when BTS-1 states another number of messages than there are: to be counted and warned about."""
        return self.declared is not None and self.declared != len(self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A frame's messages in their groups; `header` is FHS (its `control_id` FHS-11), None when none was sent."""

    header: Header | None
    groups: tuple[Group, ...]

    @property
    def messages(self) -> tuple[bytes, ...]:
        """Every message of the frame, in order."""
        return tuple(message for group in self.groups for message in group.messages)

    @property
    def headers(self) -> int:
        """How many headers the answer has: it needs as many control ids."""
        return (self.header is not None) + sum(group.header is not None for group in self.groups)


@dataclass(frozen=True, slots=True)
class _Part:
    name: bytes
    data: bytes

    def line(self) -> bytes:
        """Give the first segment, without its end."""
        return self.data[: _END.search(self.data).start()]  # type: ignore[union-attr]  # it matches at the end too

    def has_more(self) -> bool:
        """Tell whether anything but blanks follows the first segment."""
        return bool(self.data[len(self.line()) :].strip(b"\r\n \0"))


@dataclass(slots=True, kw_only=True)
class _Open:
    """A group that may still grow."""

    header: Header | None
    messages: list[bytes]
    declared: int | None = None
    is_over: bool = False


def split(payload: bytes, *, encoding: str | None = None) -> Batch:
    """Split a frame that begins with FHS or BHS (`encoding`: the channel's fixed codec name, if any).

    Raises HeaderUnreadable when a batch or file header cannot be read, when a segment stands outside of every
    message, or when there is more than one FHS: the frame is refused whole, since nothing of it may get lost.
    """
    if not is_batch(payload):
        raise HeaderUnreadable(reason="no batch header at the start")
    parts = list(_parts(payload))
    header = _header(parts.pop(0), encoding) if parts[0].name == b"FHS" else None
    groups: list[_Open] = []
    for part in parts:
        _place(part, groups, encoding)
    return Batch(
        header=header,
        groups=tuple(
            Group(header=group.header, messages=tuple(group.messages), declared=group.declared) for group in groups
        ),
    )


def _parts(payload: bytes) -> Iterator[_Part]:
    payload = payload[_LEAD.match(payload).end() :]  # type: ignore[union-attr]  # it matches the empty string too
    found = [(match[1], match.start()) for match in _BEGINNING.finditer(payload)]
    if not found or found[0][1] != 0:
        raise HeaderUnreadable(reason=_UNREADABLE)
    ends = [start for _, start in found[1:]] + [len(payload)]
    for (name, start), end in zip(found, ends, strict=True):
        part = _Part(name, payload[start:end])
        if name != b"MSH" and part.has_more():
            raise HeaderUnreadable(reason="a segment outside of every message of the batch")
        yield part


def _place(part: _Part, groups: list[_Open], encoding: str | None) -> None:
    """Add one header, message or trailer to the groups so far."""
    match part.name:
        case b"FHS":
            raise HeaderUnreadable(reason="more than one file header in a frame")
        case b"BHS":
            groups.append(_Open(header=_header(part, encoding), messages=[]))
        case b"MSH":
            if not groups or groups[-1].is_over:
                groups.append(_Open(header=None, messages=[]))
            groups[-1].messages.append(part.data)
        case b"BTS" if groups and not groups[-1].is_over:
            groups[-1].declared, groups[-1].is_over = _declared(part.line()), True
        case _:
            return  # FTS, or a BTS that ends nothing, says nothing about a message


def _header(part: _Part, encoding: str | None) -> Header:
    # FHS and BHS have what is echoed, fields 1 to 6, where MSH has it; their control id is field 11.
    try:
        read = scan(b"MSH" + part.line()[3:], encoding=encoding)
    except HeaderUnreadable:
        raise HeaderUnreadable(reason=_UNREADABLE) from None
    return read._replace(
        control_id=ControlId(read.processing_id), message_type=b"", processing_id=b"", version=b"", sequence=b""
    )


def _declared(line: bytes) -> int | None:
    fields = line.split(line[3:4], 2) if line[3:4] else []
    found = _COUNT.fullmatch(fields[1]) if fields else None
    return int(found[1]) if found else None


def answer(batch: Batch, acks: Sequence[bytes], *, ids: Sequence[str], timestamp: str) -> bytes:
    """Build the answer: headers mirrored where they were sent, one ACK for each message in order, counted in BTS-1.

    `acks` has one entry for each message, b"" where none is owed; `ids` one control id for each of the batch's
    `headers`; `timestamp` as in an ACK. Raises ValueError when a number does not fit: no answer may be cut.
    """
    if len(acks) != len(batch.messages) or len(ids) != batch.headers:
        raise ValueError("as many answers as messages, as many ids as headers")
    at, fresh = 0, iter(ids)
    lines = [] if batch.header is None else [_mirrored(b"FHS", batch.header, next(fresh), timestamp)]
    for group in batch.groups:
        owed = [ack for ack in acks[at : at + len(group.messages)] if ack]
        at += len(group.messages)
        if group.header is None:
            lines += owed
            continue
        lines += [_mirrored(b"BHS", group.header, next(fresh), timestamp), *owed]
        lines.append(segment(group.header, b"BTS", b"%d" % len(owed)) + b"\r")
    if batch.header is not None:
        number = sum(group.header is not None for group in batch.groups)
        lines.append(segment(batch.header, b"FTS", b"%d" % number) + b"\r")
    return b"".join(lines)


def _mirrored(name: bytes, asked: Header, control_id: str, timestamp: str) -> bytes:
    line = segment(
        asked,
        name,
        asked.encoding_characters,
        asked.receiving_application,
        asked.receiving_facility,
        asked.sending_application,
        asked.sending_facility,
        timestamp.encode("ascii"),
        b"",
        b"",
        b"",
        control_id.encode("ascii"),
        asked.control_id,
    )
    return line + b"\r"
