"""The verdict table, every row, three profiles."""

import pytest

from gateway.core.verdict import (
    Accepted,
    Ambiguous,
    Deferred,
    NotSent,
    Refused,
    Retry,
    Transient,
    Verdict,
    judge,
)
from gateway.model.policy import Profile, RefusalVerdict, VerdictPolicy
from gateway.model.states import ErrorCode
from gateway.model.upstream import Answer, ErrorAnswer, LinkLost, Msa, Outcome, Silence, Unattributed, Unsent

POLICIES = [VerdictPolicy(profile=profile) for profile in Profile]


def hl7(code: str, *, control_id: str = "A1", errors: tuple[str, ...] = (), status: int | None = None) -> Answer:
    msa = Msa(code=code, control_id=control_id, errors=errors)
    return Answer(status=status, body="MSH|...", begins_msh=True, msa=msa, retry_after=None)


def plain(status: int | None, *, retry_after: float | None = None) -> Answer:
    return Answer(status=status, body=None, begins_msh=False, msa=None, retry_after=retry_after)


def verdict(outcome: Outcome, policy: VerdictPolicy) -> Verdict:
    return judge(outcome, control_id="A1", policy=policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (hl7("AA"), Accepted()),
        (hl7("CA"), Accepted()),
        (hl7("AE"), Retry(code=ErrorCode.UPSTREAM_ERROR)),
        (hl7("CE"), Retry(code=ErrorCode.UPSTREAM_ERROR)),
        (hl7("AR"), Refused(code=ErrorCode.UPSTREAM_REJECTED)),
        (hl7("CR"), Refused(code=ErrorCode.UPSTREAM_REJECTED)),
        (hl7("AR", errors=("206",)), Retry(code=ErrorCode.UPSTREAM_REJECTED)),
        (hl7("AR", errors=("101", "207")), Retry(code=ErrorCode.UPSTREAM_REJECTED)),
        (hl7("AR", errors=("101",)), Refused(code=ErrorCode.UPSTREAM_REJECTED)),
        (hl7("XX"), Ambiguous(code=ErrorCode.ANSWER_MISMATCH)),
        (hl7(""), Ambiguous(code=ErrorCode.ANSWER_MISMATCH)),
        (hl7("AA", control_id="A2"), Ambiguous(code=ErrorCode.ANSWER_MISMATCH)),
        (hl7("AE", control_id="A2"), Ambiguous(code=ErrorCode.ANSWER_MISMATCH)),
        (hl7("AA", status=500), Accepted()),
        (hl7("AE", status=200), Retry(code=ErrorCode.UPSTREAM_ERROR)),
        (plain(None), Accepted()),
        (plain(200), Accepted()),
        (plain(299), Accepted()),
        (plain(408), Deferred(after=None)),
        (plain(425), Deferred(after=None)),
        (plain(429, retry_after=7.5), Deferred(after=7.5)),
        (plain(503), Deferred(after=None)),
        (plain(500), Transient(code=ErrorCode.SERVER_ERROR)),
        (plain(502), Transient(code=ErrorCode.SERVER_ERROR)),
        (plain(302), Transient(code=ErrorCode.SERVER_ERROR)),
        (plain(100), Transient(code=ErrorCode.SERVER_ERROR)),
        (ErrorAnswer(body="bad"), Transient(code=ErrorCode.SERVER_ERROR)),
        (Unattributed(body="bad"), Deferred(after=None)),
        (Silence(), Ambiguous(code=ErrorCode.RESPONSE_TIMEOUT)),
        (LinkLost(too_large=False), Ambiguous(code=ErrorCode.INTERRUPTED, link_lost=True)),
        (LinkLost(too_large=True), Refused(code=ErrorCode.TOO_LARGE_FOR_SERVER)),
        (Unsent(), NotSent()),
    ],
)
def test_an_outcome_means_what_the_table_says(policy: VerdictPolicy, outcome: Outcome, expected: Verdict) -> None:
    assert verdict(outcome, policy) == expected


@pytest.mark.parametrize("status", [400, 404, 499])
def test_a_client_error_is_final_but_for_a_medplum_server(status: int) -> None:
    refused = Refused(code=ErrorCode.SERVER_REJECTED)
    assert verdict(plain(status), VerdictPolicy(profile=Profile.GATEWAY)) == refused
    assert verdict(plain(status), VerdictPolicy(profile=Profile.PLAIN)) == refused
    assert verdict(plain(status), VerdictPolicy(profile=Profile.MEDPLUM)) == Retry(code=ErrorCode.SERVER_REJECTED)


def test_an_hl7_body_without_a_readable_msa_is_never_an_acceptance() -> None:
    answer = Answer(status=200, body="MSH|^~\\&|", begins_msh=True, msa=None, retry_after=None)
    for policy in POLICIES:
        assert verdict(answer, policy) == Ambiguous(code=ErrorCode.ANSWER_MISMATCH)


def test_msa2_goes_unchecked_only_where_the_administrator_says_so() -> None:
    assert verdict(hl7("AA", control_id="other"), VerdictPolicy(check_msa2=False)) == Accepted()


def test_the_administrator_says_what_negative_answers_mean() -> None:
    policy = VerdictPolicy(ae=RefusalVerdict.REJECT, ar=RefusalVerdict.RETRY)
    assert verdict(hl7("AE"), policy) == Refused(code=ErrorCode.UPSTREAM_ERROR)
    assert verdict(hl7("AR"), policy) == Retry(code=ErrorCode.UPSTREAM_REJECTED)
