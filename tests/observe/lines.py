"""An observatory that writes into memory, and the lines it wrote."""

import io
import json
from typing import Any

from gateway.model.clock import Now
from gateway.model.policy import LogFormat, LogLevel
from gateway.observe.observatory import Observatory
from gateway.observe.options import LogOptions

NOON = 1_767_268_800_123


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.ms = 0

    def __call__(self) -> Now:
        return Now(wall=NOON + self.ms, boot_id="boot", ms=self.ms)


class Watched:
    """An observatory, its clock and its stream."""

    def __init__(self, *, level: LogLevel = LogLevel.DEBUG, format: LogFormat = LogFormat.JSON) -> None:  # noqa: A002 - the word of the options
        self.stream = io.StringIO()
        self.clock = Hands()
        options = LogOptions(format=format, level=level)
        self.observatory = Observatory(options, clock=self.clock, version="1.2.3", stream=self.stream)

    def text(self) -> str:
        assert self.observatory.flush(10)
        return self.stream.getvalue()

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text().splitlines()]

    def value(self, name: str, **labels: str) -> float | None:
        return self.observatory.metrics.registry.get_sample_value(name, labels)
