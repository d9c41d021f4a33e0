"""From a verdict to a settlement: again, given up, or done. Time and the roll of the dice are arguments."""

from dataclasses import dataclass
from typing import assert_never

from gateway.core.verdict import (
    Accepted,
    Ambiguous,
    Deferred,
    NotSent,
    Refused,
    Retry,
    Transient,
    Verdict,
)
from gateway.model.clock import Due, Now, age
from gateway.model.delivery import Again, Finish, GiveUp, Release, Settlement
from gateway.model.policy import OnAmbiguous, OnRejected, OutcomePolicy, RetryPolicy, Strategy
from gateway.model.states import ErrorCode, Event

LINK_LOSSES_BEFORE_REVIEW = 3
"""A row that took the link down three times goes into review whatever the policies say (PROTOCOL, section 2)."""

LONGEST_DEFERRAL = 300_000
"""A server may ask for at most this many milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a row has behind it, before this verdict."""

    attempts: int
    link_losses: int
    first_sent: Due | None
    first_sent_wall: int | None


def backoff(policy: RetryPolicy, *, step: int, roll: float) -> int:
    """Give the wait in ms before try number `step` + 1 (`step` from 1), with equal jitter if the policy has it."""
    match policy.strategy:
        case Strategy.EXPONENTIAL:
            # Beyond 2**40 every wait is the maximum; the bound keeps the number small.
            wait = policy.initial * 2 ** min(step - 1, 40)
        case Strategy.LINEAR:
            wait = policy.initial * step
        case _:
            assert_never(policy.strategy)
    wait = min(wait, policy.max)
    return int(wait / 2 + wait / 2 * roll) if policy.jitter else wait


def is_over(policy: RetryPolicy, history: History, now: Now) -> bool:
    """Say whether the row's horizon has passed since its first write; after a reboot wall time decides."""
    if history.first_sent is None or history.first_sent_wall is None:
        return False
    return age(history.first_sent, history.first_sent_wall, now) >= policy.horizon


def decide(
    verdict: Verdict,
    *,
    retry: RetryPolicy,
    outcome: OutcomePolicy,
    history: History,
    now: Now,
    roll: float,
) -> Settlement:
    """Turn a verdict into what is written: the row's next state, its wait, and whether its partition halts."""
    match verdict:
        case Accepted():
            return Finish(event=Event.ACCEPTED)
        case Refused():
            return Finish(event=Event.REFUSED, code=verdict.code, halts=outcome.on_reject is OnRejected.HALT)
        case Retry():
            return _again_or_exhausted(verdict.code, True, retry, outcome, history, now, roll)
        case Transient():
            return _again_or_exhausted(verdict.code, False, retry, outcome, history, now, roll)
        case Deferred():
            return _deferred(verdict, retry, outcome, history, now, roll)
        case Ambiguous():
            return _in_doubt(verdict, retry, outcome, history, roll)
        case NotSent():
            return Release()
        case _:
            assert_never(verdict)


def _again_or_exhausted(
    code: ErrorCode,
    counted: bool,
    retry: RetryPolicy,
    outcome: OutcomePolicy,
    history: History,
    now: Now,
    roll: float,
) -> Settlement:
    """Try again unless the attempts or the horizon are used up."""
    attempts = history.attempts + counted
    if (counted and attempts >= retry.attempts) or is_over(retry, history, now):
        halts = outcome.on_exhausted is OnRejected.HALT
        return GiveUp(event=Event.EXHAUSTED, code=ErrorCode.RETRY_EXHAUSTED, halts=halts, counted=counted)
    wait = backoff(retry, step=max(1, attempts), roll=roll)
    return Again(event=Event.RETRY, wait=wait, counted=counted, code=code)


def _deferred(
    verdict: Deferred,
    retry: RetryPolicy,
    outcome: OutcomePolicy,
    history: History,
    now: Now,
    roll: float,
) -> Settlement:
    """Wait as long as the server asks; only the horizon ends it."""
    if is_over(retry, history, now):
        halts = outcome.on_exhausted is OnRejected.HALT
        return GiveUp(event=Event.EXHAUSTED, code=ErrorCode.RETRY_EXHAUSTED, halts=halts)
    if verdict.after is None:
        wait = backoff(retry, step=max(1, history.attempts), roll=roll)
    else:
        wait = min(int(verdict.after * 1_000), LONGEST_DEFERRAL)
    return Again(event=Event.DEFERRED, wait=wait, counted=False, code=ErrorCode.SERVER_BUSY)


def _in_doubt(
    verdict: Ambiguous, retry: RetryPolicy, outcome: OutcomePolicy, history: History, roll: float
) -> Settlement:
    """Hold for a person, or send again where the administrator said so and the row is no poison."""
    resend = outcome.on_ambiguous is OnAmbiguous.RESEND
    is_poison = history.link_losses + verdict.link_lost >= LINK_LOSSES_BEFORE_REVIEW
    attempts = history.attempts + 1
    if resend and not is_poison and attempts < retry.attempts:
        wait = backoff(retry, step=attempts, roll=roll)
        return Again(event=Event.RETRY, wait=wait, counted=True, code=verdict.code, link_lost=verdict.link_lost)
    return GiveUp(
        event=Event.IN_DOUBT,
        code=verdict.code,
        halts=outcome.on_ambiguous is OnAmbiguous.HOLD_HALT,
        counted=resend,
        link_lost=verdict.link_lost,
    )
