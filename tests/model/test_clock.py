"""Times as values."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from gateway.model.clock import Due, Now, age, hl7_timestamp

NOW = Now(wall=10_000, boot_id="boot", ms=1_000)


def test_a_due_time_is_waited_for_and_never_less_than_nothing() -> None:
    assert Due(boot_id="boot", ms=1_500).wait(NOW, foreign=9) == 500
    assert Due(boot_id="boot", ms=400).wait(NOW, foreign=9) == 0


def test_a_due_time_of_another_boot_is_waited_for_as_told() -> None:
    assert Due(boot_id="before", ms=1_500).wait(NOW, foreign=9) == 9


def test_an_age_is_measured_by_the_clock_that_can_tell() -> None:
    assert age(Due(boot_id="boot", ms=400), 1, NOW) == 600
    assert age(Due(boot_id="before", ms=400), 7_000, NOW) == 3_000


@given(st.integers(-60_000_000_000_000, 250_000_000_000_000))
def test_a_time_stamp_is_the_calendar_s(wall: int) -> None:
    moment = datetime.fromtimestamp(wall // 1_000, UTC)
    expected = f"{moment.year:04}" + moment.strftime("%m%d%H%M%S+0000")
    assert hl7_timestamp(wall) == expected
