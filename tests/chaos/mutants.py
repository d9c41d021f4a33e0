"""Gateways broken on purpose, one way each. A campaign against one of them must turn the oracle red."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from typing import Any

from gateway.core.partition import Ready, Wait, next_ready
from gateway.dispatcher import heads
from gateway.model.clock import Now
from gateway.model.delivery import Head
from gateway.model.ids import RowId
from gateway.model.intake import Admission, Offer, Receipt, Seal
from gateway.model.states import State
from gateway.store.sqlite import dispatch, intake
from gateway.upstream.pipe import Pipe


def _promised(offer: Offer, seal: Seal) -> Awaitable[Receipt]:
    """Give a receipt for nothing."""
    future: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
    future.set_result(
        Receipt(
            admission=Admission.NEW,
            row=RowId(1),
            state=State.QUEUED,
            sequence=1,
            answer=seal(Admission.NEW, 1),
            application_answer=None,
        )
    )
    return future


def drop_a_row() -> None:
    """Answer every ninth message without storing it."""
    numbers, accept = count(1), intake.SqliteIntake.accept

    def lossy(self: intake.SqliteIntake, offer: Offer, seal: Seal) -> Awaitable[Receipt]:
        return _promised(offer, seal) if next(numbers) % 9 == 0 else accept(self, offer, seal)

    intake.SqliteIntake.accept = lossy  # type: ignore[method-assign]  # this is what a mutant is


def answer_before_commit() -> None:
    """Answer at once and store a moment later."""
    accept = intake.SqliteIntake.accept

    def hasty(self: intake.SqliteIntake, offer: Offer, seal: Seal) -> Awaitable[Receipt]:
        asyncio.get_running_loop().call_later(0.05, accept, self, offer, seal)
        return _promised(offer, seal)

    intake.SqliteIntake.accept = hasty  # type: ignore[method-assign]  # see drop_a_row


def reuse_a_number() -> None:
    """Let the counter stand still once."""
    last = "(SELECT last FROM sequences"
    assert last in intake._LOOK_UP
    intake._LOOK_UP = intake._LOOK_UP.replace(last, "(SELECT last - (last = 7) FROM sequences")


def swap_two() -> None:
    """Now and then prefer the second row of a partition, and take the store's own check away."""
    for guard in ("o.partition = m.partition AND o.id < ?3", "o.partition = '' AND o.id < ?3"):
        assert guard in dispatch._CLAIM
        dispatch._CLAIM = dispatch._CLAIM.replace(guard, guard.replace("?3", "0"))

    def unfair(rows: Any, *, now: Now, **rest: Any) -> Ready | Wait:
        listed: list[Head] = list(rows)
        both_wait = len(listed) > 1 and all(head.state is State.QUEUED for head in listed[:2])
        if both_wait and listed[0].row % 9 == 0:
            listed[:2] = [listed[1], replace(listed[0])]
        return next_ready(listed, now=now, **rest)

    heads.next_ready = unfair  # type: ignore[attr-defined]  # see drop_a_row


def double_one() -> None:
    """Write every seventh send twice."""
    numbers, write = count(1), Pipe.write

    def twice(self: Pipe, text: str) -> int | None:
        mark = write(self, text)
        if "transmit:request" in text and next(numbers) % 7 == 0:
            write(self, text)
        return mark

    Pipe.write = twice  # type: ignore[method-assign]  # see drop_a_row


MUTANTS: dict[str, tuple[Callable[[], None], str]] = {
    "drop-a-row": (drop_a_row, "answered positively and has 0 rows"),
    "answer-before-commit": (answer_before_commit, "answered positively and has 0 rows"),
    "reuse-a-number": (reuse_a_number, "sequence numbers are not"),
    "swap-two": (swap_two, "first deliveries are not in store order"),
    "double-one": (double_one, "delivered 2 times"),
}
"""Name -> how it is broken, and what the oracle must say of it."""
