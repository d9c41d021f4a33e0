"""Answers of the application level that come after the CA: each goes once, to where its sender is now.

Settle is committed first, then the answer leaves, then its delivery is recorded; a crash between repeats the
answer and never loses it.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass

from gateway.errors import StoreError
from gateway.listener.agreement import Wanted
from gateway.listener.answers import is_positive_body
from gateway.listener.lines import Lines
from gateway.listener.reading import Message
from gateway.listener.slots import Line, Sent
from gateway.model.ids import ChannelName, RowId
from gateway.model.intake import ApplicationAnswer
from gateway.model.states import AnswerState
from gateway.ports.clock import Clock
from gateway.ports.observe import Observer
from gateway.ports.store import Intake

KEPT_MS = 3_600_000
"""How long a pending answer waits for its sender to come back after a restart."""

CHECK_EVERY = 10.0
"""Seconds between two look-ups of one sender's pending answers, beside the one at each new connection."""

MOST_WAITING = 10_000
"""Rows that are waited for one by one. The answers of more, after a long outage, are found by looking them up."""

_MOST_CHECKED = 4096


@dataclass(slots=True, kw_only=True)
class _Debt:
    row: RowId
    line: Line
    sender: str
    codec: str
    wanted: Wanted
    started: bool = False


class LaterAnswers:
    """What the senders of one channel are still owed."""

    def __init__(self, channel: ChannelName, *, store: Intake, observer: Observer, clock: Clock, lines: Lines) -> None:
        self._channel = channel
        self._store = store
        self._observer = observer
        self._clock = clock
        self._lines = lines
        self._owed: dict[RowId, _Debt] = {}
        self._checked: dict[tuple[str, str], float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def owe(self, message: Message, row: RowId, line: Line) -> Sent:
        """Note the debt; what is returned is told when the CA has left (the later answer must not overtake it)."""
        debt = self._owed.get(row)
        if debt is None:
            offer = message.offer
            wanted = message.agreement.application
            debt = _Debt(row=row, line=line, sender=offer.sender, codec=offer.encoding, wanted=wanted)
            self._owed[row] = debt
        found = debt
        return lambda left: self._start(found, line if left else None)

    def meet(self, line: Line, sender: str) -> None:
        """Look for answers left from before when a message of their sender comes, at most every CHECK_EVERY seconds."""
        is_news = self._lines.note(line, sender)
        now = asyncio.get_running_loop().time()
        key = (line.peer.name, sender)
        if is_news or now - self._checked.get(key, float("-inf")) >= CHECK_EVERY:
            if len(self._checked) >= _MOST_CHECKED:
                # Forgetting only costs look-ups; remembering every sender for ever would cost memory.
                self._checked.clear()
            self._checked[key] = now
            self._spawn(self._catch_up(line, sender))

    def forget(self, line: Line) -> None:
        """Forget a connection that is gone."""
        self._lines.forget(line)

    async def close(self) -> None:
        """Stop waiting. What is unsettled stays pending in the store, for the next process."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, debt: _Debt, line: Line | None) -> None:
        if line is not None:
            debt.line = line
        if debt.started:
            return
        debt.started = True
        if len(self._tasks) >= MOST_WAITING and debt.wanted is Wanted.ALWAYS:
            # It stays pending in the store, and goes out when its sender sends again. What is to be filtered must
            # be waited for, since only this process knows the filter.
            self._owed.pop(debt.row, None)
            return
        self._spawn(self._settle(debt))

    async def _settle(self, debt: _Debt) -> None:
        try:
            answer = await self._store.wait_answer(debt.row)
            await self._record(debt.row, self._hand_over(debt, answer.body))
        except StoreError as why:
            self._observer.event("answer-not-passed-on", channel=self._channel, row=debt.row, error=type(why).__name__)
        finally:
            self._owed.pop(debt.row, None)

    def _hand_over(self, debt: _Debt, body: bytes) -> AnswerState:
        if debt.wanted is not Wanted.ALWAYS and not debt.wanted.admits(positive=is_positive_body(body, debt.codec)):
            return AnswerState.NOT_OWED
        if debt.line.push(body):
            return AnswerState.DELIVERED
        line = self._lines.newest(debt.line.peer.name, debt.sender)
        return AnswerState.DELIVERED if line is not None and line.push(body) else AnswerState.UNDELIVERED

    async def _catch_up(self, line: Line, sender: str) -> None:
        since = self._clock().wall - KEPT_MS
        try:
            every = await self._store.pending_answers(self._channel, sender, since=0)
            fresh = {found.row for found in await self._store.pending_answers(self._channel, sender, since=since)}
            for found in every:
                if found.row not in self._owed:
                    await self._pass_on(found, line, sender, is_fresh=found.row in fresh)
        except StoreError as why:
            self._observer.event("answers-not-looked-up", channel=self._channel, error=type(why).__name__)

    async def _pass_on(self, found: ApplicationAnswer, line: Line, sender: str, *, is_fresh: bool) -> None:
        # Held as a debt meanwhile, so that a second look-up at the same time does not send it again.
        self._owed[found.row] = _Debt(
            row=found.row, line=line, sender=sender, codec="utf-8", wanted=Wanted.ALWAYS, started=True
        )
        try:
            left = is_fresh and line.push(found.body)
            if is_fresh and not left:
                return
            await self._record(found.row, AnswerState.DELIVERED if left else AnswerState.UNDELIVERED)
        finally:
            self._owed.pop(found.row, None)

    async def _record(self, row: RowId, state: AnswerState) -> None:
        await self._store.record_answer(row, state, self._clock())
        self._observer.event("application-answer", channel=self._channel, row=row, outcome=state.value)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
