"""Says in one sentence what a row or a channel waits for. Decides from facts handed in; reads nothing itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from gateway.console.plain import iso, visible
from gateway.console.values import Reason, Waiting
from gateway.model.clock import Now
from gateway.model.ids import SYSTEM
from gateway.model.review import ChannelSummary, EventRow, Halt, LeaseView, Row
from gateway.model.states import Event, State

LIVE_LINK = "live"
"""The word for a link that can carry sends."""

_MEANINGS: Mapping[str, str] = {
    "interrupted": "the link was lost after the write, so the server may have it",
    "response-timeout": "the server did not answer in time, so it may have it",
    "answer-mismatch": "the server answered for another message, so it may have it",
    "retry-exhausted": "every attempt failed",
    "quarantined": "its control id is known with other bytes",
    "too-large-for-server": "the server closed the link on its size",
    "corrupt": "its stored bytes do not match their hash",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What stands around a row: the clocks, its channel's halts, its upstream's lease.

    `upstream` None: the configuration has no such channel. `lease` None: nobody ever led that upstream.
    `crowded`: more earlier rows are unsettled than were looked at.
    """

    now: Now
    halts: tuple[Halt, ...]
    upstream: str | None
    lease: LeaseView | None
    crowded: bool = False


def of_row(row: Row, scene: Scene, *, blocker: Row | None, last: EventRow | None) -> Reason:
    """Explain one row. `blocker` is the earlier row it is ordered behind, `last` the event that led to its state."""
    match row.state:
        case State.PROCESSED | State.DISCARDED:
            return _settled(row, last)
        case State.NACKED:
            text = f"It waits for nothing: it was refused at intake ({_word(row.error_code)}) and is never delivered."
            return Reason(waits_for=Waiting.NOTHING, sentence=text)
        case State.FAILED | State.REJECTED:
            return _in_review(row, scene)
        case State.QUEUED | State.CLAIMED | State.INFLIGHT:
            return _live(row, scene, blocker)
        case _:
            assert_never(row.state)


def of_channel(summary: ChannelSummary, head: Reason | None, scene: Scene) -> Reason:
    """Explain a channel by its halts, then by its head's reason (None: no row of it is live)."""
    whole = _halt_of(None, scene)
    if whole is not None:
        return _halted(whole, subject="The channel")
    if head is None:
        review = f"; {summary.in_review} in review" if summary.in_review else ""
        return Reason(waits_for=Waiting.NOTHING, sentence=f"No message waits to be delivered{review}.")
    sentence = f"Its head is row {summary.head}. {head.sentence}"
    return Reason(waits_for=head.waits_for, sentence=sentence, row=head.row or summary.head, until=head.until)


def _settled(row: Row, last: EventRow | None) -> Reason:
    when = f" at {iso(row.settled_at)}" if row.settled_at is not None else ""
    if last is not None and last.actor != SYSTEM:
        why = f": {visible(last.reason)}" if last.reason else ""
        said = "resolved" if last.kind == Event.RESOLVED else "discarded"
        text = f"Settled: {said} by {visible(last.actor)}{when}{why}."
    else:
        text = f"Settled: {row.state}{when}."
    return Reason(waits_for=Waiting.NOTHING, sentence=text)


def _in_review(row: Row, scene: Scene) -> Reason:
    code = _word(row.error_code)
    meaning = _MEANINGS.get(code, "the server refused it" if row.state is State.REJECTED else "it was given up")
    holds = any(halt.row == row.row for halt in scene.halts)
    halting = "; it halts its partition until then" if holds else ""
    text = f"In review ({code}: {meaning}); waits for a person to requeue, resolve or discard it{halting}."
    return Reason(waits_for=Waiting.PERSON, sentence=text, row=row.row)


