"""Other people's senders, each as one coroutine: host, port and files in, the answers as that sender read them out."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import hl7
import pytest
from hl7.mllp import open_hl7_connection

HERE = Path(__file__).parent
_PATIENCE = 60.0  # seconds a sender may take


@dataclass(frozen=True)
class Read:
    """MSA-1 and MSA-2 of an answer as the sender itself understood them."""

    code: str
    control_id: str


Send = Callable[[str, int, Sequence[Path]], Awaitable[list[Read]]]


@dataclass(frozen=True)
class Sender:
    """A sender, how to find it (None: it is there, else what is missing), and how to use it."""

    name: str
    missing: Callable[[], str | None]
    send: Send


def require(sender: Sender) -> None:
    """Skip loudly where a tool is missing, and fail in CI, where nothing may be missing."""
    reason = sender.missing()
    if reason is None:
        return
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        pytest.fail(f"{sender.name}: {reason}")
    pytest.skip(f"{sender.name} NOT TESTED: {reason}")


async def _output(*command: str, given: bytes = b"") -> bytes:
    """Run a program to its end and give what it printed; a program that fails or hangs fails the test."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            printed, said = await process.communicate(given)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    assert process.returncode == 0, f"{command[0]}: {said.decode(errors='replace')}"
    return printed


def framed(file: Path) -> bytes:
    return b"\x0b" + file.read_bytes() + b"\x1c\r"


def _read(answer: bytes) -> Read:
    message = hl7.parse(answer.decode("utf-8"))
    return Read(str(message["MSA"][0][1]), str(message["MSA"][0][2]))


def _read_all(stream: bytes) -> list[Read]:
    return [_read(part.strip(b"\r\n\x0b")) for part in stream.split(b"\x1c\r") if part.strip(b"\r\n")]


async def _mllp_send(host: str, port: int, files: Sequence[Path]) -> list[Read]:
    """The console script of python-hl7; it wants frames in its file."""
    frames = files[0].parent / "frames.mllp"
    frames.write_bytes(b"".join(framed(file) for file in files))
    script = Path(sys.executable).parent / "mllp_send"
    return _read_all(await _output(str(script), "--port", str(port), "--file", str(frames), host))


async def _asyncio_client(host: str, port: int, files: Sequence[Path]) -> list[Read]:
    """The asyncio client of python-hl7."""
    reader, writer = await open_hl7_connection(host, port, encoding="utf-8")
    answers = []
    try:
        for file in files:
            writer.writemessage(hl7.parse(file.read_bytes().decode("utf-8")))
            await writer.drain()
            async with asyncio.timeout(_PATIENCE):
                answer = await reader.readmessage()
            answers.append(Read(str(answer["MSA"][0][1]), str(answer["MSA"][0][2])))
    finally:
        writer.close()
        await writer.wait_closed()
    return answers


async def _netcat(host: str, port: int, files: Sequence[Path]) -> list[Read]:
    """Every frame in one stream, then the end of input; answers are read until the gateway closes."""
    everything = b"".join(framed(file) for file in files)
    return _read_all(await _output(_netcat_program() or "nc", "-N", host, str(port), given=everything))


def _node(script: str) -> Send:
    async def send(host: str, port: int, files: Sequence[Path]) -> list[Read]:
        printed = await _output("node", str(HERE / script), host, str(port), *(str(file) for file in files))
        found = [json.loads(line) for line in printed.decode().splitlines()]
        return [Read(line["code"], line["id"]) for line in found]

    return send


def _no_script() -> str | None:
    return None if (Path(sys.executable).parent / "mllp_send").exists() else "no mllp_send beside this Python"


def _netcat_program() -> str | None:
    """Netcat of OpenBSD (Debian: netcat-openbsd); others have no -N."""
    return shutil.which("nc.openbsd") or shutil.which("nc")


def _no_netcat() -> str | None:
    return None if _netcat_program() else "no nc (Debian: apt-get install netcat-openbsd)"


def _no_node(package: str) -> Callable[[], str | None]:
    def missing() -> str | None:
        if shutil.which("node") is None:
            return "no node"
        folder = HERE / "node_modules" / package
        return None if folder.is_dir() else f"no {package} (run `npm ci` in tests/interop)"

    return missing


async def medplum_reads(given: bytes) -> bytes:
    """Let @medplum/core parse messages (a JSON array of texts); give what it read, as `parse.mjs` says."""
    return await _output("node", str(HERE / "parse.mjs"), given=given)


async def _reads_only(host: str, port: int, files: Sequence[Path]) -> list[Read]:
    raise NotImplementedError


MEDPLUM_PARSER = Sender("medplum-core", _no_node("@medplum/core"), _reads_only)
"""Sends nothing; named so that `require` can look for it."""

SENDERS = (
    Sender("mllp-send", _no_script, _mllp_send),
    Sender("python-hl7-asyncio", lambda: None, _asyncio_client),
    Sender("medplum", _no_node("@medplum/hl7"), _node("medplum.mjs")),
    Sender("simple-hl7", _no_node("simple-hl7"), _node("simple.mjs")),
    Sender("node-hl7-client", _no_node("node-hl7-client"), _node("nodehl7.mjs")),
    Sender("netcat", _no_netcat, _netcat),
)
