"""The arithmetic of the bench: medians, spreads, percentiles, grades."""

import random

import pytest

from gateway.sender.bench.figures import classes, merged, percentile, series
from gateway.sender.bench.targets import TARGETS, Grade, Judged


def test_the_median_of_the_rounds_counts_and_one_wild_round_does_not() -> None:
    assert series([4.0, 5.0, 400.0]).middle == 5.0


def test_the_spread_is_the_distance_of_the_rounds_as_a_share_of_the_median() -> None:
    assert series([8.0, 10.0, 13.0]).spread == pytest.approx(0.5)
    assert series([7.0]).spread == 0.0
    assert series([0.0, 0.0]).spread == 0.0


def test_percentiles_are_right_to_one_percent() -> None:
    latencies = [float(number) for number in range(1, 10_001)]
    random.Random(1).shuffle(latencies)
    counts = classes(latencies)
    assert percentile(counts, 0.5) == pytest.approx(5_000, rel=0.01)
    assert percentile(counts, 0.99) == pytest.approx(9_900, rel=0.01)
    assert percentile(counts, 1.0) == pytest.approx(10_000, rel=0.01)


def test_a_percentile_counts_every_message_and_not_every_class() -> None:
    counts = classes([100.0] * 99 + [9_000.0])
    assert percentile(counts, 0.99) == pytest.approx(100, rel=0.01)
    assert percentile(counts, 0.995) == pytest.approx(9_000, rel=0.01)


def test_no_latency_has_no_percentile() -> None:
    assert percentile({}, 0.5) == 0.0


def test_what_several_generators_saw_adds_up() -> None:
    one, two = classes([100.0, 200.0]), classes([200.0, 300.0])
    assert merged([one, two]) == classes([100.0, 200.0, 200.0, 300.0])


@pytest.mark.parametrize(
    ("name", "value", "grade"),
    [
        ("B1", 0.55, Grade.AIM),
        ("B1", 0.35, Grade.PASS),
        ("B1", 0.549, Grade.PASS),
        ("B1", 0.349, Grade.SHORT),
        ("B5", 40.0, Grade.AIM),
        ("B5", 70.0, Grade.PASS),
        ("B5", 70.1, Grade.SHORT),
        ("B10m", 3.0, Grade.AIM),
        ("B10m", 3.1, Grade.SHORT),
    ],
)
def test_a_figure_is_graded_by_floor_and_aim(name: str, value: float, grade: Grade) -> None:
    assert Judged(name=name, series=series([value])).grade is grade


def test_no_target_has_an_aim_below_its_floor() -> None:
    for target in TARGETS.values():
        assert target.grade(target.aim) is Grade.AIM
        assert target.aim <= target.floor if target.is_ceiling else target.aim >= target.floor
