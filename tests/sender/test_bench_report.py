"""What a bench reports, as JSON and as tables, from figures put in by hand."""

import io

import orjson
import pytest
from rich.console import Console

from gateway.sender.bench.board import bar, show
from gateway.sender.bench.generators import Load
from gateway.sender.bench.ledger import Cost, Ledger
from gateway.sender.bench.probe import Probe
from gateway.sender.bench.report import Report, facts, reported


def _load(rate: float, *, share: float = 0.2) -> Load:
    return Load(
        answered=round(rate * 2), elapsed=2.0, p50=0.001, p99=0.004, longest=0.009, generator_share=share
    )  # fmt: skip


def _ledger(*, probes: tuple[float, ...] = (1_000.0, 1_000.0, 1_100.0), share: float = 0.2) -> Ledger:
    ledger = Ledger(probes=[Probe(rate=rate, p50=1e6 / rate) for rate in probes])
    for rate in (3_000.0, 4_000.0, 9_000.0):
        cost = Cost(cpu=rate / 100, commits=0.02, peak=rate / 100)
        ledger.trace("64 senders").add(rate, cost, load=_load(rate), share=share)
        ledger.note("B2", rate / 1_000)
    ledger.trace("1 channel").add(500.0, Cost(cpu=90.0, commits=1.0, peak=60.0), share=0.3)
    ledger.note("B8", 0.1)
    return ledger


def _report(ledger: Ledger | None = None, *, load: float = 0.1) -> Report:
    return reported(ledger or _ledger(), load=load, cores=2)


def test_the_report_survives_json_with_medians_of_every_load() -> None:
    found = orjson.loads(orjson.dumps(facts(_report())))
    assert set(found) == {"version", "python", "raw_sync_rate", "loads", "targets", "warnings"}
    assert found["raw_sync_rate"]["median"] == 1_000.0
    assert found["raw_sync_rate"]["spread"] == pytest.approx(0.1)
    many, one = found["loads"]
    assert many["name"] == "64 senders"
    assert many["per_second"] == {
        "median": 4_000.0,
        "spread": pytest.approx(1.5),
        "rounds": [3_000.0, 4_000.0, 9_000.0],
    }
    assert (many["p50_ms"], many["p99_ms"], many["max_ms"]) == pytest.approx((1.0, 4.0, 9.0))
    assert many["cpu_us_per_message"]["median"] == 40.0
    assert many["peak_memory_mib"] == 90.0
    assert many["commits_per_message"]["median"] == 0.02
    assert (one["p50_ms"], one["other_program_core_share"]) == (None, 0.3)


def test_each_target_comes_with_value_bounds_and_grade() -> None:
    b2, b8 = facts(_report())["targets"]
    assert (b2["name"], b2["value"]["median"], b2["floor"], b2["aim"], b2["grade"]) == ("B2", 4.0, 4, 5, "pass")
    assert (b8["name"], b8["grade"], b8["smaller_is_better"]) == ("B8", "short", False)


def test_a_floor_that_was_missed_makes_the_report_short() -> None:
    assert _report().is_short
    ledger = _ledger()
    del ledger.values["B8"]
    assert not _report(ledger).is_short


def test_a_quiet_machine_gets_no_warning() -> None:
    assert _report().warnings == ()


@pytest.mark.parametrize(
    ("report", "word"),
    [
        (_report(_ledger(probes=(1_000.0, 1_400.0, 1_000.0))), "noisy"),
        (_report(_ledger(probes=(200_000.0,))), "memory"),
        (_report(load=1.5), "Other programs"),
        (_report(_ledger(share=0.9)), "may be the limit"),
    ],
)
def test_what_makes_figures_doubtful_is_said(report: Report, word: str) -> None:
    assert [warning for warning in report.warnings if word in warning] == list(report.warnings)


def test_the_tables_name_every_load_and_target_and_warn() -> None:
    console = Console(file=io.StringIO(), width=120)
    show(console, _report(load=1.9))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    for words in ("1000 fdatasync/s", "64 senders", "1 channel", "4 x", ">= 4", "pass", "short", "Warning: Other"):
        assert words in text


def test_the_bar_counts_the_steps_that_are_done() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    with bar(console, total=2) as told:
        told("first")
        told("second")
    assert isinstance(console.file, io.StringIO)
    assert "1/2" in console.file.getvalue()
