"""What a bench is told. Plain values; starts nothing."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gateway.errors import OperatorError


class Suite(StrEnum):
    """What is measured together, on processes of its own."""

    INTAKE = "intake"
    DISPATCH = "dispatch"
    SIZE = "size"
    IDLE = "idle"


class BenchFailed(OperatorError):
    """The bench cannot say anything: a program did not start, or a message was not answered as it must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """The command lines of what is started, without their arguments.

    `gateway` takes `-c FILE --ready-file FILE`; `single` the same and `--synchronous FULL|NORMAL`, and writes one
    commit for each unit of work; `receiver` takes the arguments of the bundled receiver.
    """

    gateway: tuple[str, ...]
    single: tuple[str, ...]
    receiver: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """One run of the bench.

    `disk`: a folder on the disk to measure; a temporary one is made in it and removed. `seconds`: how long one load
    lasts; the tail is looked for ten times as long. `rounds`: how often everything is repeated, interleaved; medians
    count. `has_baseline`: also measure the same build with one commit for each message. `senders`, `channels`:
    connections of the busy loads. `idle`: silent connections. `large`: bytes of a large message.
    """

    programs: Programs
    disk: Path
    suites: tuple[Suite, ...] = tuple(Suite)
    seconds: float = 3.0
    rounds: int = 5
    has_baseline: bool = False
    senders: int = 64
    channels: int = 32
    idle: int = 10_000
    large: int = 1_000_000

    @property
    def tail_seconds(self) -> float:
        """How long the load lasts in which slow answers are looked for."""
        return 10 * self.seconds
