"""Units of work and how their callers are answered, on the loop. Knows no SQL and no thread."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from gateway.errors import Unavailable


@dataclass(slots=True, eq=False)
class Unit:
    """One piece of work and who waits for it. `weight` is its size in bytes, roughly.

    `after` runs on the loop right after the commit, whether or not anybody still waits. `rescue` may still give a
    result, from what is already stored, when the unit met temporary trouble.
    """

    work: Callable[[apsw.Connection], Any]
    future: asyncio.Future[Any]
    after: Callable[[Any], None] | None
    rescue: Callable[[Unavailable], Awaitable[Any]] | None
    weight: int


@dataclass(slots=True)
class Outcome:
    """What became of a unit; `error` None means committed and synced."""

    unit: Unit
    result: Any
    error: Exception | None


class Replies:
    """Completes the futures of units, and counts those still open."""

    def __init__(self) -> None:
        self.open = 0
        self._rescues: set[asyncio.Task[None]] = set()

    def complete(self, outcomes: Sequence[Outcome]) -> None:
        """Answer a whole group, in the order in which its units were submitted."""
        for outcome in outcomes:
            self.open -= 1
            self._answer(outcome.unit, outcome)

    def _answer(self, unit: Unit, outcome: Outcome) -> None:
        if outcome.error is None and unit.after is not None:
            unit.after(outcome.result)
        if unit.future.done():
            return
        if outcome.error is None:
            unit.future.set_result(outcome.result)
        elif isinstance(outcome.error, Unavailable) and unit.rescue is not None:
            task = asyncio.ensure_future(_rescue(unit.future, unit.rescue(outcome.error)))
            self._rescues.add(task)
            task.add_done_callback(self._rescues.discard)
        else:
            unit.future.set_exception(outcome.error)

    async def drain(self) -> None:
        """Wait until nobody looks any more for a stored answer in a failed unit's place."""
        while self._rescues:
            await asyncio.wait(self._rescues)


async def _rescue(future: asyncio.Future[Any], attempt: Awaitable[Any]) -> None:
    try:
        result = await attempt
    except Exception as error:  # noqa: BLE001 - passed on to the one who waits for the unit
        if not future.done():
            future.set_exception(error)
    else:
        if not future.done():
            future.set_result(result)
