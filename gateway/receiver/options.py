"""What a receiver is told. It reads no configuration file and no environment."""

from dataclasses import dataclass, field
from pathlib import Path

from gateway.receiver.script import Script

MAX_FRAME = 64 << 20
"""Longest text frame taken, in bytes (PROTOCOL, section 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverOptions:
    """Where to listen, where to keep what was taken, and how to misbehave.

    `port` 0 picks a free one. `journal` None keeps everything in memory only. `plain` switches every extension off.
    `dedupe_window` is in seconds. `remember` is how many messages `Receiver.taken` shows (the journal has them all).
    """

    host: str = "127.0.0.1"
    port: int = 0
    journal: Path | None = None
    script: Script = field(default_factory=Script)
    plain: bool = False
    dedupe_window: float = 172_800.0
    max_size: int = MAX_FRAME
    remember: int = 100_000