def _live(row: Row, scene: Scene, blocker: Row | None) -> Reason:
    """Explain a row that holds a place in the queue: the first thing in its way, from the outermost in."""
    if row.state is not State.QUEUED:
        return _handed_out(row, scene)
    halt = _halt_of(row.partition, scene)
    if halt is not None:
        return _halted(halt, subject="It")
    if blocker is not None:
        ahead = _live(blocker, scene, None)
        text = f"It waits behind row {blocker.row} ({blocker.state}). Row {blocker.row}: {_lowered(ahead.sentence)}"
        return Reason(waits_for=Waiting.BEHIND, sentence=text, row=blocker.row, until=ahead.until)
    if scene.crowded:
        return Reason(
            waits_for=Waiting.TURN, sentence="It waits for its turn: thousands of earlier rows are unsettled."
        )
    return _nobody_drives(scene) or _backoff(row, scene.now) or _next()


def _handed_out(row: Row, scene: Scene) -> Reason:
    stale = scene.lease is not None and row.epoch is not None and row.epoch < scene.lease.epoch
    nobody = _nobody_leads(scene)
    if nobody is not None:
        text = f"It is {row.state} under an earlier leader; the next one decides. {nobody.sentence}"
        return Reason(waits_for=Waiting.LEADER, sentence=text)
    if row.state is State.CLAIMED:
        return Reason(waits_for=Waiting.TURN, sentence="It is claimed and about to be sent.")
    doubt = ", which was interrupted: the leader asks the server what became of it" if stale else ""
    text = f"It waits for the server's answer to send {row.sends}{doubt}."
    return Reason(waits_for=Waiting.ANSWER, sentence=text)


def _halted(halt: Halt, *, subject: str) -> Reason:
    by = f"by row {halt.row}" if halt.row is not None else f"by {visible(halt.who)}"
    ends = f"row {halt.row} is requeued, resolved or discarded, or " if halt.row is not None else ""
    text = f"{subject} is halted {by} since {iso(halt.since)} ({visible(halt.why)}) until {ends}somebody resumes."
    return Reason(waits_for=Waiting.HALTED, sentence=text, row=halt.row)


def _nobody_drives(scene: Scene) -> Reason | None:
    """Explain a missing leader or a link that is not live; None if both are there."""
    nobody = _nobody_leads(scene)
    if nobody is not None:
        return nobody
    if scene.lease is not None and scene.lease.link != LIVE_LINK:
        text = f"The link to upstream {scene.upstream} is not live ({visible(scene.lease.link)})."
        return Reason(waits_for=Waiting.LINK, sentence=text)
    return None


def _nobody_leads(scene: Scene) -> Reason | None:
    if scene.upstream is None:
        text = "The configuration has no such channel, so nobody delivers it."
        return Reason(waits_for=Waiting.UNDRIVEN, sentence=text)
    lease = scene.lease
    if lease is None or lease.holder is None or not lease.expires_in or lease.expires_in <= 0:
        text = f"No running gateway leads upstream {scene.upstream}."
        return Reason(waits_for=Waiting.LEADER, sentence=text)
    return None


def _backoff(row: Row, now: Now) -> Reason | None:
    if row.due is None:
        return None
    after = f"after {_word(row.error_code)} (attempt {row.attempts})"
    if row.due.boot_id != now.boot_id:
        text = f"It is in backoff {after}; the machine restarted since, so it goes after the first retry wait at most."
        return Reason(waits_for=Waiting.BACKOFF, sentence=text)
    wait = row.due.wait(now, foreign=0)
    if wait == 0:
        return None
    until = now.wall + wait
    return Reason(
        waits_for=Waiting.BACKOFF, sentence=f"It is in backoff {after} until {iso(until)}.", row=None, until=until
    )


def _next() -> Reason:
    return Reason(waits_for=Waiting.TURN, sentence="Nothing is in its way: it is sent next.")


def _halt_of(partition: str | None, scene: Scene) -> Halt | None:
    """Give the halt that holds this partition; one of the whole channel comes first."""
    for halt in scene.halts:
        if halt.partition is None:
            return halt
    return next((halt for halt in scene.halts if partition is not None and halt.partition == partition), None)


def _word(code: str | None) -> str:
    return visible(code) if code else "no code"


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
