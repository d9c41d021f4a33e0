"""What became of each message, and whether that is right. Pure: answers in, an outcome out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from gateway.sender.torture.peer import Answer, End
from gateway.sender.torture.values import Fate, Mark, Outcome

_WORST = (Mark.RIGHT, Mark.TOLERABLE, Mark.WRONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """One message and what may become of it. `is_readable` False: nobody can be expected to read its MSH-10, so that
    a refusal may come without one in MSA-2.
    """

    name: str
    right: frozenset[Fate]
    tolerable: frozenset[Fate] = frozenset()
    is_readable: bool = True

    def mark(self, fate: Fate) -> Mark:
        """Say what such a fate means."""
        if fate in self.right:
            return Mark.RIGHT
        return Mark.TOLERABLE if fate in self.tolerable else Mark.WRONG

    @property
    def may_go_unanswered(self) -> bool:
        """True when a receiver that says nothing to it and goes on is not wrong."""
        return Fate.PASSED in self.right | self.tolerable


def ordinary(name: str) -> Due:
    """Give what may become of a faultless message after all the others: a receiver may have closed by then."""
    return Due(name=name, right=frozenset({Fate.TAKEN}), tolerable=frozenset({Fate.CLOSED}))


@dataclass(slots=True)
class _Ledger:
    """Which answer was for which message."""

    dues: Sequence[Due]
    answers: dict[int, Answer] = field(default_factory=dict)
    notes: list[tuple[Mark, str]] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)

    def enter(self, answer: Answer) -> None:
        """Find the message of one answer; whatever is odd about it is noted."""
        if answer.code is None:
            self._stray(Mark.WRONG, "unreadable", "an answer that cannot be read as an acknowledgement")
            return
        place = self._place(answer)
        if place is None:
            self._unasked(answer)
            return
        if any(later > place for later in self.answers):
            self.notes.append((Mark.WRONG, "answers came out of order"))
        self.answers[place] = answer

    def _place(self, answer: Answer) -> int | None:
        open_ones = [place for place in range(len(self.dues)) if place not in self.answers]
        named = next((place for place in open_ones if self.dues[place].name == answer.name), None)
        if named is not None or answer.positive or answer.name:
            return named
        return next((place for place in open_ones if not self.dues[place].is_readable), None)

    def _unasked(self, answer: Answer) -> None:
        """Judge an answer that no message waits for."""
        first = next((one for one in self.answers.values() if one.name == answer.name), None)
        code = answer.code or ""
        if first is not None and (first.code or "").startswith("C") and code.startswith("A"):
            return  # the application's answer after the commit answer (HL7 ch. 2, 2.9.3)
        if first is not None:
            self._stray(Mark.WRONG, f"{code} again", "a message was answered twice")
        elif answer.positive:
            self._stray(Mark.WRONG, f"{code} to none", "a positive answer whose MSA-2 is no MSH-10 of ours")
        else:
            self._stray(Mark.TOLERABLE, f"{code} to none", "a refusal whose MSA-2 names no message")

    def _stray(self, mark: Mark, saw: str, note: str) -> None:
        self.strays.append(saw)
        self.notes.append((mark, note))

    def fates(self, end: End | None) -> list[Fate]:
        """Give every message's fate, in order."""
        last = max(self.answers, default=-1)
        silence = Fate.SILENT if end is None else Fate.CLOSED
        return [
            (Fate.TAKEN if self.answers[place].positive else Fate.REFUSED)
            if place in self.answers
            else (Fate.PASSED if place < last else silence)
            for place in range(len(self.dues))
        ]

    def seen(self, place: int, fate: Fate) -> str:
        """Write one message's fate: the code of its answer, or the word for its absence."""
        return self.answers[place].code or "" if place in self.answers else fate.value


def judge(dues: Sequence[Due], answers: Sequence[Answer], end: End | None, *, has_half: bool = False) -> Outcome:
    """Weigh what was heard; the worst of the messages decides. `has_half`: a frame began that has no end."""
    ledger = _Ledger(dues)
    for answer in answers:
        ledger.enter(answer)
    fates = ledger.fates(end)
    if has_half and {Fate.SILENT, Fate.CLOSED} & set(fates):
        ledger.notes.append((Mark.WRONG, "an answer without FS CR at its end"))
    marks = [(due.mark(fate), _complaint(due, fate)) for due, fate in zip(dues, fates, strict=True)]
    marks += ledger.notes
    mark = worst(*(mark for mark, _ in marks))
    notes = dict.fromkeys(note for own, note in marks if own is not Mark.RIGHT)
    saw = _shortened([*(ledger.seen(place, fate) for place, fate in enumerate(fates)), *ledger.strays])
    return Outcome(mark=mark, saw=saw, note="; ".join(notes) or None)


def worst(*marks: Mark) -> Mark:
    """Give the worst of some marks."""
    return max(marks, key=_WORST.index, default=Mark.RIGHT)


_COMPLAINTS = {
    Fate.TAKEN: "{name} got a positive answer",
    Fate.REFUSED: "{name} was refused",
    Fate.PASSED: "{name} was never answered, though a later one was",
    Fate.CLOSED: "the connection was closed before {name} was answered",
    Fate.SILENT: "{name} was not answered in time",
}


def _complaint(due: Due, fate: Fate) -> str:
    return _COMPLAINTS[fate].format(name=due.name)


def _shortened(words: Sequence[str]) -> str:
    runs = [(word, len(list(run))) for word, run in groupby(words)]
    return ", ".join(word if count == 1 else f"{count} x {word}" for word, count in runs) or "nothing"
