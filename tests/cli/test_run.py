"""`run` as a service manager starts it."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Program, environment


def _run(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "gateway", "run", *words],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_running_gateway_is_asked_from_beside_it_and_stops_when_told(folder: Path, program: Program) -> None:
    process = _run(folder, "-c", "channels.toml", "--ready-file", "ready.json")
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if json.loads(line)["event"] == "ready":
                break
        status = json.loads(program("status", "--json").stdout)
        assert [each["channel"] for each in status["channels"]] == ["adt"]
        halted = program("halt", "adt", "--reason", "maintenance")
        assert halted.returncode == 0
        assert program("verify").returncode == 0
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    ready = json.loads((folder / "ready.json").read_text())
    assert ready["pid"] == process.pid
    assert set(ready["channels"]) == {"adt"}


def test_a_taken_port_is_the_gateways_own_trouble_and_names_channel_and_address(folder: Path) -> None:
    file = folder / "channels.toml"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = file.read_text()
        file.write_text(
            text.replace('name = "adt"\nlisten = "127.0.0.1:0"', f'name = "adt"\nlisten = "127.0.0.1:{port}"')
        )
        process = _run(folder)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 3
    last = said.splitlines()[-1]
    assert b"adt" in last
    assert b"127.0.0.1" in last
    assert str(port).encode() in last
