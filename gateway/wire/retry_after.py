"""Reading how long a server asks us to wait. Knows no clock: a date is counted from the `now` it is given."""

import re

LONGEST_WAIT = 300.0
"""Seconds: no server may stop a channel for longer by one word."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# RFC 9110, 5.6.7: IMF-fixdate, and the obsolete RFC 850 and asctime forms, which a recipient must accept too.
_FORMS = (
    re.compile(
        r"[A-Z][a-z]{2}, (?P<day>\d{2}) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4}) "
        r"(?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2}) GMT"
    ),
    re.compile(
        r"[A-Z][a-z]{5,8}, (?P<day>\d{2})-(?P<month>[A-Z][a-z]{2})-(?P<year>\d{2}) "
        r"(?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2}) GMT"
    ),
    re.compile(
        r"[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) (?P<day>[ \d]\d) "
        r"(?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2}) (?P<year>\d{4})"
    ),
)
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{0,9})?", re.ASCII)


def retry_after(value: object, *, now: float | None) -> float | None:
    """Give the wait in seconds, 0 to 300, from a number or an HTTP date (`now` in Unix seconds); None when absent
    or unreadable.
    """
    match value:
        case bool():
            return None
        case int() | float():
            return _bounded(value)
        case str():
            text = value.strip()
            if _NUMBER.fullmatch(text):
                return _bounded(float(text))
            at = _unix(text)
            return None if at is None or now is None else _bounded(at - now)
        case _:
            return None


def _bounded(seconds: float) -> float:
    return float(min(max(seconds, 0.0), LONGEST_WAIT))


def _unix(text: str) -> int | None:
    for form in _FORMS:
        if (found := form.fullmatch(text)) is not None and found["month"] in _MONTHS:
            days = _days(_full_year(found["year"]), _MONTHS.index(found["month"]) + 1, int(found["day"]))
            return days * 86_400 + int(found["hour"]) * 3_600 + int(found["minute"]) * 60 + int(found["second"])
    return None


def _full_year(text: str) -> int:
    # A two-digit year: RFC 850 dates are older than this program, so the nearer century is this one.
    return int(text) + (2_000 if len(text) == 2 else 0)


def _days(year: int, month: int, day: int) -> int:
    """Count the days from 1970-01-01 in the Gregorian calendar (March begins the counted year)."""
    counted = year - (month <= 2)
    leap_days = counted // 4 - counted // 100 + counted // 400
    return counted * 365 + leap_days + (153 * ((month + 9) % 12) + 2) // 5 + day - 1 - 719_468
