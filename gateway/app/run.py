"""One gateway process: opens the store, binds every port, leads where it may, and stops in order."""

import asyncio
from pathlib import Path

from gateway import __version__
from gateway.app import world
from gateway.app.process import Process
from gateway.app.signals import stop_on_signals
from gateway.app.translate import log_options
from gateway.config.settings import Settings
from gateway.errors import GatewayError, StoreError
from gateway.observe.hooks import guard_loop, guard_process
from gateway.observe.observatory import Observatory
from gateway.ports.clock import Passing, pass_by

DONE, TROUBLE = 0, 3

LOG_GRACE = 2.0
"""Seconds the last log lines may take to be written."""


async def run(settings: Settings, *, ready_file: Path | None, passing: Passing = pass_by) -> int:
    """Run until SIGTERM or SIGINT (exit code 0), or until the store has failed for good (exit code 3).

    `passing` is called at each landmark of a message's way; only crash tests hand one in. Raises OperatorError when
    a port cannot be bound and StoreRefused when the store cannot be opened: then nothing was started.
    """
    observatory = Observatory(log_options(settings), clock=world.clock, version=__version__)
    stop = asyncio.Event()
    restore = guard_process(observatory)
    guard_loop(observatory, asyncio.get_running_loop())
    try:
        with stop_on_signals(stop):
            return await _serve(Process(settings, observatory, passing), stop, ready_file, observatory)
    finally:
        restore()
        observatory.close(LOG_GRACE)


async def _serve(process: Process, stop: asyncio.Event, ready_file: Path | None, observatory: Observatory) -> int:
    """Serve; trouble that comes wrapped in groups by the tasks it went through is told by its own name."""
    try:
        await process.serve(stop, ready_file)
    except (GatewayError, BaseExceptionGroup) as trouble:
        first = _first(trouble)
        if isinstance(first, StoreError) and process.was_ready:
            observatory.error("gave-up", first)
            return TROUBLE
        if not isinstance(first, GatewayError):
            # A defect: its text may hold content, so only its kind and its places are told.
            observatory.error("crashed", trouble)
            return TROUBLE
        raise first from None
    return DONE


def _first(error: BaseException) -> BaseException:
    """Give the first leaf of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
