"""Log lines: JSON, UTC, levels, nothing of a message."""

import io
import json
import threading

import pytest

from gateway.errors import BugError, ConfigError, ConnectFailed, PeerError, StoreRefused
from gateway.model.policy import LogFormat, LogLevel
from gateway.observe.events import EVENTS
from gateway.observe.observatory import Observatory
from gateway.observe.options import LogOptions
from gateway.observe.throttle import BURST, PERIOD
from tests.observe.lines import Hands, Watched

MARKER = "ZZMARKERZZ"


def test_a_line_is_one_json_object_with_time_level_event_and_facts(watched: Watched) -> None:
    watched.observatory.event("lease-taken", group="main", epoch=3)
    (line,) = watched.lines()
    assert list(line) == ["time", "level", "event", "group", "epoch"]
    assert line == {
        "time": "2026-01-01T12:00:00.123Z",
        "level": "info",
        "event": "lease-taken",
        "group": "main",
        "epoch": 3,
    }


def test_the_console_shows_the_same_for_eyes() -> None:
    watched = Watched(format=LogFormat.CONSOLE)
    watched.observatory.event("lease-taken", group="main", epoch=3)
    text = watched.text()
    watched.observatory.close(10)
    assert "2026-01-01T12:00:00.123Z" in text
    assert "lease-taken" in text
    assert "epoch=3" in text
    assert "\x1b" not in text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "is_json"), [(io.StringIO, True), (Terminal, False)])
def test_auto_is_for_eyes_on_a_terminal_only(stream: type[io.StringIO], is_json: bool) -> None:
    written = stream()
    observatory = Observatory(LogOptions(), clock=Hands(), stream=written)
    observatory.event("stopped")
    observatory.close(10)
    assert written.getvalue().startswith("{") is is_json


@pytest.mark.parametrize("name", [name for name, spec in EVENTS.items() if spec.routine is None])
@pytest.mark.parametrize("least", LogLevel)
def test_a_line_is_written_from_its_level_on(name: str, least: LogLevel) -> None:
    order = list(LogLevel)
    watched = Watched(level=least)
    watched.observatory.event(name)
    lines = watched.lines()
    watched.observatory.close(10)
    assert bool(lines) is (order.index(EVENTS[name].level) >= order.index(least))
    assert all(line["level"] == EVENTS[name].level.value for line in lines)


def test_what_comes_with_every_message_is_written_at_debug_only(watched: Watched) -> None:
    watched.observatory.event("settled", outcome="accepted")
    watched.observatory.event("settled", outcome="exhausted")
    assert [line["level"] for line in watched.lines()] == ["debug", "info"]


def test_a_fact_that_could_be_content_is_a_marker_in_the_line(watched: Watched) -> None:
    watched.observatory.event("oops", reason=f"PID|1||{MARKER}", body=MARKER)
    assert MARKER not in watched.text()
    assert watched.lines()[0]["reason"] == "[redacted]"
    assert watched.value("hl7_gateway_redacted_facts_total") == 2


def test_a_name_that_is_no_word_is_a_marker(watched: Watched) -> None:
    watched.observatory.event(f"Oops {MARKER}")
    assert watched.lines()[0]["event"] == "[redacted]"


def raise_deep(marker: str) -> None:
    local = f"PID|1||{marker}"
    try:
        int(local)
    except ValueError as error:
        raise KeyError(local) from error


def test_a_foreign_exception_shows_types_and_places_but_no_text_and_no_local_value(watched: Watched) -> None:
    try:
        raise_deep(MARKER)
    except KeyError as error:
        watched.observatory.error("gave-up", error, channel="adt")
    assert MARKER not in watched.text()
    (line,) = watched.lines()
    assert line["level"] == "error"
    assert line["channel"] == "adt"
    assert [each["type"] for each in line["errors"]] == ["builtins.KeyError", "builtins.ValueError"]
    assert all("text" not in each for each in line["errors"])
    assert line["errors"][0]["frames"][-1].startswith("tests/observe/test_log.py:")
    assert line["errors"][0]["frames"][-1].endswith(" in raise_deep")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConnectFailed(step="dns", reason="no such host"), ["dns: no such host"]),
        (StoreRefused(path="var/queue.db", reason="is damaged"), ["var/queue.db: is damaged"]),
        (ConfigError(("one", "two")), ["one", "two"]),
        (PeerError(f"PID|1||{MARKER}"), ["[redacted]"]),
    ],
)
def test_the_text_of_our_own_errors_is_shown_unless_it_looks_like_content(
    error: Exception, text: list[str], watched: Watched
) -> None:
    watched.observatory.error("gave-up", error)
    assert watched.lines()[0]["errors"][0]["text"] == text
    assert MARKER not in watched.text()


class Foreign(BugError):
    """A subclass somebody else made."""


def test_a_subclass_of_our_errors_made_elsewhere_is_foreign(watched: Watched) -> None:
    watched.observatory.error("gave-up", Foreign(MARKER))
    assert MARKER not in watched.text()


def test_an_error_of_the_system_shows_its_number_and_no_file_name(watched: Watched) -> None:
    watched.observatory.error("gave-up", FileNotFoundError(2, MARKER, MARKER))
    assert watched.lines()[0]["errors"][0]["errno"] == 2
    assert MARKER not in watched.text()


