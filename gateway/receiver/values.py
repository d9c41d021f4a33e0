"""What a receiver takes and what it answers, as values."""

from dataclasses import dataclass

from gateway.wire import ack

_POSITIVE = frozenset({"AA", "CA"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """One message taken, as it stands in the journal.

    `callback` is the text as sent; `control_id` is MSH-10 of the body, None if there is no readable MSH.
    `repeat` is True when the row (the callback up to its last `#`) was known before. `runs` is False when the message
    got a stored answer or joined a run, so that the application did not see it again.
    """

    callback: str
    channel: str
    remote: str
    body: str
    epoch: int | None
    control_id: str | None
    repeat: bool
    runs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the application answers: a body (HL7 or None), an HTTP-like status (None is left out, and means 200),
    and how long to wait (seconds, or an HTTP date) when it is busy.
    """

    body: str | None = None
    status: int | None = None
    retry_after: float | str | None = None

    @property
    def is_accepted(self) -> bool:
        """True when the outcome may be stored and given again: MSA-1 decides, without an MSA the status."""
        msa = None if self.body is None else ack.read_msa(self.body)
        if msa is not None:
            return msa.code in _POSITIVE
        return self.status is None or 200 <= self.status < 300


def row_key(callback: str) -> str:
    """Give the row part of a callback: everything before its last `#`, or all of it."""
    row, mark, _ = callback.rpartition("#")
    return row if mark else callback
