"""What the gateway has to reach: one table, and how a figure is judged by it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gateway.sender.bench.figures import Series


class Grade(StrEnum):
    """How a figure stands. Below the floor is a defect; the aim is the goal."""

    AIM = "aim"
    PASS = "pass"  # noqa: S105 - a grade, not a secret
    SHORT = "short"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One target; with `is_ceiling` smaller is better."""

    text: str
    unit: str
    floor: float
    aim: float
    is_ceiling: bool = False

    def grade(self, value: float) -> Grade:
        """Judge a figure."""
        sign = -1 if self.is_ceiling else 1
        if sign * value >= sign * self.aim:
            return Grade.AIM
        return Grade.PASS if sign * value >= sign * self.floor else Grade.SHORT


TARGETS: Mapping[str, Target] = {
    "B1": Target(text="1 sender: ACK/s over the raw sync rate", unit="x", floor=0.35, aim=0.55),
    "B2": Target(text="64 senders: ACK/s over the raw sync rate", unit="x", floor=4, aim=5),
    "B4": Target(text="64 senders: ACK/s over one NORMAL commit a message", unit="x", floor=3.5, aim=5),
    "B5": Target(text="64 senders: CPU a message", unit="us", floor=70, aim=40, is_ceiling=True),
    "B6": Target(text="64 senders, long: p99 over p50", unit="x", floor=4, aim=2.5, is_ceiling=True),
    "B8": Target(text="1 channel: settled/s over the raw sync rate", unit="x", floor=0.28, aim=0.45),
    "B9": Target(text="32 channels: settled/s over one FULL commit a mark", unit="x", floor=6, aim=10),
    "B9c": Target(text="32 channels: commits a message", unit="", floor=0.08, aim=0.06, is_ceiling=True),
    "B10": Target(text="1 MB messages", unit="MB/s", floor=90, aim=150),
    "B10m": Target(text="1 MB messages: memory over those in the air", unit="x", floor=3, aim=3, is_ceiling=True),
    "B11": Target(text="header scan: 1 MB over 1 KB message", unit="x", floor=1.5, aim=1.2, is_ceiling=True),
    "B14": Target(text="10,000 idle connections: memory", unit="MiB", floor=256, aim=128, is_ceiling=True),
    "B14p": Target(text="10,000 idle connections: p99 of a sender", unit="s", floor=1, aim=0.1, is_ceiling=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One target, measured."""

    name: str
    series: Series

    @property
    def target(self) -> Target:
        """What it is judged by."""
        return TARGETS[self.name]

    @property
    def grade(self) -> Grade:
        """How the median stands."""
        return self.target.grade(self.series.middle)
