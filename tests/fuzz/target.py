"""What a fuzz target is, and how it reads its choices out of the fuzzer's bytes. Knows no fuzzer."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`one` runs a single input: it returns when all is well, and raises what nobody documented, or AssertionError.

    `seeds` are inputs to begin with, beside the kept corpus; made when they are needed, since they may be large.
    `tokens` are pieces worth inserting; `longest` is the length in bytes up to which a fuzzer should go.
    """

    name: str
    one: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    tokens: Sequence[bytes]
    longest: int = 1_024


class Choices:
    """Takes decisions from the front of the input; what is left is the subject. One that is used up gives zeros."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, below: int) -> int:
        """Give a number from 0 to `below` - 1, from one byte."""
        self._at += 1
        return self._data[self._at - 1] % below if self._at <= len(self._data) else 0

    def one_of(self, choices: Sequence[T]) -> T:
        """Give one of them."""
        return choices[self.number(len(choices))]

    def take(self, count: int) -> bytes:
        """Give the next bytes, fewer when there are not as many."""
        self._at += count
        return self._data[self._at - count : self._at]

    def rest(self) -> bytes:
        """Give everything that is left."""
        return self._data[self._at :]


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    """Cut at these places, each a part of 256 of the length."""
    at = sorted({place * len(data) // 256 for place in places} | {0})
    return [data[begin:end] for begin, end in zip(at, [*at[1:], len(data)], strict=True)]


def fixed_phrase(*reasons: str) -> None:
    """Hold that an error says something, in words of our own."""
    assert reasons
    assert all(reason and reason.isascii() for reason in reasons)
