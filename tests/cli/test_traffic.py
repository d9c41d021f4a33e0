"""`send` and `receive` as a person starts them: real processes, real sockets."""

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Program, environment

VT, END = b"\x0b", b"\x1c\r"


def message(control_id: str) -> bytes:
    return (
        rf"MSH|^~\&|SNDAPP|SNDFAC|RCVAPP|RCVFAC|20260101120000||ADT^A01^ADT_A01|{control_id}|P|2.5.1".encode()
        + b"\rPID|1||1001^^^HOSP^MR||SECRET^ANNA\r"
    )


def answer(frame: bytes, code: str) -> bytes:
    control_id = frame.split(b"|")[9]
    return (
        VT
        + b"MSH|^~\\&|RCVAPP|RCVFAC|SNDAPP|SNDFAC|20260101120000||ACK^A01^ACK|1|P|2.5.1\rMSA|"
        + code.encode()
        + b"|"
        + control_id
        + b"\r"
        + END
    )


class Listener:
    """An MLLP listener on a port of its own that gives every frame the same code, or closes without a word."""

    def __init__(self, code: str | None) -> None:
        self.code = code
        self.frames: list[bytes] = []
        self.hellos = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.to = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        pending = b""
        while data := connection.recv(65536):
            if data.startswith(b"\x16\x03"):  # a TLS hello
                self.hellos += 1
                return
            pending += data
            while END in pending:
                frame, pending = pending.split(END, 1)
                self.frames.append(frame.removeprefix(VT))
                if self.code is None:
                    return
                connection.sendall(answer(frame, self.code))

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)


@pytest.fixture
def listening() -> Iterator[Callable[[str | None], Listener]]:
    opened: list[Listener] = []

    def listen(code: str | None) -> Listener:
        opened.append(Listener(code))
        return opened[-1]

    yield listen
    for each in opened:
        each.close()


@pytest.fixture
def files(folder: Path) -> Path:
    messages = folder / "messages"
    messages.mkdir()
    for control_id in ("A1", "A2", "A3"):
        (messages / f"{control_id}.hl7").write_bytes(message(control_id))
    return messages


def test_every_positive_answer_ends_with_0(
    program: Program, files: Path, listening: Callable[[str | None], Listener]
) -> None:
    listener = listening("AA")
    done = program("send", "messages", "--to", listener.to)
    assert (done.returncode, done.stderr.strip()) == (0, b"")
    assert listener.frames == [message(each) for each in ("A1", "A2", "A3")]
    assert b"positive" in done.stdout
    assert b"SECRET" not in done.stdout


@pytest.mark.parametrize("code", ["AE", "AR", None])
def test_a_nak_or_silence_ends_with_1_and_names_the_message(
    program: Program, files: Path, listening: Callable[[str | None], Listener], code: str | None
) -> None:
    done = program("send", "messages/A2.hl7", "--to", listening(code).to, "--timeout", "5")
    assert done.returncode == 1
    assert b"A2" in done.stderr
    assert b"SECRET" not in done.stdout + done.stderr


def test_nobody_there_ends_with_1(program: Program, files: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    done = program("send", "messages", "--to", f"127.0.0.1:{port}")
    assert done.returncode == 1
    assert b"unsent" in done.stdout


def test_messages_come_from_standard_input_too(program: Program, listening: Callable[[str | None], Listener]) -> None:
    listener = listening("CA")
    assert program("send", "-", "--to", listener.to, stdin=message("S1")).returncode == 0
    assert listener.frames == [message("S1")]


def test_repeats_with_fresh_ids_differ_in_msh_10_alone(
    program: Program, files: Path, listening: Callable[[str | None], Listener]
) -> None:
    listener = listening("AA")
    assert program("send", "messages/A1.hl7", "--to", listener.to, "--repeat", "3", "--fresh-ids").returncode == 0
    ids = [frame.split(b"|")[9] for frame in listener.frames]
    assert len(set(ids)) == 3
    assert {frame.replace(each, b"A1") for frame, each in zip(listener.frames, ids, strict=True)} == {message("A1")}


def test_a_journal_holds_hashes_and_no_content(
    program: Program, files: Path, folder: Path, listening: Callable[[str | None], Listener]
) -> None:
    done = program("send", "messages", "--to", listening("AA").to, "--journal", "sent.jsonl", "--verbose")
    assert done.returncode == 0
    lines = [json.loads(line) for line in (folder / "sent.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["sent", "verdict"] * 3
    assert "SECRET" not in (folder / "sent.jsonl").read_text()
    assert all(each.encode() in done.stderr for each in ("A1", "A2", "A3"))


@pytest.mark.parametrize("flag", [["--tls"], ["--tls-insecure"], ["--tls-name", "localhost"]])
def test_tls_is_spoken_when_any_of_its_options_is_given(
    program: Program, files: Path, listening: Callable[[str | None], Listener], flag: list[str]
) -> None:
    listener = listening("AA")
    done = program("send", "messages/A1.hl7", "--to", listener.to, *flag)
    assert done.returncode == 1
    assert (listener.frames, listener.hellos > 0) == ([], True)


def test_a_certificate_that_is_not_there_is_refused(program: Program, files: Path) -> None:
    done = program("send", "messages/A1.hl7", "--to", "127.0.0.1:1", "--tls-ca", "none.pem")
    assert done.returncode == 1
    assert b"none.pem" in done.stderr


def _receiver(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "gateway", "receive", *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_receive_says_where_it_listens_and_stops_when_told(folder: Path) -> None:
    process = _receiver(folder, "--listen", "127.0.0.1:0", "--journal", "taken.jsonl", "--ready-file", "ready.json")
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert b"ws://127.0.0.1:" in said
        # The line comes before the ready file, so the socket answers before both.
        port = int(said.split(b"ws://127.0.0.1:")[1].split(b"/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=10):
            pass
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, rest) == (0, b"")
    assert json.loads((folder / "ready.json").read_text())["pid"] == process.pid
    assert (folder / "taken.jsonl").exists()


def test_receive_on_a_taken_port_is_its_own_trouble(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        process = _receiver(folder, "--listen", where, "--journal", "taken.jsonl")
        _, said = process.communicate(timeout=20)
    assert process.returncode == 3
    assert where.encode() in said or where.rpartition(":")[2].encode() in said
