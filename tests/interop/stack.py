"""The gateway and its bundled server as two processes, started as an operator starts them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_GATEWAY = (sys.executable, "-m", "gateway")
_START = 200  # looks of 0.1 s each at a process that is starting
_STOP = 20.0  # seconds to end after SIGTERM


@dataclass(frozen=True)
class Row:
    """One line of `list --json`, as far as these tests read it."""

    id: str
    control_id: str
    state: str
    sha256: str


@dataclass(frozen=True)
class Stack:
    """A running gateway: its configuration file and where each channel listens."""

    config: Path
    channels: dict[str, tuple[str, int]]

    def rows(self, channel: str) -> list[Row]:
        """Give the rows of a channel in store order, as the command line lists them."""
        lines = self._ask("list", "--json", "--channel", channel).decode().splitlines()
        found = [json.loads(line) for line in lines]
        return [Row(**{name: row[name] for name in ("id", "control_id", "state", "sha256")}) for row in found]

    def stored(self, row: Row) -> bytes:
        """Give the stored bytes of a row."""
        return self._ask("show", row.id, "--raw")

    def _ask(self, *command: str) -> bytes:
        whole = (*_GATEWAY, *command, "-c", str(self.config))
        return subprocess.run(whole, check=True, stdout=subprocess.PIPE, timeout=60).stdout


@contextmanager
def running(folder: Path, channels: tuple[str, ...]) -> Iterator[Stack]:
    """Start the server, then the gateway with one channel of each name; stop both at the end."""
    receiver_ready = folder / "receiver.json"
    receive = ("receive", "--listen", "127.0.0.1:0", "--journal", str(folder / "taken.jsonl"))
    with _process(folder, *receive, "--ready-file", str(receiver_ready)) as server:
        url = _ready(receiver_ready, server)["url"]
        config = folder / "channels.toml"
        config.write_text(_configuration(folder, str(url), channels))
        ready = folder / "gateway.json"
        with _process(folder, "run", "-c", str(config), "--ready-file", str(ready)) as gateway:
            bound = _ready(ready, gateway)["channels"]
            assert isinstance(bound, dict)
            places = {name: where.rsplit(":", 1) for name, where in bound.items()}
            yield Stack(config, {name: (host, int(port)) for name, (host, port) in places.items()})


def _configuration(folder: Path, url: str, channels: tuple[str, ...]) -> str:
    head = f"""
[gateway]
data_dir = "{folder / "var"}"
[metrics]
listen = "127.0.0.1:0"
[[upstream]]
name = "main"
url = "{url}"
profile = "gateway"
agent_id = "interop"
"""
    channel = '[[channel]]\nname = "{}"\nlisten = "127.0.0.1:0"\nupstream = "main"\nsequence = "stamp"\n'
    return head + "".join(channel.format(name) for name in channels)


@contextmanager
def _process(folder: Path, *command: str) -> Iterator["subprocess.Popen[bytes]"]:
    log = folder / f"{command[0]}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*_GATEWAY, *command], stdout=output, stderr=output, stdin=subprocess.DEVNULL, env={**os.environ}
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise


def _ready(file: Path, process: "subprocess.Popen[bytes]") -> dict[str, object]:
    """Wait for the ready file; a process that ends meanwhile fails the test with what it said."""
    for _ in range(_START):
        if file.exists():
            found = json.loads(file.read_text())
            assert isinstance(found, dict)
            return found
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    said = "\n".join(log.read_text(errors="replace") for log in file.parent.glob("*.log"))
    raise AssertionError(f"not ready ({file.name}), exit code {process.poll()}:\n{said}")
