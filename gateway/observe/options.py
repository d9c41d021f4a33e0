"""What the observatory is told."""

from dataclasses import dataclass

from gateway.model.policy import LogFormat, LogLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """How lines look and from which level on they are written; `backlog` lines may wait for a slow reader."""

    format: LogFormat = LogFormat.AUTO
    level: LogLevel = LogLevel.INFO
    backlog: int = 10_000
