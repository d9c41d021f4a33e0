"""What MSH says about a message's kind and sender: the same for thousands in a row, so it is worked out once each."""

from dataclasses import dataclass

from gateway.listener.options import AcceptOptions
from gateway.wire import charset
from gateway.wire.ack import Condition
from gateway.wire.header import Header

_MOST = 1_024
"""Kinds and names remembered at once. Control ids and anything behind MSH are no part of them."""

Objection = tuple[Condition, int, str]
"""Condition, MSH field, and our words for why a kind of message is not acceptable here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """MSH-9.1, and why messages of this type, event, processing id and version are not acceptable (None: they are)."""

    name: bytes
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
        self._kinds: dict[tuple[bytes | str | None, ...], Kind] = {}
        self._names: dict[tuple[bytes | str | None, ...], Names] = {}

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
            found = Kind(name=header.type_parts()[0], objection=_objection(self._accept, header))
            if len(self._kinds) >= _MOST:
                self._kinds.clear()
            self._kinds[key] = found
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
            if len(self._names) >= _MOST:
                self._names.clear()
            self._names[key] = found
        return found


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


def _objection(accept: AcceptOptions, header: Header) -> Objection | None:
    kind, trigger = (part.decode("latin-1") for part in header.type_parts())
    if accept.types and kind not in accept.types and f"{kind}^{trigger}" not in accept.types:
        if any(taken.partition("^")[0] == kind for taken in accept.types):
            return Condition.UNSUPPORTED_EVENT, 9, "this channel does not take that event"
        return Condition.UNSUPPORTED_TYPE, 9, "this channel does not take that message type"
    if accept.processing_ids and _first(header.processing_id, header) not in accept.processing_ids:
        return Condition.UNSUPPORTED_PROCESSING_ID, 11, "this channel does not take that processing id"
    if accept.versions and _first(header.version, header) not in accept.versions:
        return Condition.UNSUPPORTED_VERSION, 12, "this channel does not take that version"
    return None


def _first(value: bytes, header: Header) -> str:
    return header.split(value, header.component_separator, 1)[0].decode("latin-1")


def _type_text(header: Header, codec: str) -> str:
    kind, trigger = header.type_parts()
    first = text(kind, codec)
    return f"{first}^{text(trigger, codec)}" if trigger else first
