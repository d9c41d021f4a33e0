from itertools import count

import pytest

from gateway.sender.feed import Feed, Pace
from gateway.sender.options import SendPlan, Target
from tests.sender.listening import message, outgoing

TARGET = Target(host="127.0.0.1", port=1)


def test_messages_come_in_order_repeated_and_numbered() -> None:
    feed = Feed(SendPlan(target=TARGET, messages=outgoing("A", "B"), repeat=2), start=0.0)
    jobs = [feed.take(0.0) for _ in range(4)]
    assert [job and (job.number, job.payload) for job in jobs] == [
        (1, message("A")),
        (2, message("B")),
        (3, message("A")),
        (4, message("B")),
    ]
    assert feed.left == 0
    assert feed.take(0.0) is None


def test_each_sending_has_its_own_fresh_id() -> None:
    numbers = count(1)
    plan = SendPlan(target=TARGET, messages=outgoing("A"), repeat=3, fresh_ids=lambda: f"N{next(numbers)}")
    feed = Feed(plan, start=0.0)
    jobs = [feed.take(0.0) for _ in range(3)]
    assert [job and job.control_ids for job in jobs] == [(b"N1",), (b"N2",), (b"N3",)]
    assert [job and job.payload for job in jobs] == [message(f"N{number}") for number in (1, 2, 3)]


def test_nothing_is_taken_before_it_is_due() -> None:
    feed = Feed(SendPlan(target=TARGET, messages=outgoing("A", "B", "C"), rate=4.0), start=10.0)
    assert feed.due() == 10.0
    assert feed.take(10.0) is not None
    assert feed.due() == 10.25
    assert feed.take(10.2) is None
    assert feed.left == 2
    assert feed.take(10.25) is not None
    assert feed.due() == 10.5


def test_a_rate_keeps_its_average_after_a_short_delay() -> None:
    pace = Pace(10.0, 0.0)
    pace.take(0.0)
    pace.take(0.55)
    assert pace.due() == pytest.approx(0.2)


def test_a_long_delay_is_not_made_up_by_a_burst() -> None:
    pace = Pace(10.0, 0.0)
    pace.take(0.0)
    pace.take(60.0)
    assert pace.due() == pytest.approx(59.0)


def test_without_a_rate_everything_is_due_at_once() -> None:
    pace = Pace(None, 5.0)
    for _ in range(3):
        pace.take(5.0)
    assert pace.due() == 5.0
