from gateway.observe.throttle import BURST, MOST_KEYS, PERIOD, Throttle


def test_a_burst_passes_and_the_rest_is_held_until_the_period_is_over() -> None:
    throttle = Throttle()
    assert [throttle.passes("a", 0) for _ in range(BURST)] == [0] * BURST
    assert throttle.passes("a", PERIOD - 1) is None
    assert throttle.passes("b", PERIOD - 1) == 0
    assert throttle.passes("a", PERIOD) == 1
    assert throttle.passes("a", PERIOD) == 0


def test_the_number_of_kinds_is_bounded() -> None:
    throttle = Throttle()
    for n in range(MOST_KEYS * 3):
        throttle.passes(n, 0)
    assert len(throttle._spans) <= MOST_KEYS
