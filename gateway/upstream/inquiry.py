"""Asking the server what it knows of sends in doubt (PROTOCOL, section 4, `status`). One question at a time."""

import asyncio
from collections.abc import Sequence

from gateway.errors import NotLive
from gateway.model.upstream import Callback, StatusResult
from gateway.upstream.pipe import Pipe
from gateway.wire import agent


class Inquiry:
    """The questions of one connection. A server that left one unanswered is not asked again on it."""

    def __init__(self, pipe: Pipe, *, seconds: float) -> None:
        self._pipe = pipe
        self._seconds = seconds
        self._turn = asyncio.Lock()
        self._asked: frozenset[Callback] = frozenset()
        self._answer: asyncio.Future[Sequence[StatusResult] | None] | None = None
        self.is_mute = False

    @property
    def is_open(self) -> bool:
        """True while a question waits for its answer."""
        return self._answer is not None

    async def ask(self, callbacks: Sequence[Callback]) -> Sequence[StatusResult] | None:
        """Ask, and wait; None if there was no answer in time or the connection went."""
        async with self._turn:
            if self.is_mute or not self._pipe.is_open:
                return None
            self._asked = frozenset(callbacks)
            self._answer = asyncio.get_running_loop().create_future()
            try:
                self._pipe.write(agent.status_request(callbacks))
                async with asyncio.timeout(self._seconds):
                    return await self._answer
            except NotLive:
                return None
            except TimeoutError:
                self.is_mute = True
                return None
            finally:
                self._answer = None

    def hear(self, results: Sequence[StatusResult]) -> bool:
        """Take a status response; False if it speaks of other sends than those asked about."""
        fits = {each.callback for each in results} <= self._asked
        if self._answer is None or self._answer.done() or not fits:
            return False
        self._answer.set_result(tuple(results))
        return True

    def end(self) -> None:
        """Tell whoever waits that there will be no answer."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)
