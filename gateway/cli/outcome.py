"""How a command ends: an exit code, and words for each kind of trouble. Never prints what may hold content."""

import asyncio
import os
import sys
import traceback
from collections.abc import Coroutine
from enum import IntEnum
from typing import Any, NoReturn

import typer

from gateway.cli.screen import complain
from gateway.errors import ConfigError, OperatorError, PeerError, StoreError

INTERRUPTED = 130
"""What a shell expects of a program that ended on Ctrl-C (128 + SIGINT)."""


class Exit(IntEnum):
    """Exit codes; outside tools rely on them."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    TROUBLE = 3


def conclude(work: Coroutine[Any, Any, int], *, refused: Exit = Exit.REFUSED) -> NoReturn:
    """Run a command's work to its end and leave with its exit code; `refused` is that of an OperatorError."""
    raise typer.Exit(int(_code_of(work, refused)))


def _code_of(work: Coroutine[Any, Any, int], refused: Exit) -> int:
    """Turn every way the work can end into an exit code, the trouble told on standard error."""
    try:
        code = asyncio.run(work)
        sys.stdout.flush()
    except ConfigError as error:
        complain(*error.problems)
        return Exit.USAGE
    except (OperatorError, PeerError) as error:
        complain(str(error))
        return refused
    except StoreError as error:
        complain(str(error))
        return Exit.TROUBLE
    except BrokenPipeError:
        # The reader, such as `head`, had enough. Python would flush standard output once more at exit and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        complain(f"{error.filename or 'system'}: {error.strerror or type(error).__name__}")
        return Exit.TROUBLE
    except Exception as error:  # noqa: BLE001 - the last one to catch: its text may hold content and is not shown
        _confess(error)
        return Exit.TROUBLE
    return code


def _confess(error: Exception) -> None:
    """Report a defect: where, and of what kind, without the exception's text."""
    frames = [line.rstrip() for line in traceback.format_tb(error.__traceback__)]
    complain(*frames, f"this is a defect of the gateway ({type(error).__name__}); please report the lines above")
