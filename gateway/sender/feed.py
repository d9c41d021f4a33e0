"""Hands out what is to be sent, numbered and paced, to every place of a run. Knows no sockets and no clock."""

from collections.abc import Iterator
from dataclasses import dataclass

from gateway.sender import control_ids
from gateway.sender.options import SendPlan


@dataclass(slots=True, kw_only=True)
class Job:
    """One message on its way: `payload` never changes, so that every retransmit has the same bytes."""

    number: int
    origin: str
    payload: bytes
    control_ids: tuple[bytes, ...]
    attempts: int = 0
    sent_at: float = 0.0


@dataclass(slots=True)
class Pace:
    """Evenly spaced starts: `rate` per second from `start` on; None means at once. Times are the loop's, in seconds.

    A run that fell behind catches up by at most one second's worth, never with a burst of everything it missed.
    """

    rate: float | None
    start: float
    taken: int = 0

    def due(self) -> float:
        """Give when the next message may start."""
        return self.start if self.rate is None else self.start + self.taken / self.rate

    def take(self, now: float) -> None:
        """Use the slot that was due."""
        self.taken += 1
        if self.rate is not None and now - self.due() > 1.0:
            self.start += now - self.due() - 1.0


class Feed:
    """The messages of a plan in order, `repeat` times over, each taken once by whichever place is free."""

    def __init__(self, plan: SendPlan, *, start: float) -> None:
        self._jobs = _jobs(plan)
        self._total = plan.total
        self._taken = 0
        self._pace = Pace(plan.rate, start)

    @property
    def left(self) -> int:
        """How many were not taken yet."""
        return self._total - self._taken

    def due(self) -> float:
        """Give when the next message may be taken, in loop time."""
        return self._pace.due()

    def take(self, now: float) -> Job | None:
        """Take the next message if there is one and it is due."""
        if not self.left or self._pace.due() > now:
            return None
        self._pace.take(now)
        self._taken += 1
        return next(self._jobs)


def _jobs(plan: SendPlan) -> Iterator[Job]:
    number = 0
    for _ in range(plan.repeat):
        for message in plan.messages:
            number += 1
            payload = message.payload if plan.fresh_ids is None else control_ids.renew(message.payload, plan.fresh_ids)
            yield Job(number=number, origin=message.origin, payload=payload, control_ids=control_ids.read(payload))
