"""The dispatcher's view of the server link."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from gateway.model.upstream import Callback, Granted, Outcome, StatusResult, StrayAnswer, Transmit


class Connection(Protocol):
    """One live connection: it was answered `agent:connect:response` and is not closed yet."""

    @property
    def number(self) -> int:
        """Counts connections of this process, from 1; evidence for people."""

    @property
    def granted(self) -> Granted:
        """What the server granted on this connection."""

    @property
    def is_live(self) -> bool:
        """True while sends can go out. Read it again right before the inflight mark."""

    @property
    def in_flight(self) -> int:
        """How many sends of this connection wait for their answer."""

    @property
    def is_prepared(self) -> bool:
        """True while `prepare` would have nothing to wait for."""

    async def prepare(self) -> None:
        """Refresh the token if it is about to expire. Raises NotLive. Called before the inflight mark, never after."""

    def transmit(self, request: Transmit) -> "asyncio.Future[Outcome]":
        """Write one send now, without waiting or buffering.

        Raises NotLive if provably no byte was handed to a socket. Otherwise the future always completes: with an
        answer, Silence, or LinkLost. Cancelling it gives up waiting.
        """

    async def status(self, callbacks: Sequence[Callback]) -> Sequence[StatusResult] | None:
        """Ask what the server knows; None if not granted or not answered within 10 s."""


class Link(Protocol):
    """The one WebSocket of an upstream; reconnects for ever while it is open."""

    @property
    def state(self) -> str:
        """`down`, `connecting` or `live`, for people."""

    @property
    def last_error(self) -> str | None:
        """The last failure, without content; None since the last success."""

    async def open(self, *, epoch: int) -> None:
        """Start dialling under this epoch. Returns at once."""

    async def close(self) -> None:
        """Stop, and close the connection; unanswered sends complete with LinkLost."""

    async def live(self, *, after: int = 0) -> Connection:
        """Wait for a live connection with a number above `after`."""

    async def stray(self) -> StrayAnswer:
        """Wait for the next answer nobody waits for. Bounded: the oldest is dropped and counted when unread."""

    async def receipt(self) -> Callback:
        """Wait for the next receipt: the server has that send on its own durable storage. Evidence, never a verdict.

        Bounded like `stray`; receipts come only from servers that grant them.
        """
