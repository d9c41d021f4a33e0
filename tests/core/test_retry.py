"""From verdict to settlement: waits, budgets, horizons, doubt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.retry import LONGEST_DEFERRAL, History, backoff, decide, is_over
from gateway.core.verdict import Accepted, Ambiguous, Deferred, NotSent, Refused, Retry, Transient, Verdict
from gateway.model.clock import Due, Now
from gateway.model.delivery import Again, Finish, GiveUp, Release, Settlement
from gateway.model.policy import OnAmbiguous, OnRejected, OutcomePolicy, RetryPolicy, Strategy
from gateway.model.states import ErrorCode, Event

NOW = Now(wall=1_000_000, boot_id="boot", ms=500_000)
PLAIN = RetryPolicy(jitter=False)
FRESH = History(attempts=0, link_losses=0, first_sent=Due(boot_id="boot", ms=499_000), first_sent_wall=999_000)
CODE = ErrorCode.UPSTREAM_ERROR


def settle(
    verdict: Verdict,
    *,
    retry: RetryPolicy = PLAIN,
    outcome: OutcomePolicy | None = None,
    history: History = FRESH,
    roll: float = 0.0,
) -> Settlement:
    return decide(verdict, retry=retry, outcome=outcome or OutcomePolicy(), history=history, now=NOW, roll=roll)


def history(attempts: int = 0, link_losses: int = 0, age: int = 1_000, boot: str = "boot") -> History:
    return History(
        attempts=attempts,
        link_losses=link_losses,
        first_sent=Due(boot_id=boot, ms=NOW.ms - age),
        first_sent_wall=NOW.wall - age,
    )


def test_exponential_waits_double_up_to_the_maximum() -> None:
    waits = [backoff(PLAIN, step=step, roll=0.5) for step in range(1, 9)]
    assert waits == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]


def test_linear_waits_grow_by_the_first() -> None:
    policy = RetryPolicy(strategy=Strategy.LINEAR, jitter=False)
    assert [backoff(policy, step=step, roll=0.5) for step in (1, 2, 3, 100)] == [1_000, 2_000, 3_000, 60_000]


@given(step=st.integers(1, 10_000), roll=st.floats(0, 1, exclude_max=True))
def test_equal_jitter_keeps_half_of_the_wait_and_rolls_for_the_other_half(step: int, roll: float) -> None:
    whole = backoff(PLAIN, step=step, roll=roll)
    assert whole // 2 <= backoff(RetryPolicy(), step=step, roll=roll) <= whole


def test_jitter_moves_with_the_roll() -> None:
    assert [backoff(RetryPolicy(), step=1, roll=roll) for roll in (0.0, 0.5, 0.75)] == [500, 750, 875]


def test_accepted_ends_the_row() -> None:
    assert settle(Accepted()) == Finish(event=Event.ACCEPTED)


@pytest.mark.parametrize(("policy", "halts"), [(OnRejected.PARK, False), (OnRejected.HALT, True)])
def test_a_refusal_ends_the_row_and_halts_where_told(policy: OnRejected, halts: bool) -> None:
    expected = Finish(event=Event.REFUSED, code=CODE, halts=halts)
    assert settle(Refused(code=CODE), outcome=OutcomePolicy(on_reject=policy)) == expected


def test_a_retry_counts_and_waits_longer_each_time() -> None:
    first = settle(Retry(code=CODE))
    third = settle(Retry(code=CODE), history=history(attempts=2))
    assert first == Again(event=Event.RETRY, wait=1_000, counted=True, code=CODE)
    assert third == Again(event=Event.RETRY, wait=4_000, counted=True, code=CODE)


@pytest.mark.parametrize(("policy", "halts"), [(OnRejected.PARK, False), (OnRejected.HALT, True)])
def test_the_last_attempt_gives_up(policy: OnRejected, halts: bool) -> None:
    outcome = OutcomePolicy(on_exhausted=policy)
    assert isinstance(settle(Retry(code=CODE), outcome=outcome, history=history(attempts=8)), Again)
    assert settle(Retry(code=CODE), outcome=outcome, history=history(attempts=9)) == GiveUp(
        event=Event.EXHAUSTED, code=ErrorCode.RETRY_EXHAUSTED, halts=halts, counted=True
    )


def test_transient_trouble_uses_up_no_attempt_however_often_it_comes() -> None:
    got = settle(Transient(code=ErrorCode.SERVER_ERROR), history=history(attempts=9))
    assert got == Again(event=Event.RETRY, wait=60_000, counted=False, code=ErrorCode.SERVER_ERROR)


def test_only_the_horizon_ends_transient_trouble_and_deferrals() -> None:
    old = history(age=PLAIN.horizon)
    for verdict in (Transient(code=ErrorCode.SERVER_ERROR), Deferred(after=5), Deferred(after=None)):
        got = settle(verdict, history=old, outcome=OutcomePolicy(on_exhausted=OnRejected.HALT))
        assert got == GiveUp(event=Event.EXHAUSTED, code=ErrorCode.RETRY_EXHAUSTED, halts=True)


def test_a_deferral_waits_as_long_as_the_server_asks_within_bounds() -> None:
    def wait(after: float | None) -> Settlement:
        return settle(Deferred(after=after))

    def expected(ms: int) -> Again:
        return Again(event=Event.DEFERRED, wait=ms, counted=False, code=ErrorCode.SERVER_BUSY)

    assert wait(7.5) == expected(7_500)
    assert wait(10_000) == expected(LONGEST_DEFERRAL)
    assert wait(None) == expected(1_000)
    assert wait(0) == expected(0)


@pytest.mark.parametrize(("policy", "halts"), [(OnAmbiguous.HOLD, False), (OnAmbiguous.HOLD_HALT, True)])
def test_doubt_is_held_for_a_person(policy: OnAmbiguous, halts: bool) -> None:
    doubt = Ambiguous(code=ErrorCode.RESPONSE_TIMEOUT)
    assert settle(doubt, outcome=OutcomePolicy(on_ambiguous=policy)) == GiveUp(
        event=Event.IN_DOUBT, code=ErrorCode.RESPONSE_TIMEOUT, halts=halts
    )


RESEND = OutcomePolicy(on_ambiguous=OnAmbiguous.RESEND)
LOST = Ambiguous(code=ErrorCode.INTERRUPTED, link_lost=True)


def test_doubt_is_sent_again_where_the_administrator_takes_the_risk() -> None:
    assert settle(LOST, outcome=RESEND) == Again(
        event=Event.RETRY, wait=1_000, counted=True, code=ErrorCode.INTERRUPTED, link_lost=True
    )


def test_a_row_that_took_the_link_down_three_times_goes_into_review() -> None:
    assert isinstance(settle(LOST, outcome=RESEND, history=history(link_losses=1)), Again)
    assert settle(LOST, outcome=RESEND, history=history(link_losses=2)) == GiveUp(
        event=Event.IN_DOUBT, code=ErrorCode.INTERRUPTED, counted=True, link_lost=True
    )


def test_resending_ends_with_the_attempts() -> None:
    silence = Ambiguous(code=ErrorCode.RESPONSE_TIMEOUT)
    assert settle(silence, outcome=RESEND, history=history(attempts=9)) == GiveUp(
        event=Event.IN_DOUBT, code=ErrorCode.RESPONSE_TIMEOUT, counted=True
    )


def test_what_was_not_sent_is_released() -> None:
    assert settle(NotSent()) == Release()


def test_the_horizon_counts_from_the_first_write_of_the_generation() -> None:
    assert not is_over(PLAIN, history(age=PLAIN.horizon - 1), NOW)
    assert is_over(PLAIN, history(age=PLAIN.horizon), NOW)
    never = History(attempts=0, link_losses=0, first_sent=None, first_sent_wall=None)
    assert not is_over(PLAIN, never, NOW)


def test_after_a_reboot_wall_time_tells_the_age() -> None:
    before = History(
        attempts=0,
        link_losses=0,
        first_sent=Due(boot_id="before", ms=10**12),
        first_sent_wall=NOW.wall - PLAIN.horizon,
    )
    assert is_over(PLAIN, before, NOW)
    assert not is_over(PLAIN, before, Now(wall=NOW.wall - 1, boot_id="boot", ms=10**13))
