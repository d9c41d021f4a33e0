"""Names of table 0211 to codecs, and decoding that never invents or drops a character (INTAKE, section 2)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Charset:
    """How a message is to be read: Python codec name, what MSH-18 declared (text for people), and flags
    (`unknown-charset`, `charset-alias`).
    """

    codec: str
    declared: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Text, the codec it was really decoded with, and whether the declared one did not fit."""

    text: str
    codec: str
    mismatch: bool


def resolve(
    declared: bytes, *, separator: bytes, configured: str | None, default: str, payload: bytes = b""
) -> Charset:
    """Choose the codec from MSH-18 (`declared`, repetitions split at `separator`), the channel's fixed encoding,
    and the default. Raises CharsetUnusable for UTF-16/32 and for a configured name no codec has.
    """


def decode(payload: bytes, charset: Charset, *, fallback: str) -> Decoded:
    """Decode; bytes that do not fit are read by `fallback` (`windows-1252` cannot fail; its undefined bytes map to
    C1 controls). `fallback="reject"` raises CharsetUnusable.
    """


def decode_stored(payload: bytes, codec: str) -> str:
    """Decode stored bytes by the codec noted on the row; total for every codec this module ever gives."""


def encode(text: str, codec: str) -> bytes:
    """Encode an answer's text in the sender's charset; characters it lacks become `?`-free numeric HL7 escapes
    (`\\X..\\`) of their UTF-8 bytes.
    """


def is_known(name: str) -> bool:
    """True when a configuration may name this encoding (table 0211 name, alias, or Python codec)."""
