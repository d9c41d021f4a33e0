"""The whole bench in a tiny form: real gateways, a real receiver, real generators. No figure is judged."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.benching import PROGRAMS
from gateway.cli.main import app
from gateway.config.settings import Settings
from gateway.sender.bench.hold import hold
from gateway.sender.bench.options import BenchFailed, BenchOptions, Suite
from gateway.sender.bench.report import Report
from gateway.sender.bench.run import bench, steps
from gateway.sender.bench.scrape import samples, total
from gateway.sender.bench.targets import TARGETS

TINY = BenchOptions(
    programs=PROGRAMS, disk=Path(), seconds=0.2, rounds=1, has_baseline=True, senders=8, channels=3, idle=200,
    large=100_000,
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("disk")


async def _run(folder: Path, *suites: Suite, has_baseline: bool = True) -> tuple[Report, list[str]]:
    options = replace(TINY, disk=folder, suites=suites, has_baseline=has_baseline)
    told: list[str] = []
    report = await bench(options, told=told.append)
    assert len(told) == steps(options)
    assert list(folder.iterdir()) == []
    return report, told


async def test_intake_is_measured_beside_a_gateway_with_one_commit_a_message(folder: Path) -> None:
    report, told = await _run(folder, Suite.INTAKE)
    assert [judged.name for judged in report.judged] == ["B1", "B2", "B4", "B5", "B6"]
    commits = {measured.name: measured.commits.middle for measured in report.measured}
    assert commits["1 sender"] == pytest.approx(1, abs=0.2)
    assert commits["64 senders, one NORMAL commit a message"] == pytest.approx(1, abs=0.2)
    assert commits["64 senders"] < 0.9
    assert all(measured.rate.middle > 0 and measured.cpu.middle >= 0 for measured in report.measured)
    assert all(measured.p50 is not None and measured.p50 > 0 for measured in report.measured)
    assert told[0] == "intake: 1 sender"


async def test_dispatch_settles_everything_it_is_given(folder: Path) -> None:
    report, _ = await _run(folder, Suite.DISPATCH)
    assert [judged.name for judged in report.judged] == ["B8", "B9", "B9c"]
    single = next(each for each in report.measured if each.name == "32 channels, one FULL commit a mark")
    assert single.commits.middle >= 0.9
    assert all(measured.p50 is None for measured in report.measured)


async def test_large_messages_and_silent_connections_are_measured(folder: Path) -> None:
    report, _ = await _run(folder, Suite.SIZE, Suite.IDLE, has_baseline=False)
    assert [judged.name for judged in report.judged] == ["B10", "B10m", "B11", "B14", "B14p"]


async def test_a_gateway_that_does_not_start_is_told_of_with_its_last_words(folder: Path) -> None:
    broken = (sys.executable, "-c", "import sys; sys.exit('no such thing')")
    options = replace(TINY, disk=folder, suites=(Suite.SIZE,), programs=replace(PROGRAMS, gateway=broken))
    with pytest.raises(BenchFailed, match="no such thing"):
        await bench(options, told=lambda _: None)
    assert list(folder.iterdir()) == []


def test_connections_that_are_refused_are_not_counted_as_held() -> None:
    assert hold("127.0.0.1", 1, 3) == []


def test_the_command_writes_json_and_says_by_its_exit_code_whether_a_floor_was_missed(folder: Path) -> None:
    words = ["bench", "--suite", "size", "--seconds", "0.2", "--rounds", "1", "--disk", str(folder), "--json"]
    result = CliRunner().invoke(app, words)
    found = json.loads(result.stdout)
    grades = [target["grade"] for target in found["targets"]]
    assert result.exit_code == (1 if "short" in grades else 0)
    assert {target["name"] for target in found["targets"]} == {"B10", "B10m", "B11"} <= set(TARGETS)


def test_no_configuration_can_weaken_the_store() -> None:
    schema = json.dumps(Settings.model_json_schema())
    assert "low_space" in schema
    assert "synchronous" not in schema
    assert "NORMAL" not in schema


def test_a_page_of_metrics_is_read_by_name_and_added_up_over_labels() -> None:
    page = '# HELP a text\na 2.0\nb{x="1 2"} 3.0\nb{x="3"} 4.0\nbb 9.0\n'
    assert samples(page) == {"a": 2.0, 'b{x="1 2"}': 3.0, 'b{x="3"}': 4.0, "bb": 9.0}
    assert total(samples(page), "b") == 7.0
