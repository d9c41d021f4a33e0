"""The last ways out of a process: exceptions nobody caught and lines of foreign libraries. Lets no content through."""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import PurePath
from types import TracebackType
from typing import Any

from gateway.observe.observatory import Observatory

FLUSH = 2.0
"""Seconds the last line before the end may take."""


def guard_process(observatory: Observatory) -> Callable[[], None]:
    """Send uncaught exceptions and foreign log records through the observatory; returns what puts all back."""
    before = (sys.excepthook, threading.excepthook, sys.unraisablehook)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def uncaught(_: type[BaseException], error: BaseException, __: TracebackType | None) -> None:
        observatory.error("crashed", error)
        observatory.flush(FLUSH)

    def uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            observatory.error("thread-crashed", args.exc_value)

    def unraisable(args: "sys.UnraisableHookArgs") -> None:
        if args.exc_value is not None:
            observatory.error("unraisable", args.exc_value)

    def restore() -> None:
        sys.excepthook, threading.excepthook, sys.unraisablehook = before
        root.handlers[:] = handlers
        root.setLevel(level)

    sys.excepthook, threading.excepthook, sys.unraisablehook = uncaught, uncaught_in_thread, unraisable
    root.handlers[:] = [ForeignRecords(observatory)]
    root.setLevel(logging.WARNING)
    return restore


def guard_loop(observatory: Observatory, loop: asyncio.AbstractEventLoop) -> None:
    """Note what the loop's own handler would print: a task's exception nobody awaited, a failed callback."""

    def note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None:
            observatory.event("loop-trouble")
        else:
            observatory.error("task-crashed", error)

    loop.set_exception_handler(note)


class ForeignRecords(logging.Handler):
    """Notes that a library logged something: who, where and how grave, never its text, which may hold content."""

    def __init__(self, observatory: Observatory) -> None:
        super().__init__(logging.WARNING)
        self._observatory = observatory

    def emit(self, record: logging.LogRecord) -> None:
        """Note one record."""
        where = f"{PurePath(record.pathname).name}:{record.lineno}"
        facts = {"logger": record.name, "where": where, "severity": record.levelname.lower()}
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            self._observatory.event("library", **facts)
        else:
            self._observatory.error("library", error, **facts)
