"""What MSH says about a message's kind and sender: the same for thousands in a row, so it is worked out once each."""

from dataclasses import dataclass
from typing import TypeVar

from gateway.listener.options import AcceptOptions
from gateway.wire import charset
from gateway.wire.ack import Condition
from gateway.wire.header import Header

_NULL = b'""'
_MOST = 1_024
"""Kinds and names remembered at once. Control ids and anything behind MSH are no part of them."""
_LONGEST = 512
"""Bytes and characters of a key that is remembered."""

_Key = tuple[bytes | str | None, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why messages of a kind are not taken: the condition, the MSH field it is about, and our words for it.

    `is_missing`: MSH-9 says nothing, which no channel takes; else it is this channel's choice.
    """

    condition: Condition
    field: int
    text: str
    is_missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Messages of one type, event, processing id and version, and why they are not taken (None: they are)."""

    is_ack: bool
    objection: Objection | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Type and event (`ADT^A01`), sender (MSH-3 and MSH-4, joined) and version as text."""

    message_type: str
    sender: str
    version: str
    barrier: bool


class Kinds:
    """Judges and names the kinds of messages one channel sees."""

    def __init__(self, accept: AcceptOptions, barriers: frozenset[str]) -> None:
        self._accept = accept
        self._barriers = barriers
        self._kinds: dict[_Key, Kind] = {}
        self._names: dict[_Key, Names] = {}

    def kind(self, header: Header) -> Kind:
        """Give the kind of a message."""
        key = (
            header.message_type,
            header.version,
            header.processing_id,
            header.encoding_characters,
            header.by_characters,
        )
        found = self._kinds.get(key)
        if found is None:
            found = Kind(is_ack=header.type_parts()[0] == b"ACK", objection=_objection(self._accept, header))
            _remember(self._kinds, key, found)
        return found

    def names(self, header: Header, codec: str) -> Names:
        """Give a message's names, read by `codec`."""
        key = (
            header.message_type,
            header.sending_application,
            header.sending_facility,
            header.version,
            header.encoding_characters,
            header.by_characters,
            codec,
        )
        found = self._names.get(key)
        if found is None:
            kind = _type_text(header, codec)
            sender = join(text(header.sending_application, codec), text(header.sending_facility, codec))
            version = text(header.version, codec)
            found = Names(message_type=kind, sender=sender, version=version, barrier=kind in self._barriers)
            _remember(self._names, key, found)
        return found


def _remember(known: dict[_Key, T], key: _Key, value: T) -> None:
    """Keep a value for the next message like it, unless its key is long: a peer must not fill the memory with names."""
    if sum(len(part) for part in key if part is not None) > _LONGEST:
        return
    if len(known) >= _MOST:
        known.clear()
    known[key] = value


def join(*values: str) -> str:
    r"""Join values so that no two lists give one text: `\` and `|` inside a value are escaped by `\`."""
    return "|".join(value.replace("\\", "\\\\").replace("|", "\\|") for value in values)


def text(value: bytes, codec: str) -> str:
    """Read a field for people and grouping; the bytes themselves are kept as they came."""
    if value.isascii() and b"\x1b" not in value:
        return value.decode("ascii")
    try:
        return charset.decode_stored(value, codec)
    except UnicodeDecodeError:
        return value.decode("latin-1")


def is_absent(value: bytes) -> bool:
    """Tell whether a field says nothing: blank, or the null value (HL7 ch. 2, 2.5.3)."""
    return value.strip() in (b"", _NULL)


def _objection(accept: AcceptOptions, header: Header) -> Objection | None:
    name, event = header.type_parts()
    if is_absent(name):
        return Objection(condition=Condition.REQUIRED_FIELD, field=9, text="MSH-9 is required", is_missing=True)
    kind, trigger = name.decode("latin-1"), event.decode("latin-1")
    if accept.types and kind not in accept.types and f"{kind}^{trigger}" not in accept.types:
        if any(taken.partition("^")[0] == kind for taken in accept.types):
            return _not_taken(Condition.UNSUPPORTED_EVENT, 9, "event")
        return _not_taken(Condition.UNSUPPORTED_TYPE, 9, "message type")
    if accept.processing_ids and _first(header.processing_id, header) not in accept.processing_ids:
        return _not_taken(Condition.UNSUPPORTED_PROCESSING_ID, 11, "processing id")
    if accept.versions and _first(header.version, header) not in accept.versions:
        return _not_taken(Condition.UNSUPPORTED_VERSION, 12, "version")
    return None


def _not_taken(condition: Condition, number: int, what: str) -> Objection:
    return Objection(condition=condition, field=number, text=f"this channel does not take that {what}")


def _first(value: bytes, header: Header) -> str:
    return header.split(value, header.component_separator, 1)[0].decode("latin-1")


def _type_text(header: Header, codec: str) -> str:
    kind, trigger = header.type_parts()
    first = text(kind, codec)
    return f"{first}^{text(trigger, codec)}" if trigger else first
