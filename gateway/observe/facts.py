"""The guard at the door: a fact that could be message content does not pass. Never raises."""

from collections.abc import Mapping

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
    redacted = max(0, len(facts) - MOST_FACTS)
    for name, value in list(facts.items())[:MOST_FACTS]:
        safe = REDACTED if name in _CONTENT else safe_value(value)
        redacted += safe == REDACTED
        key = name if is_word(name) else REDACTED
        shown[f"fact_{key}" if key in _RESERVED else key] = safe
    return shown, redacted


def safe_value(value: object) -> Fact:
    """Give the value if it is a number, a flag, nothing, or a short plain text; else the marker."""
    match value:
        case None | bool() | float():
            return value
        case int():
            # A longer number could be an identifier of a person; JSON readers lose its digits anyway.
            return int(value) if -(1 << 63) <= value < 1 << 63 else REDACTED
        case str():
            # A subclass (StrEnum) is reduced to its text.
            text = str.__str__(value)
            plain = len(text) <= LONGEST and text.isprintable() and _DELIMITERS.isdisjoint(text)
            return text if plain else REDACTED
        case _:
            return REDACTED


def is_word(name: str) -> bool:
    """Say whether this is a fixed word: lower-case ASCII letters, digits, `-`, `_`, `.`, at most 64."""
    letters = name.replace("-", "").replace("_", "").replace(".", "")
    return 0 < len(name) <= 64 and letters.isascii() and letters.isalnum() and letters == letters.lower()
