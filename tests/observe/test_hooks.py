"""The last ways out of a process let no content through."""

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from gateway.observe.hooks import guard_loop, guard_process
from tests.observe.lines import Watched

MARKER = "ZZMARKERZZ"


@pytest.fixture
def guarded(watched: Watched) -> Iterator[Watched]:
    restore = guard_process(watched.observatory)
    yield watched
    restore()


def test_a_library_that_logs_is_noted_without_its_text(guarded: Watched) -> None:
    logging.getLogger("websockets.client").warning("frame %s", MARKER)
    logging.getLogger("websockets.client").debug("frame %s", MARKER)
    (line,) = guarded.lines()
    assert line["event"] == "library"
    assert line["logger"] == "websockets.client"
    assert line["severity"] == "warning"
    assert line["where"].startswith("test_hooks.py:")
    assert MARKER not in guarded.text()


def test_a_library_that_logs_an_exception_shows_its_type_only(guarded: Watched) -> None:
    try:
        int(MARKER)
    except ValueError:
        logging.getLogger("asyncio").exception("trouble %s", MARKER)
    (line,) = guarded.lines()
    assert line["errors"][0]["type"] == "builtins.ValueError"
    assert MARKER not in guarded.text()


def test_a_thread_that_crashes_is_noted(guarded: Watched) -> None:
    def crash() -> None:
        raise ValueError(MARKER)

    thread = threading.Thread(target=crash)
    thread.start()
    thread.join()
    assert [line["event"] for line in guarded.lines()] == ["thread-crashed"]
    assert MARKER not in guarded.text()


def test_an_exception_nobody_can_raise_is_noted(guarded: Watched) -> None:
    class Dying:
        def __del__(self) -> None:
            raise ValueError(MARKER)

    Dying()
    assert [line["event"] for line in guarded.lines()] == ["unraisable"]
    assert MARKER not in guarded.text()


def ways_out() -> tuple[object, ...]:
    root = logging.getLogger()
    return (sys.excepthook, threading.excepthook, sys.unraisablehook, root.handlers[:], root.level)


def test_everything_is_put_back(watched: Watched) -> None:
    before = ways_out()
    restore = guard_process(watched.observatory)
    assert ways_out() != before
    restore()
    assert ways_out() == before


async def test_what_a_loop_cannot_deliver_is_noted(watched: Watched) -> None:
    loop = asyncio.get_running_loop()
    guard_loop(watched.observatory, loop)
    loop.call_exception_handler({"message": MARKER, "exception": ValueError(MARKER)})
    loop.call_exception_handler({"message": MARKER})
    assert [line["event"] for line in watched.lines()] == ["task-crashed", "loop-trouble"]
    assert MARKER not in watched.text()


PROGRAM = """
import sys
from gateway.model.clock import Now
from gateway.observe.hooks import guard_process
from gateway.observe.observatory import Observatory
from gateway.observe.options import LogOptions

observatory = Observatory(LogOptions(), clock=lambda: Now(wall=0, boot_id="b", ms=0))
guard_process(observatory)
content = "PID|1||" + sys.stdin.read()
raise ValueError(content)
"""


def test_a_process_that_crashes_writes_its_last_line_and_no_content() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=MARKER, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert '"event":"crashed"' in ended.stderr
    assert '"type":"builtins.ValueError"' in ended.stderr
    assert MARKER not in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr
