"""Exceptions as facts: type, place, and the text of our own errors only. Never shows local values.

The text of a foreign exception may hold what it choked on, so only its type and the places it passed are told.
"""

import traceback
from collections.abc import Iterator
from pathlib import PurePath

from gateway.errors import GatewayError
from gateway.observe.facts import safe_value

DEEPEST = 8
MOST_FRAMES = 40

Trouble = dict[str, object]


def describe(error: BaseException) -> list[Trouble]:
    """Describe an exception and what caused it, the outermost first, at most 8 of them."""
    return [_one(each) for each in _chain(error)]


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting = [error]
    seen: set[int] = set()
    while waiting and len(seen) < DEEPEST:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            waiting.extend(current.exceptions)
        below = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
        if below is not None:
            waiting.append(below)


def _one(error: BaseException) -> Trouble:
    kind = type(error)
    told: Trouble = {"type": f"{kind.__module__}.{kind.__qualname__}"}
    if isinstance(error, GatewayError) and kind.__module__.startswith("gateway."):
        told["text"] = [safe_value(line) for line in str(error).splitlines()[:20]]
    if isinstance(error, OSError) and error.errno is not None:
        told["errno"] = error.errno
    told["frames"] = _frames(error)
    return told


def _frames(error: BaseException) -> list[str]:
    """Give `file:line in function`, outermost first; of a long traceback its innermost part."""
    found = traceback.extract_tb(error.__traceback__)
    return [f"{_short(each.filename)}:{each.lineno} in {each.name}" for each in found[-MOST_FRAMES:]]


def _short(filename: str) -> str:
    """Keep the last three parts of a path: enough to find the line, nothing of the machine."""
    return "/".join(PurePath(filename).parts[-3:])
