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


def age(since: Due, since_wall: int, now: Now) -> int:
    """Give the milliseconds since a noted moment; after a reboot only wall time can tell."""
    return now.ms - since.ms if since.boot_id == now.boot_id else now.wall - since_wall


def hl7_timestamp(wall: int) -> str:
    """Give Unix milliseconds as an HL7 time stamp of UTC, `YYYYMMDDHHMMSS+0000` (HL7 ch. 2A, DTM)."""
    days, milliseconds = divmod(wall, 86_400_000)
    seconds = milliseconds // 1_000
    year, month, day = _civil(days)
    hour, minute, second = seconds // 3_600, seconds // 60 % 60, seconds % 60
    return f"{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}+0000"


def _civil(days: int) -> tuple[int, int, int]:
    """Turn days since 1970-01-01 into year, month, day of the proleptic Gregorian calendar, in 400-year eras."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1
