"""What the receiver knows about rows: outcomes, runs, and what it once called unknown. Knows no files or sockets."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.receiver.values import Reply, row_key


class Course(StrEnum):
    """What becomes of one arrival (PROTOCOL, section 4, `dedupe`)."""

    RUN = "run"
    JOIN = "join"
    STORED = "stored"


class Knowledge(StrEnum):
    """What is said of a callback (PROTOCOL, section 4, `status`)."""

    DONE = "done"
    RUNNING = "running"
    UNKNOWN = "unknown"


@dataclass(slots=True, kw_only=True)
class Record:
    """One row: every callback seen for it, the line its last run began at, and that run or its outcome."""

    callbacks: set[str] = field(default_factory=set)
    line: int = 0
    at: int = 0
    run: "asyncio.Future[Reply] | None" = None
    outcome: Reply | None = None


class Ledger:
    """Rows by key, oldest first, forgotten once `window` ms have passed since they last arrived."""

    def __init__(self, *, window: int) -> None:
        self._window = window
        self._records: OrderedDict[str, Record] = OrderedDict()
        self._disowned: dict[str, int] = {}

    def knows(self, callback: str) -> bool:
        """Say whether the row of this callback was taken before."""
        return row_key(callback) in self._records

    def course(self, callback: str, *, dedupe: bool) -> Course:
        """Decide about an arrival: accepted -> the stored answer, refused -> run again, running -> join that run."""
        record = self._records.get(row_key(callback))
        if not dedupe or record is None:
            return Course.RUN
        if record.run is not None:
            return Course.JOIN
        if record.outcome is not None and record.outcome.is_accepted:
            return Course.STORED
        return Course.RUN

    def stored(self, callback: str) -> Reply | None:
        """Give the stored outcome of the row."""
        record = self._records.get(row_key(callback))
        return None if record is None else record.outcome

    def arrive(self, callback: str, *, line: int, at: int, runs: bool) -> Record:
        """Note an arrival; one that runs replaces what was known of the row's outcome."""
        key = row_key(callback)
        record = self._records.pop(key, None) or Record()
        self._records[key] = record
        record.callbacks.add(callback)
        record.at = at
        if runs:
            record.line = line
            record.outcome = None
        return record

    def forget(self, now: int) -> None:
        """Drop rows out of the window, but never one that is running."""
        while self._records:
            key, record = next(iter(self._records.items()))
            if record.run is not None or record.at > now - self._window:
                return
            del self._records[key]

    def unfinished(self) -> list[Record]:
        """Give rows that were taken but have neither a run nor an outcome: a crash came between."""
        return [each for each in self._records.values() if each.run is None and each.outcome is None]

    def look_up(self, callback: str) -> tuple[Knowledge, Reply | None]:
        """Say what is known of one send; an accepted row answers for every send of it."""
        record = self._records.get(row_key(callback))
        if record is None:
            return Knowledge.UNKNOWN, None
        if record.outcome is not None and record.outcome.is_accepted:
            return Knowledge.DONE, record.outcome
        if record.outcome is None:
            return Knowledge.RUNNING, None
        # A refusal answers only the sends it was given to: a later one would have been run.
        if callback in record.callbacks:
            return Knowledge.DONE, record.outcome
        return Knowledge.UNKNOWN, None

    def disown(self, callback: str, *, asked_on: int) -> None:
        """Promise to refuse this callback, called unknown, should it still come in on an older connection."""
        self._disowned[callback] = asked_on

    def is_disowned(self, callback: str, *, came_on: int) -> bool:
        """Say whether that promise speaks against this arrival."""
        return came_on < self._disowned.get(callback, 0)

    def release_promises(self, open_connections: Iterable[int]) -> None:
        """Drop promises no open connection is old enough to break."""
        oldest = min(open_connections, default=None)
        self._disowned = {
            callback: asked_on
            for callback, asked_on in self._disowned.items()
            if oldest is not None and oldest < asked_on
        }
