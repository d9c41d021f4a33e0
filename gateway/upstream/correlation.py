"""Which answer belongs to which send, on one connection. Knows callbacks and futures, not sockets.

A request stays unanswered here when its waiter got Silence or gave up: that the server still owes an answer decides
whether an error that names nobody can be pinned on somebody (PROTOCOL, section 3).
"""

import asyncio

from gateway.errors import BugError
from gateway.model.upstream import Answer, Callback, ErrorAnswer, LinkLost, Outcome, Silence, Unattributed

OVERDUE_LIMIT = 10_000
"""Unanswered requests nobody waits for that are remembered one by one; beyond, only that there were some."""


class Correlation:
    """The unanswered requests of one connection."""

    def __init__(self) -> None:
        self._waiting: dict[Callback, asyncio.Future[Outcome]] = {}
        self._overdue: dict[Callback, None] = {}
        self._lost_count = 0

    @property
    def in_flight(self) -> int:
        """How many sends still have somebody waiting for their answer."""
        return sum(not future.done() for future in self._waiting.values())

    @property
    def unanswered(self) -> int:
        """How many requests the server still owes an answer, timed-out ones included."""
        return len(self._waiting) + len(self._overdue) + self._lost_count

    def expect(self, callback: Callback) -> "asyncio.Future[Outcome]":
        """Note a request that is about to be written."""
        if callback in self._waiting or callback in self._overdue:
            raise BugError("a send number was used twice on one connection")
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting[callback] = future
        return future

    def withdraw(self, callback: Callback) -> None:
        """Forget a request that provably was not written."""
        self._waiting.pop(callback, None)

    def answer(self, callback: Callback, outcome: Answer | ErrorAnswer) -> bool:
        """Give an answer to whoever waits for it; False if nobody does."""
        self._overdue.pop(callback, None)
        future = self._waiting.pop(callback, None)
        if future is None or future.done():
            return False
        future.set_result(outcome)
        return True

    def fall_silent(self, callback: Callback) -> bool:
        """Tell the waiter that the response timeout passed; False if the request was answered or given up."""
        future = self._waiting.pop(callback, None)
        if future is None:
            return False
        self._remember_overdue(callback)
        if future.done():
            return False
        future.set_result(Silence())
        return True

    def blame(self, body: str | None) -> bool:
        """Pin an error that names nobody on the only unanswered request; False if there is not exactly one."""
        if self.unanswered != 1:
            return False
        self._overdue.clear()
        self._lost_count = 0
        for future in self._waiting.values():
            if not future.done():
                future.set_result(Unattributed(body=body))
        self._waiting.clear()
        return True

    def lose(self, *, too_large: bool) -> int:
        """Tell every waiter that the link is lost; gives how many there were.

        `too_large` is passed on only if exactly one request was unanswered: else nobody knows which one it was.
        """
        alone = self.unanswered == 1
        told = 0
        for future in self._waiting.values():
            if not future.done():
                future.set_result(LinkLost(too_large=too_large and alone))
                told += 1
        self._waiting.clear()
        self._overdue.clear()
        return told

    def _remember_overdue(self, callback: Callback) -> None:
        self._overdue[callback] = None
        if len(self._overdue) > OVERDUE_LIMIT:
            del self._overdue[next(iter(self._overdue))]
            self._lost_count += 1
