"""Help, usage, configuration: what can be said without opening a store."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway import __version__
from gateway.cli.main import app
from tests.cli.conftest import Program

COMMANDS = [
    "run",
    "check",
    "status",
    "why",
    "list",
    "show",
    "events",
    "anomalies",
    "capture",
    "requeue",
    "resolve",
    "discard",
    "halt",
    "resume",
    "verify",
    "migrate",
    "receive",
    "send",
    "torture",
    "bench",
]
READING = ("check", "status", "why", "list", "show", "events", "verify")
ABOUT_A_GATEWAY = [each for each in COMMANDS if each not in ("receive", "send", "torture", "bench")]


def _help(runner: CliRunner, *words: str) -> str:
    result = runner.invoke(app, [*words, "--help"])
    assert result.exit_code == 0
    return result.output


def test_the_program_names_every_command_in_80_columns(runner: CliRunner) -> None:
    text = _help(runner)
    listed = [
        line.split()[0] for line in text.split("Commands:")[1].splitlines() if line.startswith("  ") and line[2] != " "
    ]
    assert listed[: len(COMMANDS) + 1] == [*COMMANDS, "config"]
    assert "..." not in text.split("Commands:")[1]
    assert "Exit codes: 0 done, 1 refused or not found, 2 usage" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_one_example(runner: CliRunner, command: str) -> None:
    text = _help(runner, command)
    assert text.count("Example: hl7-gateway " + command) == 1
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("command", ABOUT_A_GATEWAY)
def test_every_command_about_a_gateway_takes_its_configuration(runner: CliRunner, command: str) -> None:
    assert "-c, --config FILE" in _help(runner, command)


@pytest.mark.parametrize("command", READING)
def test_every_reading_command_writes_json(runner: CliRunner, command: str) -> None:
    assert "--json" in _help(runner, command)


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["list", "--state", "lost"],
        ["list", "--limit", "0"],
        ["show"],
        ["show", "1", "--raw", "--json"],
        ["why"],
        ["requeue", "1"],
        ["resolve", "1", "--reason", "  "],
        ["discard", "--reason", "x"],
        ["halt", "adt"],
        ["resume", "adt", "--reason", ""],
        ["events", "--follow", "--row", "1"],
        ["events", "--after", "1", "--last", "1"],
        ["receive"],
        ["receive", "--journal", "j", "--listen", "8765"],
        ["receive", "--journal", "j", "--listen", "127.0.0.1:port"],
        ["send", "x.hl7"],
        ["send", "x.hl7", "--to", "127.0.0.1"],
        ["send", "--to", "127.0.0.1:2575"],
        ["send", "x.hl7", "--to", "127.0.0.1:2575", "--repeat", "0"],
        ["torture"],
        ["torture", "--to", "127.0.0.1"],
        ["torture", "--to", "127.0.0.1:2575", "--only", "nonsense"],
        ["torture", "--list", "--oversize", "1"],
    ],
)
def test_wrong_usage_ends_with_2(runner: CliRunner, words: list[str]) -> None:
    assert runner.invoke(app, words).exit_code == 2


def test_the_version_is_that_of_the_program(program: Program) -> None:
    done = program("--version")
    assert (done.returncode, done.stdout) == (0, f"{__version__}\n".encode())


def test_check_shows_a_usable_configuration(runner: CliRunner) -> None:
    result = runner.invoke(app, ["check"])
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()[:2]] == [
        ["CHANNEL", "LISTEN", "UPSTREAM", "ACK", "SEQUENCE"],
        ["adt", "127.0.0.1:0", "main", "commit", "stamp"],
    ]
    assert result.stdout.splitlines()[-1] == "The configuration can be used."


def test_check_lists_every_problem_and_ends_with_2(runner: CliRunner, folder: Path) -> None:
    file = folder / "channels.toml"
    file.write_text(file.read_text().replace('"commit"', '"never"').replace('"stamp"', '"maybe"'))
    result = runner.invoke(app, ["check"])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 2
    assert result.stdout == ""


def test_check_tells_problems_as_json(runner: CliRunner, folder: Path) -> None:
    assert json.loads(runner.invoke(app, ["check", "--json"]).stdout) == {"ok": True, "problems": []}
    file = folder / "channels.toml"
    file.write_text(file.read_text().replace('"commit"', '"never"').replace('"stamp"', '"maybe"'))
    result = runner.invoke(app, ["check", "--json"])
    assert result.exit_code == 2
    found = json.loads(result.stdout)
    assert found["ok"] is False
    assert len(found["problems"]) == 2


@pytest.mark.parametrize("command", ["status", "list", "verify", "migrate", "run"])
def test_a_configuration_that_cannot_be_used_ends_every_command_with_2(
    runner: CliRunner, folder: Path, command: str
) -> None:
    (folder / "channels.toml").write_text("[gateway\n")
    assert runner.invoke(app, [command]).exit_code == 2


def test_the_configuration_is_the_one_named_else_of_the_environment_else_of_the_folder(
    program: Program, folder: Path
) -> None:
    here = (folder / "channels.toml").read_text()
    (folder / "named.toml").write_text(here.replace('"adt"', '"named"'))
    (folder / "other.toml").write_text(here.replace('"adt"', '"other"'))
    env = {"GATEWAY_CONFIG": "other.toml"}
    assert b"named" in program("check", "-c", "named.toml", env=env).stdout
    assert b"other" in program("check", env=env).stdout
    assert b"adt" in program("check").stdout


def test_no_configuration_at_all_is_usage(program: Program, folder: Path) -> None:
    (folder / "channels.toml").unlink()
    done = program("status")
    assert done.returncode == 2
    assert b"channels.toml" in done.stderr


def test_a_store_that_is_not_there_is_the_gateways_own_trouble(program: Program) -> None:
    done = program("status")
    assert done.returncode == 3
    assert b"queue.db" in done.stderr


def test_the_schema_of_the_configuration_is_json(program: Program) -> None:
    done = program("config", "schema")
    assert done.returncode == 0
    assert set(json.loads(done.stdout)["properties"]) >= {"gateway", "channel", "upstream"}


def test_a_traceback_shows_no_variables() -> None:
    assert app.pretty_exceptions_enable is False
