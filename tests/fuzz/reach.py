"""Which steps from line to line of the gateway a call takes. For choosing what to keep; too slow for anything else."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

_GATEWAY = str(Path(__file__).parents[2] / "gateway")


def reached(work: Callable[[], object]) -> set[object]:
    """Run it and give its steps."""
    steps: set[object] = set()

    def local(last: int) -> Callable[[FrameType, str, Any], Any]:
        def trace(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal last
            if event == "line":
                steps.add((frame.f_code.co_filename, last, frame.f_lineno))
                last = frame.f_lineno
            return trace

        return trace

    def enter(frame: FrameType, _: str, __: Any) -> Any:
        return local(0) if frame.f_code.co_filename.startswith(_GATEWAY) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps
