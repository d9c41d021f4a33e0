"""The world handed in: time, randomness, ids, landmarks."""

from collections.abc import Callable

from gateway.model.clock import Now
from gateway.model.states import Landmark

Clock = Callable[[], Now]
"""Reads the clocks; only `app` holds the real one."""

Roll = Callable[[], float]
"""A number in [0, 1), for jitter."""

NewId = Callable[[], str]
"""A fresh MSH-10 for an answer of ours: unique, at most 20 ASCII characters, also within one millisecond."""

Passing = Callable[[Landmark], None]
"""Called when a message passes a landmark; does nothing outside crash tests."""


def pass_by(_: Landmark) -> None:
    """Do nothing: the `Passing` of every real gateway."""
