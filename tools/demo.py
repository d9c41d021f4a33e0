"""What `make run` does: the gateway on channels.example.toml together with the bundled receiver."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROGRAM = [sys.executable, "-m", "gateway"]
PATIENCE = 30.0
"""Seconds to wait for a program to say that it listens."""


def main() -> int:
    """Start both, say where everything is in three lines, and stop both on Ctrl-C."""
    var = ROOT / "var"
    var.mkdir(mode=0o700, exist_ok=True)
    config = os.environ.get("GATEWAY_CONFIG", str(ROOT / "channels.example.toml"))
    receiver = _start(
        ["receive", "--listen", "127.0.0.1:8765", "--journal", str(var / "received.jsonl")], var / "receiver.ready"
    )
    if receiver is None:
        return 3
    gateway = _start(["run", "-c", config], var / "gateway.ready")
    if gateway is None:
        _end(receiver[0])
        return 3
    channels = ", ".join(f"{name} on {address}" for name, address in gateway[1]["channels"].items())
    send = next(iter(gateway[1]["channels"].values()))
    program = shutil.which("hl7-gateway", path=str(Path(sys.executable).parent)) or "python -m gateway"
    program = os.path.relpath(program) if os.sep in program else program
    print(f"Send to: {channels} (MLLP), for example: {program} send fixtures/adt-a01.hl7 --to {send}")
    metrics = f"http://{gateway[1]['metrics']}/metrics"
    print(f"Look at: {program} status -c {os.path.relpath(config)}; {metrics}; var/gateway.log; var/received.jsonl")
    print("Stop with Ctrl-C; what is queued stays in var/ and goes on at the next start.", flush=True)
    return _watch(gateway[0], receiver[0])


def _start(arguments: list[str], ready: Path) -> tuple[subprocess.Popen[bytes], dict] | None:
    """Start a program in a session of its own, and wait until it says that it listens."""
    ready.unlink(missing_ok=True)
    log = ready.with_suffix(".log")
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [*PROGRAM, *arguments, "--ready-file", str(ready)], stderr=errors, start_new_session=True
        )
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if ready.exists():
            return process, json.loads(ready.read_text())
        time.sleep(0.02)
    print(f"{arguments[0]} did not start; the end of {log}:\n{log.read_text()[-2000:]}", file=sys.stderr)
    _end(process)
    return None


def _watch(gateway: subprocess.Popen[bytes], receiver: subprocess.Popen[bytes]) -> int:
    """Wait for Ctrl-C, SIGTERM, or the end of either; then stop the gateway first, so that it can settle."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        while gateway.poll() is None and receiver.poll() is None:
            time.sleep(0.2)
    except KeyboardInterrupt:
        print("\nstopping ...", flush=True)
    code = _end(gateway)
    _end(receiver)
    return code


def _end(process: subprocess.Popen[bytes]) -> int:
    if process.poll() is None:
        process.terminate()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
