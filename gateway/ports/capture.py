"""How the listener shows frames to whoever was asked to capture them. Off unless a person asked."""

from typing import Protocol

from gateway.model.anomalies import Caught
from gateway.model.ids import ChannelName


class Tap(Protocol):
    """Takes frames as they came. It never raises and never waits."""

    def wants(self, channel: ChannelName) -> bool:
        """Say whether frames of the channel are wanted. Asked for all bytes that come, so it is fast."""

    def hold(self, size: int) -> bool:
        """Ask for room for that many raw bytes; False: there is none."""

    def release(self, size: int) -> None:
        """Give room back."""

    def take(self, caught: Caught) -> None:
        """Take one frame."""


class NoTap:
    """Wants nothing."""

    def wants(self, channel: ChannelName) -> bool:  # noqa: ARG002  # the protocol's shape
        """Never."""
        return False

    def hold(self, size: int) -> bool:  # noqa: ARG002  # the protocol's shape
        """Give no room."""
        return False

    def release(self, size: int) -> None:
        """Take nothing back."""

    def take(self, caught: Caught) -> None:
        """Drop it."""
