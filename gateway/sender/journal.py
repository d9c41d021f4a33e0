"""Writes down what was sent and what came back, one JSON object per line. Never reads, never judges."""

import hashlib
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from gateway.sender.options import Sent, Verdict


class Journal:
    """An append-only file, 0600; every line is in the kernel before the callback returns, so that it outlives us.

    Lines: `{"event": "sent", number, attempt, connection, origin, control_id, sha256}` before each write, and
    `{"event": "verdict", ..., judgement, code, note, extra, retried, answer_sha256}` after. Ids are latin-1 text.
    No message is written down, only its hash.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def sent(self, sent: Sent) -> None:
        """Note a frame about to be written (the `on_sent` of a run)."""
        self._write({"event": "sent", **_place(sent), "sha256": hashlib.sha256(sent.payload).hexdigest()})

    def verdict(self, verdict: Verdict) -> None:
        """Note an answer or its absence (the `on_verdict` of a run)."""
        answer = verdict.answer
        self._write(
            {
                "event": "verdict",
                **_place(verdict),
                "judgement": str(verdict.judgement),
                "code": verdict.code,
                "note": verdict.note,
                "extra": verdict.extra,
                "retried": verdict.retried,
                "answer_sha256": hashlib.sha256(answer).hexdigest() if answer is not None else None,
            }
        )

    def _write(self, line: dict[str, object]) -> None:
        os.write(self._file, json.dumps(line).encode("ascii") + b"\n")


def _place(entry: Sent | Verdict) -> dict[str, object]:
    return {
        "number": entry.number,
        "attempt": entry.attempt,
        "connection": entry.connection,
        "origin": entry.origin,
        "control_id": entry.control_id.decode("latin-1"),
    }
