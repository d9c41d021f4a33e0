"""Makes stored values fit to be printed for people. Never lets a control character through to a terminal."""

import unicodedata
from datetime import UTC, datetime

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def visible(text: str) -> str:
    r"""Give the text with every character that draws nothing or steers a terminal written as an escape.

    Control characters (C0, DEL, C1), format characters (bidirectional overrides, zero widths), line separators,
    surrogates and unassigned characters turn into `\xNN`, `\uNNNN`; backslashes stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(character if _is_drawn(character) else _escape(character) for character in text)


def control_text(control_id: bytes, encoding: str) -> str:
    r"""Give a control id as a person reads it, in the row's encoding; bytes that do not decode become `\xNN`."""
    try:
        text = control_id.decode(encoding or "utf-8", "backslashreplace")
    except LookupError:
        text = control_id.decode("utf-8", "backslashreplace")
    return visible(text)


def iso(at: int) -> str:
    """Give a Unix time in milliseconds as ISO 8601 in UTC, always with milliseconds."""
    seconds, milliseconds = divmod(at, 1_000)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1_000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clock_time(at: int) -> str:
    """Give a Unix time in milliseconds to the second, short enough for a table: `2026-01-31 12:00:00` (UTC)."""
    return iso(at)[:19].replace("T", " ")


def span(duration: int) -> str:
    """Give a duration in milliseconds in its largest whole unit: `12 s`, `3 min`; never negative."""
    for size, unit in _UNITS:
        if duration >= size:
            return f"{duration // size} {unit}"
    return f"{max(0, duration)} ms"


def _is_drawn(character: str) -> bool:
    """Say whether the character may reach a terminal; spaces of any width may."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
