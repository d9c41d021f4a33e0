"""The trust window: it begins before the renewal was sent, and ends without anybody's help."""

from gateway.core.lease import Trust, remaining
from gateway.model.clock import Due, Now


def now(ms: int, boot: str = "boot") -> Now:
    return Now(wall=0, boot_id=boot, ms=ms)


def test_trust_counts_from_before_the_renewal_was_sent() -> None:
    trust = Trust(asked_at=1_000, ttl=15_000)
    assert trust.holds(15_999)
    assert not trust.holds(16_000)


def test_a_lease_is_renewed_at_a_third_of_its_life() -> None:
    assert Trust(asked_at=1_000, ttl=15_000).renew_at() == 6_000


def test_a_trust_of_no_life_never_holds() -> None:
    assert not Trust(asked_at=0, ttl=0).holds(0)


def test_a_stored_lease_has_what_is_left_of_it() -> None:
    expires = Due(boot_id="boot", ms=500)
    assert remaining(expires, now(200)) == 300
    assert remaining(expires, now(500)) == 0
    assert remaining(expires, now(900)) == 0


def test_a_lease_of_another_boot_or_none_at_all_is_over() -> None:
    assert remaining(Due(boot_id="before", ms=10**9), now(0)) == 0
    assert remaining(None, now(0)) == 0
