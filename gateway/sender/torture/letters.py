"""The messages of a torture run. Synthetic, marked as such wherever a person may look, and in training mode only.

MSH-11 is `T` (table 0103: training), never `P`; MSH-3, MSH-10, PID-3 and PID-5 say TORTURE.
"""

from collections.abc import Sequence

VT, FS, CR, LF = b"\x0b", b"\x1c", b"\r", b"\n"
END = FS + CR
BOM = b"\xef\xbb\xbf"

_ADMISSION = ("EVN|A01|20260101120000", "PID|1||TORTURE^^^TORTURE^MR||TORTURE^TEST", "PV1|1|O")


class Letters:
    """Writes messages with control ids no other run has: `TORTURE`, the run's own letters, a number."""

    def __init__(self, run: str) -> None:
        self._run = run[:8]
        self._last = 0

    def name(self) -> str:
        """Give a fresh control id, at most 20 characters (HL7 ch. 2, MSH-10)."""
        self._last += 1
        return f"TORTURE{self._run}-{self._last:04}"


def header(name: str, *, kind: str = "ADT^A01^ADT_A01", charset: str = "", sender: str = "TORTURE") -> str:
    """Write an MSH segment, without its end."""
    tail = f"||||||{charset}" if charset else ""
    return f"MSH|^~\\&|{sender}|TORTURE|RECEIVER|RECEIVER|20260101120000||{kind}|{name}|T|2.5.1{tail}"


def message(name: str, *, more: Sequence[str] = (), end: str = "\r", charset: str = "") -> bytes:
    """Write an admission of nobody; `more` segments follow, `end` ends every segment."""
    lines = (header(name, charset=charset), *_ADMISSION, *more)
    return "".join(line + end for line in lines).encode("ascii")


def frame(payload: bytes) -> bytes:
    """Wrap a payload as MLLP wants it."""
    return VT + payload + END
