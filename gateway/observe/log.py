"""Log lines: one event each, with UTC time, level and facts. Never waits for whoever reads them."""

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson
import structlog

from gateway.model.policy import LogFormat, LogLevel
from gateway.observe.options import LogOptions
from gateway.observe.pump import Pump

WEIGHT: Mapping[LogLevel, int] = {
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.INFO: logging.INFO,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line to write; `wall` is Unix time in milliseconds, `facts` went through the guard."""

    wall: int
    level: LogLevel
    event: str
    facts: Mapping[str, Any]


class Log:
    """Writes lines on its own thread; what a stuck reader leaves no room for is dropped and counted."""

    def __init__(self, options: LogOptions, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._least = WEIGHT[options.level]
        self._logger = _logger(self._stream, console=_is_console(options.format, self._stream))
        self.pump: Pump[Line] = Pump(self._write, limit=options.backlog, name="log")

    def writes(self, level: LogLevel) -> bool:
        """Say whether lines of this level are written at all."""
        return WEIGHT[level] >= self._least

    def _write(self, line: Line) -> None:
        moment = datetime.fromtimestamp(line.wall / 1000, UTC).isoformat(timespec="milliseconds")
        time = moment.replace("+00:00", "Z")
        write = getattr(self._logger, line.level.value)
        write(line.event, level=line.level.value, time=time, **line.facts)


def _is_console(wanted: LogFormat, stream: TextIO) -> bool:
    return wanted is LogFormat.CONSOLE or (wanted is LogFormat.AUTO and stream.isatty())


def _logger(stream: TextIO, *, console: bool) -> Any:
    """Build a logger of our own: nothing global is configured, so no library can write through it."""
    renderer = _console_renderer(colours=stream.isatty()) if console else _json_renderer()
    return structlog.wrap_logger(
        structlog.WriteLogger(stream),
        processors=[renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
    ).bind()


def _json_renderer() -> structlog.types.Processor:
    def dumps(line: dict[str, Any], **_: object) -> str:
        first = {"time": line["time"], "level": line["level"], "event": line["event"]}
        return orjson.dumps(first | line).decode()

    return structlog.processors.JSONRenderer(serializer=dumps)


def _console_renderer(*, colours: bool) -> structlog.types.Processor:
    return structlog.dev.ConsoleRenderer(colors=colours, timestamp_key="time", pad_event_to=0)
