"""A gateway's folder, and the program as a person starts it."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

CHANNELS = """\
[gateway]
data_dir = "var"

[metrics]
listen = "127.0.0.1:0"

[[upstream]]
name = "main"
url = "ws://127.0.0.1:8765/ws/agent"
profile = "gateway"
agent_id = "demo"

[[channel]]
name = "adt"
listen = "127.0.0.1:0"
upstream = "main"
sequence = "stamp"
ack = { mode = "commit" }
"""

Program = Callable[..., "subprocess.CompletedProcess[bytes]"]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a plain terminal window: none of the variables that steer the program or its looks."""
    steering = ("GATEWAY_", "COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_", "TERM", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
    return {**kept, "COLUMNS": "80", **(extra or {})}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "channels.toml").write_text(CHANNELS)
    return tmp_path


@pytest.fixture
def program(folder: Path) -> Program:
    """Run `python -m gateway` in the gateway's folder, to its end."""

    def run(
        *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [sys.executable, "-m", "gateway", *arguments],
            cwd=folder,
            env=environment(env),
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def runner(folder: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Run commands inside the test's process, in the gateway's folder."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GATEWAY_CONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return CliRunner()