def test_a_group_shows_its_members_and_long_chains_end(watched: Watched) -> None:
    watched.observatory.error(
        "gave-up", ExceptionGroup("g", [ValueError(MARKER), ConnectFailed(step="tcp", reason="r")])
    )
    error: BaseException = ValueError(MARKER)
    for _ in range(20):
        above = ValueError(MARKER)
        above.__cause__ = error
        error = above
    watched.observatory.error("gave-up", error)
    group, chain = watched.lines()
    assert [each["type"] for each in group["errors"]] == [
        "builtins.ExceptionGroup",
        "builtins.ValueError",
        "gateway.errors.ConnectFailed",
    ]
    assert len(chain["errors"]) == 8
    assert MARKER not in watched.text()


def test_an_error_that_is_its_own_cause_ends(watched: Watched) -> None:
    one, two = ValueError(), ValueError()
    one.__context__, two.__context__ = two, one
    watched.observatory.error("gave-up", one)
    assert len(watched.lines()[0]["errors"]) == 2


def test_a_suppressed_context_is_left_out(watched: Watched) -> None:
    error = ValueError()
    error.__context__, error.__suppress_context__ = KeyError(), True
    watched.observatory.error("gave-up", error)
    assert len(watched.lines()[0]["errors"]) == 1


class Unsayable(BugError):
    __module__ = "gateway.errors"

    def __str__(self) -> str:
        raise RuntimeError(MARKER)


def test_an_error_whose_text_cannot_be_made_disturbs_nobody(watched: Watched) -> None:
    watched.observatory.error("gave-up", Unsayable())
    assert watched.value("hl7_gateway_observer_failures_total") == 1


def test_an_anomaly_is_a_line_with_its_hex_and_without_when_it_is_payload(watched: Watched) -> None:
    watched.observatory.anomaly(channel="adt", peer="10.0.0.1:5", kind="stray-lf", offset=9, bytes_hex="0a", count=2)
    watched.observatory.anomaly(channel="adt", peer="10.0.0.1:5", kind="truncated", offset=9, bytes_hex="")
    first, second = watched.lines()
    assert first | {"time": ""} == {
        "time": "", "level": "warning", "event": "anomaly", "channel": "adt", "peer": "10.0.0.1:5",
        "kind": "stray-lf", "offset": 9, "count": 2, "bytes": "0a",
    }  # fmt: skip
    assert "bytes" not in second


def test_what_a_peer_can_repeat_at_will_is_written_in_bursts_and_the_rest_is_told(watched: Watched) -> None:
    def odd(kind: str = "stray-lf") -> None:
        watched.observatory.anomaly(channel="adt", peer="p", kind=kind, offset=0, bytes_hex="")

    for _ in range(BURST + 5):
        odd()
    odd("noise")
    watched.clock.ms += PERIOD
    odd()
    odd()
    kinds = [(line["kind"], line.get("suppressed")) for line in watched.lines()]
    assert kinds == [("stray-lf", None)] * BURST + [("noise", None), ("stray-lf", 5), ("stray-lf", None)]
    assert watched.value("hl7_gateway_anomalies_total", channel="adt", kind="stray-lf") == BURST + 7


class Stuck(io.StringIO):
    """A reader that takes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def write(self, text: str) -> int:
        assert self.go.wait(10)
        return super().write(text)


def test_a_stuck_reader_holds_nobody_up_and_what_is_dropped_is_counted() -> None:
    stream = Stuck()
    observatory = Observatory(LogOptions(backlog=5), clock=Hands(), stream=stream)
    for _ in range(50):
        observatory.event("lease-taken")
    assert not observatory.flush(0.01)
    dropped = observatory.metrics.registry.get_sample_value("hl7_gateway_reader_dropped_total", {"reader": "log"})
    stream.go.set()
    observatory.close(10)
    written = stream.getvalue().count("\n")
    assert dropped is not None
    assert dropped >= 43
    assert written == 50 - dropped


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(32, "Broken pipe")


def test_a_broken_stream_disturbs_nobody_and_is_counted() -> None:
    observatory = Observatory(LogOptions(), clock=Hands(), stream=Broken())
    observatory.event("lease-taken")
    observatory.event("lease-taken")
    assert observatory.flush(10)
    failures = observatory.metrics.registry.get_sample_value("hl7_gateway_reader_failures_total", {"reader": "log"})
    observatory.close(10)
    assert failures == 2


def test_an_event_after_the_close_disturbs_nobody() -> None:
    watched = Watched()
    watched.observatory.close(10)
    watched.observatory.event("stopped")
    assert not watched.observatory.flush(1)
    assert watched.value("hl7_gateway_reader_dropped_total", reader="log") == 1


def test_a_clock_that_fails_disturbs_nobody() -> None:
    def broken() -> None:
        raise RuntimeError

    observatory = Observatory(LogOptions(format=LogFormat.JSON), clock=broken, stream=io.StringIO())  # type: ignore[arg-type]  # on purpose
    observatory.event("stopped")
    observatory.anomaly(channel="adt", peer="p", kind="noise", offset=0, bytes_hex="")
    observatory.close(10)
    assert observatory.metrics.registry.get_sample_value("hl7_gateway_observer_failures_total") == 2


def test_lines_of_many_threads_stay_whole(watched: Watched) -> None:
    def tell(number: int) -> None:
        for n in range(50):
            watched.observatory.event("lease-taken", group=f"g{number}", epoch=n)

    threads = [threading.Thread(target=tell, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(watched.lines()) == 200
    assert json.loads(watched.text().splitlines()[0])["event"] == "lease-taken"
