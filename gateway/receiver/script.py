"""Scripted faults: how the receiver misbehaves, by control id. Reads a JSON file; never touches a socket.

The file holds one object. A key is a control id (MSH-10), or `*` for every other message. Its value is one fault,
played at every arrival, or a list of faults, played one per arrival; after the last one all is well.
A fault is an object of these members (every one may be left out):

    delay       seconds the run takes; meanwhile the row is `running`
    silence     true: taken and run, never answered
    ack         "AE", "AR", "CE", "CR", "AA", "CA": MSA-1 of the answer
    statusCode  the answer is this status instead of an HL7 body
    retryAfter  seconds, or an HTTP date, beside the status
    close       "before-storing" or "after-storing": the connection goes down instead of an answer
    closeCode   close code of an orderly close; without it the TCP connection is cut
    answers     how many times the same answer is sent
    msa2        what stands in MSA-2 of the answer instead of the message's control id
    error       "callback": `agent:error` that names the send; "bare": one that names nothing, and nothing is taken
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from gateway.errors import OperatorError

ANY = "*"
_ACK_CODES = frozenset({"AA", "AE", "AR", "CA", "CE", "CR"})


class CloseAt(StrEnum):
    """When the connection goes down."""

    BEFORE_STORING = "before-storing"
    AFTER_STORING = "after-storing"


class ErrorKind(StrEnum):
    """What an `agent:error` names."""

    CALLBACK = "callback"
    BARE = "bare"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """How one arrival is treated; the default is: well. See the module for the members."""

    delay: float = 0.0
    silence: bool = False
    ack: str | None = None
    status: int | None = None
    retry_after: float | str | None = None
    close: CloseAt | None = None
    close_code: int | None = None
    answers: int = 1
    msa2: str | None = None
    error: ErrorKind | None = None


WELL = Fault()


class Script:
    """Faults by control id, counting arrivals."""

    def __init__(self, faults: Mapping[str, Sequence[Fault] | Fault] | None = None) -> None:
        self._faults = dict(faults or {})
        self._arrivals: Counter[str] = Counter()

    def next(self, control_id: str | None) -> Fault:
        """Give the fault for this arrival and count it."""
        key = ANY if control_id is None or control_id not in self._faults else control_id
        planned = self._faults.get(key, WELL)
        if isinstance(planned, Fault):
            return planned
        # Arrivals are counted per message even under `*`, so that each one meets the list from its start.
        counted = key if control_id is None else control_id
        step = self._arrivals[counted]
        if step >= len(planned):
            return WELL
        self._arrivals[counted] += 1
        return planned[step]


def load(path: Path) -> Script:
    """Read a script file. Raises OperatorError that names the control id and member at fault."""
    try:
        whole = orjson.loads(path.read_bytes())
    except OSError as trouble:
        raise OperatorError(f"script {path}: {trouble.strerror}") from trouble
    except orjson.JSONDecodeError as trouble:
        raise OperatorError(f"script {path}: not JSON, line {trouble.lineno}") from trouble
    return parse(whole)


def parse(whole: object) -> Script:
    """Turn the decoded JSON of a script into a Script. Raises OperatorError."""
    if not isinstance(whole, dict):
        raise OperatorError("a script is one JSON object: control id -> fault or list of faults")
    return Script({key: _planned(key, value) for key, value in whole.items()})


def _planned(key: str, value: object) -> Sequence[Fault] | Fault:
    if isinstance(value, list):
        return tuple(_fault(key, each) for each in value)
    return _fault(key, value)


def _fault(key: str, value: object) -> Fault:
    if not isinstance(value, dict):
        raise OperatorError(f"script, {key}: a fault is a JSON object")
    members: dict[str, Any] = {}
    for name, given in value.items():
        if name not in _MEMBERS:
            raise OperatorError(f"script, {key}: unknown member {name}; known: {', '.join(_MEMBERS)}")
        attribute, reader = _MEMBERS[name]
        try:
            members[attribute] = reader(given)
        except (TypeError, ValueError):
            raise OperatorError(f"script, {key}: {name} cannot be {given!r}") from None
    return Fault(**members)


def _seconds(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or given < 0:
        raise ValueError
    return float(given)


def _flag(given: object) -> bool:
    if not isinstance(given, bool):
        raise TypeError
    return given


def _ack_code(given: object) -> str:
    if given not in _ACK_CODES:
        raise ValueError
    return str(given)


def _between(low: int, high: int) -> Any:
    def read(given: object) -> int:
        if isinstance(given, bool) or not isinstance(given, int) or not low <= given <= high:
            raise ValueError
        return given

    return read


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _seconds_or_date(given: object) -> float | str:
    return given if isinstance(given, str) else _seconds(given)


_MEMBERS: dict[str, tuple[str, Any]] = {
    "delay": ("delay", _seconds),
    "silence": ("silence", _flag),
    "ack": ("ack", _ack_code),
    "statusCode": ("status", _between(100, 599)),
    "retryAfter": ("retry_after", _seconds_or_date),
    "close": ("close", CloseAt),
    "closeCode": ("close_code", _between(1000, 4999)),
    "answers": ("answers", _between(1, 10)),
    "msa2": ("msa2", _text),
    "error": ("error", ErrorKind),
}
