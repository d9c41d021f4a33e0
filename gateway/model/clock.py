"""Time as values. Order never depends on it; only dues, leases and people do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """One reading of the clocks: wall time for people, boot time for arithmetic.

    `wall` is Unix time in milliseconds (UTC); `boot_id` names this boot of the machine;
    `ms` is CLOCK_BOOTTIME in milliseconds, comparable only under the same `boot_id`.
    """

    wall: int
    boot_id: str
    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A moment of one boot: `ms` is CLOCK_BOOTTIME in milliseconds."""

    boot_id: str
    ms: int

    def wait(self, now: Now, *, foreign: int) -> int:
        """Give the milliseconds still to wait; after a reboot that is `foreign`, since the clocks do not compare."""
        if self.boot_id != now.boot_id:
            return foreign
        return max(0, self.ms - now.ms)
