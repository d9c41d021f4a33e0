"""The guard at the door: a fact that could be message content does not pass. Never raises."""

from collections.abc import Mapping
from functools import lru_cache

from gateway.ports.observe import Fact

REDACTED = "[redacted]"
LONGEST = 200
MOST_FACTS = 32

_CONTENT = frozenset(
    {"body", "content", "control_id", "frame", "message", "original", "patient", "payload", "raw", "segment", "text"}
)
"""Facts of these names are content whatever they look like."""

_DELIMITERS = frozenset("|^~\\&")
"""Separators of HL7 (ch. 2, 2.5.4); our own words hold none of them."""

_RESERVED = frozenset({"event", "level", "self", "time"})


def guarded(facts: Mapping[str, object]) -> tuple[dict[str, Fact], int]:
    """Give the facts that may be shown, with a marker in place of each other one, and how many markers there are."""
    shown: dict[str, Fact] = {}
    redacted = 0
    for name, value in facts.items():
        if len(shown) == MOST_FACTS:
            return shown, redacted + len(facts) - MOST_FACTS
        key = _shown_name(name)
        safe = safe_value(value) if key is not None else REDACTED
        redacted += safe is REDACTED
        shown[key or REDACTED] = safe
    return shown, redacted


@lru_cache(maxsize=1_024)
def _shown_name(name: str) -> str | None:
    """Give the name a fact is shown under, or None if its value must not be shown."""
    if name in _CONTENT or not is_word(name):
        return None
    return f"fact_{name}" if name in _RESERVED else name


def safe_value(value: object) -> Fact:
    """Give the value if it is a number, a flag, nothing, or a short plain text; else the marker."""
    match value:
        case None | bool() | float():
            return value
        case int():
            # A longer number could be an identifier of a person; JSON readers lose its digits anyway.
            return value if -(1 << 63) <= value < 1 << 63 else REDACTED
        case str():
            if len(value) > LONGEST or not value.isprintable() or not _DELIMITERS.isdisjoint(value):
                return REDACTED
            # A subclass (StrEnum) is reduced to its text.
            return value if type(value) is str else str.__str__(value)
        case _:
            return REDACTED


@lru_cache(maxsize=1_024)
def is_word(name: str) -> bool:
    """Say whether this is a fixed word: lower-case ASCII letters, digits, `-`, `_`, `.`, at most 64."""
    letters = name.replace("-", "").replace("_", "").replace(".", "")
    return 0 < len(name) <= 64 and letters.isascii() and letters.isalnum() and letters == letters.lower()
