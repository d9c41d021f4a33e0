"""What rooms tell the observers. Facts only: never content of a message."""

from typing import Protocol

Fact = str | int | float | bool | None


class Observer(Protocol):
    """Takes events for log and metrics. It never raises, never waits, and cannot disturb the caller."""

    def event(self, name: str, /, **facts: Fact) -> None:
        """Note one event; `name` is a fixed word, `facts` are ids, counts, codes and names of the configuration."""

    def anomaly(self, *, channel: str, peer: str, kind: str, offset: int, bytes_hex: str, count: int = 1) -> None:
        """Note one framing anomaly of `count` bytes; `bytes_hex` is empty when the bytes are payload."""
