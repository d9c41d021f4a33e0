"""What an answer of the server means. The table of PROTOCOL, section 2; no waiting, no counting here."""

from dataclasses import dataclass
from typing import assert_never

from gateway.model.policy import Profile, RefusalVerdict, VerdictPolicy
from gateway.model.states import ErrorCode
from gateway.model.upstream import (
    Answer,
    ErrorAnswer,
    LinkLost,
    Msa,
    Outcome,
    Silence,
    Unattributed,
    Unsent,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The server has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The server will never take it."""

    code: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Try again; the attempt counts."""

    code: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Transient:
    """Try again; it speaks of the server, so no attempt counts."""

    code: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """The server asks to wait `after` seconds (None: the usual backoff); no attempt counts."""

    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguous:
    """Nobody can say from here whether the server has it."""

    code: ErrorCode
    link_lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSent:
    """Provably not sent."""


Verdict = Accepted | Refused | Retry | Transient | Deferred | Ambiguous | NotSent

_ACCEPTS = frozenset({"AA", "CA"})
_ERRORS = frozenset({"AE", "CE"})
_REJECTS = frozenset({"AR", "CR"})
_RETRYABLE_ERRORS = frozenset({"206", "207"})
"""Table 0357: application record locked, application internal error."""

_DEFERRING = frozenset({408, 425, 429, 503})


def judge(outcome: Outcome, *, control_id: str, policy: VerdictPolicy) -> Verdict:
    """Judge what came back for a send whose MSH-10, read as text, is `control_id`."""
    match outcome:
        case Answer():
            return _judge_answer(outcome, control_id=control_id, policy=policy)
        case ErrorAnswer():
            return Transient(code=ErrorCode.SERVER_ERROR)
        case Unattributed():
            return Deferred(after=None)
        case Silence():
            return Ambiguous(code=ErrorCode.RESPONSE_TIMEOUT)
        case LinkLost(too_large=True):
            return Refused(code=ErrorCode.TOO_LARGE_FOR_SERVER)
        case LinkLost():
            return Ambiguous(code=ErrorCode.INTERRUPTED, link_lost=True)
        case Unsent():
            return NotSent()
        case _:
            assert_never(outcome)


def _judge_answer(answer: Answer, *, control_id: str, policy: VerdictPolicy) -> Verdict:
    """Let an MSA decide if there is one that may; else the status."""
    if answer.msa is not None:
        return _judge_msa(answer.msa, control_id=control_id, policy=policy)
    if answer.begins_msh:
        return Ambiguous(code=ErrorCode.ANSWER_MISMATCH)
    return _judge_status(answer, policy=policy)


def _judge_msa(msa: Msa, *, control_id: str, policy: VerdictPolicy) -> Verdict:
    """Read MSA-1 by table 0008, once MSA-2 names our message."""
    if policy.check_msa2 and msa.control_id != control_id:
        return Ambiguous(code=ErrorCode.ANSWER_MISMATCH)
    if msa.code in _ACCEPTS:
        return Accepted()
    if msa.code in _ERRORS:
        return _refusal(policy.ae, ErrorCode.UPSTREAM_ERROR)
    if msa.code in _REJECTS:
        retryable = not _RETRYABLE_ERRORS.isdisjoint(msa.errors)
        return _refusal(RefusalVerdict.RETRY if retryable else policy.ar, ErrorCode.UPSTREAM_REJECTED)
    return Ambiguous(code=ErrorCode.ANSWER_MISMATCH)


def _refusal(wanted: RefusalVerdict, code: ErrorCode) -> Verdict:
    """Give what the administrator chose for a negative answer."""
    return Retry(code=code) if wanted is RefusalVerdict.RETRY else Refused(code=code)


def _judge_status(answer: Answer, *, policy: VerdictPolicy) -> Verdict:
    """Read the HTTP-like status; a missing one counts as 200."""
    status = 200 if answer.status is None else answer.status
    if status in _DEFERRING:
        return Deferred(after=answer.retry_after)
    if 200 <= status < 300:
        return Accepted()
    if 400 <= status < 500:
        # A Medplum server answers 400 for every bot that failed, whatever the reason.
        if policy.profile is Profile.MEDPLUM:
            return Retry(code=ErrorCode.SERVER_REJECTED)
        return Refused(code=ErrorCode.SERVER_REJECTED)
    return Transient(code=ErrorCode.SERVER_ERROR)
