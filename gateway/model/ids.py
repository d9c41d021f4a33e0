"""Ids with types, and the one way a row's integer and its public UUID turn into each other."""

from typing import NewType
from uuid import UUID

ControlId = NewType("ControlId", bytes)
"""MSH-10 as received, without a length limit."""

ChannelName = NewType("ChannelName", str)
RowId = NewType("RowId", int)
"""Store order: grows with every row of the store, never used twice."""

Epoch = NewType("Epoch", int)
"""Number of a leader's term in one dispatch group; grows at each take-over."""

SYSTEM = "system"
"""The actor of every event no person caused."""

_ROW_BITS = 48


def row_uuid(store_id: UUID, row: RowId) -> UUID:
    """Give the row's public id: the store's random part, the row number in the last 48 bits (RFC 9562, v8)."""
    return UUID(int=(store_id.int >> _ROW_BITS << _ROW_BITS) | row)


def row_of(store_id: UUID, public: UUID) -> RowId | None:
    """Read the row number back, or None if the UUID is of another store."""
    if public.int >> _ROW_BITS != store_id.int >> _ROW_BITS:
        return None
    return RowId(public.int & ((1 << _ROW_BITS) - 1))


def new_store_id(random: bytes) -> UUID:
    """Make a store id (RFC 9562, version 8) from 16 random bytes; its last 48 bits are zero."""
    value = int.from_bytes(random[:16], "big")
    value = value & ~(0xF << 76) | (0x8 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return UUID(int=value >> _ROW_BITS << _ROW_BITS)
