"""Counts what a call costs, without a clock: function calls, and bytes that were looked at.

Regular expressions and the copies inside a bytearray are not seen; every search, comparison and slice of the bytes is.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, SupportsIndex

SLACK = 400
"""What may be spent once, whatever the length."""


class Metered(bytes):
    """Bytes that count how many of them are looked at. The count is the class's: take it with `cost_of`."""

    touched = 0

    def find(self, *args: Any) -> int:
        found = super().find(*args)
        begin, end, _ = slice(args[1] if len(args) > 1 else 0, args[2] if len(args) > 2 else None).indices(len(self))
        Metered.touched += max(0, (found + 1 if found >= 0 else end) - begin)
        return found

    def count(self, *args: Any) -> int:
        Metered.touched += len(self)
        return super().count(*args)

    def replace(self, *args: Any) -> bytes:
        Metered.touched += len(self)
        return Metered(super().replace(*args))

    def split(self, *args: Any, **named: Any) -> list[bytes]:
        parts = super().split(*args, **named)
        Metered.touched += len(self) if len(args) < 2 else sum(map(len, parts[:-1]))
        return [Metered(part) for part in parts]

    def __contains__(self, value: Any) -> bool:
        Metered.touched += len(self)
        return super().__contains__(value)

    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        found = super().__getitem__(place)
        if isinstance(found, int):
            return found
        Metered.touched += len(found)
        return Metered(found)

    def __add__(self, other: Any) -> bytes:
        Metered.touched += len(self) + len(other)
        return Metered(super().__add__(other))

    def __radd__(self, other: object) -> Any:
        if not isinstance(other, bytes):
            return NotImplemented  # a bytearray grows in place
        Metered.touched += len(self) + len(other)
        return Metered(other + bytes(self))


@dataclass(frozen=True, slots=True)
class Cost:
    """Calls of functions, and bytes looked at."""

    calls: int
    touched: int


def cost_of(work: Callable[[], object]) -> Cost:
    """Run it and count."""
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before, Metered.touched = sys.getprofile(), 0
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return Cost(calls, Metered.touched)


def assert_linear(work: Callable[[bytes], object], once: bytes, twice: bytes) -> None:
    """Hold that twice the input costs at most two and a half times as much."""
    one, two = cost_of(lambda: work(once)), cost_of(lambda: work(twice))
    assert two.calls <= 2.5 * one.calls + SLACK, f"{one.calls} calls, then {two.calls}"
    assert two.touched <= 2.5 * one.touched + SLACK, f"{one.touched} bytes, then {two.touched}"
