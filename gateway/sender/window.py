"""Which message an answer is for. Pure; answers belong to messages in the order of the frames, and ids must agree.

An id out of turn is never taken as a yes: the answer may be right, but the peer is not keeping order.
"""

from collections import deque
from dataclasses import dataclass

from gateway.sender.feed import Job
from gateway.sender.judging import Reading
from gateway.sender.options import Judgement

_REMEMBERED = 256  # settled messages whose late or second answer is still recognised


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """An answer with its message (None: nobody waits for one) and what it means; `extra` as in Verdict."""

    job: Job | None
    judgement: Judgement
    note: str | None = None
    extra: bool = False


@dataclass(frozen=True, slots=True)
class _Settled:
    job: Job
    code: str | None  # None: silence


class Window:
    """The unanswered messages of one connection, oldest first, and the last settled ones."""

    def __init__(self) -> None:
        self._open: deque[Job] = deque()
        self._settled: deque[_Settled] = deque(maxlen=_REMEMBERED)

    def __len__(self) -> int:
        return len(self._open)

    @property
    def head(self) -> Job | None:
        """The message whose answer is next."""
        return self._open[0] if self._open else None

    def add(self, job: Job) -> None:
        """Note a message as written."""
        self._open.append(job)

    def abandon(self) -> Job | None:
        """Stop waiting for the head; an answer that still comes is late."""
        if not self._open:
            return None
        job = self._open.popleft()
        self._settled.append(_Settled(job, None))
        return job

    def drain(self) -> tuple[Job, ...]:
        """Give up the connection: every unanswered message, oldest first."""
        jobs = tuple(self._open)
        self._open.clear()
        return jobs

    def match(self, reading: Reading | None) -> Match:
        """Find the message of an answer; `None` is an answer that could not be read."""
        if reading is None:
            return self._head(None, Judgement.UNREADABLE, "the answer cannot be read")
        for place, job in enumerate(self._open):
            if reading.is_for(job.control_ids):
                return self._found(place, job, reading)
        for settled in reversed(self._settled):
            if reading.is_for(settled.job.control_ids):
                return _again(settled, reading)
        return self._head(reading.code, Judgement.MISMATCH, "MSA-2 is not MSH-10 of the message")

    def _found(self, place: int, job: Job, reading: Reading) -> Match:
        del self._open[place]
        self._settled.append(_Settled(job, reading.code))
        if place:
            return Match(job=job, judgement=Judgement.MISMATCH, note="answered before its turn")
        return Match(job=job, judgement=reading.judgement)

    def _head(self, code: str | None, judgement: Judgement, note: str) -> Match:
        """Give an answer without a usable id to the head, by order alone; to nobody when nobody waits."""
        if not self._open:
            return Match(job=None, judgement=judgement, note=note, extra=True)
        job = self._open.popleft()
        self._settled.append(_Settled(job, code))
        return Match(job=job, judgement=judgement, note=note)


def _again(settled: _Settled, reading: Reading) -> Match:
    """Name an answer beyond the first: application after commit (HL7 ch. 2, 2.9.3), late, or simply a second one."""
    if settled.code == "CA" and reading.code.startswith("A"):
        judgement, note = reading.judgement, "application answer"
    elif settled.code is None:
        judgement, note = reading.judgement, "late answer"
    else:
        judgement, note = Judgement.MISMATCH, "second answer"
    return Match(job=settled.job, judgement=judgement, note=note, extra=True)
