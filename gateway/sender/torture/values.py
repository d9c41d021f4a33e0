"""What a torture run is told, what it sees and what it says. Values only; no sockets."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gateway.sender.options import Target

if TYPE_CHECKING:
    from gateway.sender.torture.stage import Stage


class Mark(StrEnum):
    """How what the receiver did is to be taken; `tolerable` is a lawful choice that we would not have made."""

    RIGHT = "right"
    TOLERABLE = "tolerable"
    WRONG = "wrong"


class Fate(StrEnum):
    """What became of one message, as its sender sees it."""

    TAKEN = "taken"  # a positive answer that names it
    REFUSED = "refused"  # a negative answer
    PASSED = "passed over"  # no answer, though a later message of the connection has one
    CLOSED = "closed"  # the connection ended without an answer
    SILENT = "silent"  # no answer in time, the connection open


class Source(StrEnum):
    """Whose rule it is."""

    ENCODING = "HL7 ch. 2, 2.6"
    ACKNOWLEDGING = "HL7 ch. 2, 2.9"
    MSA = "HL7 ch. 2, MSA-2"
    MSH = "HL7 ch. 2, MSH"
    CHARSET = "HL7 ch. 2, MSH-18"
    MLLP = "MLLP release 1"
    TCP = "RFC 9293"
    OURS = "this gateway"


@dataclass(frozen=True, slots=True, kw_only=True)
class TortureOptions:
    """One run against `target`. `run` (up to 8 letters and digits) makes the control ids of this run its own.

    In seconds: `patience` is how long an answer is waited for, `quiet` how long the absence of one is listened for,
    `pause` lies between two pieces of a message, `drip` is how long the slowest message takes, `limit` how long one
    kind may take in all. `oversize` is the length of the largest message in bytes, `unread` the number of messages
    whose answers are not read.
    """

    target: Target
    run: str
    patience: float = 10.0
    quiet: float = 1.5
    pause: float = 0.005
    drip: float = 3.0
    limit: float = 120.0
    oversize: int = 17 << 20
    unread: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one kind went: the mark, what was seen in a few words, and why it is not right (None: it is)."""

    mark: Mark
    saw: str
    note: str | None = None


Play = Callable[["Stage"], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One way to misbehave: its name, what is sent, what a receiver should do, by whose rule, and how it is played."""

    name: str
    sends: str
    rule: str
    source: Source
    play: Play


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The outcome of one kind; `elapsed` in seconds."""

    kind: Kind
    outcome: Outcome
    elapsed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole run. `blocked`: an ordinary message was not taken, so nothing else was tried."""

    findings: Sequence[Finding]
    blocked: bool = False

    def count(self, mark: Mark) -> int:
        """Give how many kinds got this mark."""
        return sum(finding.outcome.mark is mark for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """Give 0 when nothing is wrong, 1 otherwise."""
        return 1 if self.count(Mark.WRONG) else 0
