"""New, replay, collision: decided from fingerprints alone."""

import pytest

from gateway.core.admission import admit
from gateway.model.intake import Admission
from gateway.model.policy import OnCollision

ONE, OTHER = b"1" * 32, b"2" * 32


@pytest.mark.parametrize("policy", list(OnCollision))
def test_an_unknown_key_is_new(policy: OnCollision) -> None:
    assert admit(sha256=ONE, known=(), on_collision=policy) is Admission.NEW


@pytest.mark.parametrize("policy", list(OnCollision))
@pytest.mark.parametrize("known", [(ONE,), (OTHER, ONE)])
def test_the_same_bytes_are_a_replay_whatever_the_policy(policy: OnCollision, known: tuple[bytes, ...]) -> None:
    assert admit(sha256=ONE, known=known, on_collision=policy) is Admission.REPLAY


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (OnCollision.REJECT, Admission.COLLISION),
        (OnCollision.ACCEPT, Admission.NEW),
        (OnCollision.QUARANTINE, Admission.QUARANTINED),
    ],
)
def test_other_bytes_under_a_known_key_go_by_the_policy(policy: OnCollision, expected: Admission) -> None:
    assert admit(sha256=ONE, known=(OTHER,), on_collision=policy) is expected
