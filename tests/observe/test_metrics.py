"""Counters and histograms: names, units, bounds."""

import re

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gateway.observe.events import EVENTS, TIMINGS
from gateway.observe.metrics import MOST_VALUES
from tests.observe.lines import Watched


def test_every_event_is_counted_by_name(watched: Watched) -> None:
    for name in EVENTS:
        watched.observatory.event(name)
    watched.observatory.event("never-heard-of")
    for name in [*EVENTS, "never-heard-of"]:
        assert watched.value("hl7_gateway_events_total", event=name) == 1


@pytest.mark.parametrize("name", [name for name, spec in EVENTS.items() if spec.counts])
def test_an_event_of_the_table_has_its_own_counter(name: str, watched: Watched) -> None:
    counting = EVENTS[name].counts
    assert counting is not None
    facts = {label: f"{label}-1" for label in counting.labels}
    watched.observatory.event(name, **facts)
    watched.observatory.event(name, **facts)
    assert watched.value(f"hl7_gateway_{counting.name}_total", **facts) == 2


def test_a_missing_label_is_empty(watched: Watched) -> None:
    watched.observatory.event("accepted")
    assert watched.value("hl7_gateway_accepted_total", channel="") == 1


@pytest.mark.parametrize("fact", TIMINGS)
def test_a_time_in_seconds_is_observed_whichever_event_brings_it(fact: str, watched: Watched) -> None:
    watched.observatory.event("accepted", channel="adt", **{fact: 0.25})
    watched.observatory.event("whatever", channel="adt", **{fact: 2})
    assert watched.value(f"hl7_gateway_{fact}_count", channel="adt") == 2
    assert watched.value(f"hl7_gateway_{fact}_sum", channel="adt") == 2.25


@pytest.mark.parametrize("odd", [True, None, "1", float("nan")])
def test_what_is_no_time_is_not_observed(odd: float | str | None, watched: Watched) -> None:
    watched.observatory.event("accepted", channel="adt", commit_seconds=odd)
    assert watched.value("hl7_gateway_commit_seconds_count", channel="adt") is None
    assert watched.value("hl7_gateway_observer_failures_total") == 0


def test_a_clock_set_back_counts_as_no_time(watched: Watched) -> None:
    watched.observatory.event("accepted", channel="adt", commit_seconds=-5)
    assert watched.value("hl7_gateway_commit_seconds_sum", channel="adt") == 0


def test_the_values_of_a_label_are_bounded(watched: Watched) -> None:
    for n in range(MOST_VALUES + 50):
        watched.observatory.event("accepted", channel=f"c{n}")
        watched.observatory.event(f"made-up-{n}")
    assert watched.value("hl7_gateway_accepted_total", channel="other") == 50
    others = watched.value("hl7_gateway_events_total", event="other")
    assert others is not None
    assert others >= 50
    watched.observatory.event("lease-lost")
    assert watched.value("hl7_gateway_events_total", event="lease-lost") == 1


def test_content_cannot_become_a_label(watched: Watched) -> None:
    watched.observatory.event("refused", channel="adt", code="PID|1||ZZMARKERZZ")
    watched.observatory.anomaly(channel="PID|1||ZZMARKERZZ", peer="p", kind="x" * 300, offset=0, bytes_hex="")
    page = generate_latest(watched.observatory.metrics.registry).decode()
    assert "ZZMARKERZZ" not in page
    assert "xxx" not in page
    assert watched.value("hl7_gateway_refused_total", channel="adt", code="[redacted]") == 1


def test_anomalous_bytes_are_counted(watched: Watched) -> None:
    watched.observatory.anomaly(channel="adt", peer="p", kind="noise", offset=0, bytes_hex="", count=70)
    watched.observatory.anomaly(channel="adt", peer="p", kind="noise", offset=0, bytes_hex="", count=-1)
    assert watched.value("hl7_gateway_anomalous_bytes_total", channel="adt", kind="noise") == 70
    assert watched.value("hl7_gateway_anomalies_total", channel="adt", kind="noise") == 2


def test_every_metric_has_our_prefix_a_help_text_and_a_base_unit(watched: Watched) -> None:
    page = generate_latest(watched.observatory.metrics.registry).decode()
    ours = [family for family in text_string_to_metric_families(page) if not family.name.startswith("process_")]
    for family in ours:
        assert re.fullmatch(r"hl7_gateway_[a-z0-9_]+", family.name)
        assert family.documentation.endswith(".")
        assert family.type != "histogram" or family.name.endswith("_seconds")
        assert not re.search(r"_(ms|milliseconds|minutes|kib|mb)\b", family.name)
    assert watched.value("hl7_gateway_build_info", version="1.2.3") == 1


def test_two_observatories_share_no_count(watched: Watched) -> None:
    other = Watched()
    other.observatory.event("accepted", channel="adt")
    other.observatory.close(10)
    assert watched.value("hl7_gateway_accepted_total", channel="adt") is None
