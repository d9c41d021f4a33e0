"""Subscribers hear every event and can disturb nobody."""

import threading
from collections.abc import Mapping

from gateway.observe.observatory import BACKLOG
from gateway.observe.pump import Pump
from gateway.ports.observe import Fact
from tests.observe.lines import Watched


def test_a_subscriber_hears_events_with_guarded_facts_in_order() -> None:
    watched = Watched()
    heard: list[tuple[str, Mapping[str, Fact]]] = []
    watched.observatory.subscribe(lambda name, facts: heard.append((name, facts)), name="alerts")
    watched.observatory.event("accepted", channel="adt", body="x")
    watched.observatory.event("settled", channel="adt")
    watched.observatory.close(10)
    assert heard == [("accepted", {"channel": "adt", "[redacted]": "[redacted]"}), ("settled", {"channel": "adt"})]


def test_a_subscriber_that_raises_is_counted_and_heard_again() -> None:
    watched = Watched()
    heard: list[str] = []

    def picky(name: str, _: Mapping[str, Fact]) -> None:
        if name == "accepted":
            raise ValueError("PID|1")
        heard.append(name)

    watched.observatory.subscribe(picky, name="alerts")
    for name in ("accepted", "settled", "accepted", "stopped"):
        watched.observatory.event(name)
    watched.observatory.close(10)
    assert heard == ["settled", "stopped"]
    assert watched.value("hl7_gateway_reader_failures_total", reader="alerts") == 2


def test_a_subscriber_that_hangs_is_bounded_counted_and_left_behind() -> None:
    watched = Watched()
    go, entered = threading.Event(), threading.Event()

    def stuck(_: str, __: Mapping[str, Fact]) -> None:
        entered.set()
        go.wait(10)

    watched.observatory.subscribe(stuck, name="alerts")
    watched.observatory.event("accepted")
    assert entered.wait(10)
    for _ in range(BACKLOG + 7):
        watched.observatory.event("accepted")
    assert watched.value("hl7_gateway_reader_dropped_total", reader="alerts") == 7
    assert len(watched.lines()) == BACKLOG + 8
    watched.observatory.close(0.01)
    go.set()


def test_a_pump_cannot_wait_for_itself() -> None:
    answers: list[bool] = []
    pump: Pump[int]

    def take(_: int) -> None:
        answers.append(pump.flush(10))

    pump = Pump(take, limit=5, name="itself")
    pump.offer(1)
    assert pump.close(10)
    assert answers == [False]
    assert not pump.close(10)
