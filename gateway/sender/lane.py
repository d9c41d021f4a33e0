"""One place of a run: one connection at a time, its unanswered messages, reconnecting. Leaves judging to Window."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from gateway.sender.connection import Closed, Connection, Received, Unreachable
from gateway.sender.feed import Feed, Job
from gateway.sender.judging import read
from gateway.sender.options import Judgement, SendPlan, Sent, Verdict
from gateway.sender.window import Window

Connect = Callable[[], Awaitable[Connection]]


class Lane:
    """Sends until the feed is empty, the target cannot be reached, or patience ends."""

    def __init__(
        self,
        place: int,
        plan: SendPlan,
        feed: Feed,
        *,
        connect: Connect,
        on_sent: Callable[[Sent], None],
        on_verdict: Callable[[Verdict], None],
    ) -> None:
        self._place = place
        self._plan = plan
        self._feed = feed
        self._connect = connect
        self._on_sent = on_sent
        self._on_verdict = on_verdict
        self._backlog: deque[Job] = deque()
        self._window = Window()
        self._draining = False
        self._trouble_since: float | None = None
        self._loop = asyncio.get_running_loop()
        self.trouble: str | None = None
        """Why the place stopped before its work was done."""

    async def run(self) -> None:
        """Send and judge; returns when nothing more can be done here."""
        while self._backlog or self._feed.left:
            if not self._backlog:
                await asyncio.sleep(self._feed.due() - self._loop.time())
            try:
                connection = await self._connect()
            except Unreachable as error:
                reason: str | None = error.reason
            else:
                async with connection:
                    reason = await self._converse(connection)
                if not self._sort_out(reason):
                    continue
            if not await self._is_patient(reason or "asked to come later"):
                return

    async def _converse(self, connection: Connection) -> str | None:
        """Use one connection as long as it is good; gives the reason when it ended badly."""
        self._window, self._draining = Window(), False
        while True:
            self._fill(connection)
            if not self._window and (self._draining or not (self._backlog or self._feed.left)):
                return None
            try:
                async with asyncio.timeout_at(self._wake_at()):
                    received = await connection.receive()
            except TimeoutError:
                if self._is_overdue() and self._plan.retransmit is not None:
                    return self._silence_text()
                self._expire()
            except Closed as error:
                return error.reason
            else:
                self._take(received)

    def _fill(self, connection: Connection) -> None:
        """Write what the window, the pace and the work allow."""
        while len(self._window) < self._plan.pipeline and not self._draining:
            job = self._backlog.popleft() if self._backlog else self._feed.take(self._loop.time())
            if job is None:
                return
            job.attempts += 1
            job.sent_at = self._loop.time()
            self._window.add(job)
            self._on_sent(
                Sent(
                    number=job.number,
                    attempt=job.attempts,
                    connection=self._place,
                    origin=job.origin,
                    control_id=job.control_ids[0],
                    payload=job.payload,
                )
            )
            connection.write(job.payload)

    def _wake_at(self) -> float | None:
        """When to look up from waiting for an answer: the head's deadline or the next start, whichever is first."""
        moments = []
        if self._window.head is not None:
            moments.append(self._window.head.sent_at + self._plan.answer_timeout)
        if self._feed.left and not self._draining and len(self._window) < self._plan.pipeline:
            moments.append(self._feed.due())
        return min(moments, default=None)

    def _is_overdue(self) -> bool:
        head = self._window.head
        return head is not None and head.sent_at + self._plan.answer_timeout <= self._loop.time()

    def _expire(self) -> None:
        """Judge every head whose time is over; then let the connection run dry, since a late answer may still come."""
        while self._is_overdue():
            job = self._window.abandon()
            if job is not None:
                self._draining = True
                self._settle(job, Judgement.SILENCE, note=self._silence_text())

    def _silence_text(self) -> str:
        return f"no answer within {self._plan.answer_timeout:g} s"

    def _take(self, received: Received) -> None:
        """Judge one answer; a code that means "later" puts its message back."""
        reading = read(received.payload) if received.broken is None else None
        match = self._window.match(reading)
        retransmit = self._plan.retransmit
        later = retransmit is not None and match.judgement is Judgement.NEGATIVE and not match.extra
        code = reading.code if reading is not None else None
        retried = later and retransmit is not None and code in retransmit.codes
        if retried and match.job is not None:
            self._backlog.append(match.job)
            self._draining = True
        self._settle(
            match.job,
            match.judgement,
            code=code,
            text=reading.text if reading is not None else None,
            note=match.note,
            answer=received.payload,
            extra=match.extra,
            retried=retried,
        )

    def _sort_out(self, reason: str | None) -> bool:
        """Judge what a connection left unanswered, or put it back; tells whether anything has to be sent again."""
        retried = self._plan.retransmit is not None
        left = self._window.drain()
        for job in left:
            self._settle(job, Judgement.SILENCE, note=reason, retried=retried)
        if retried:
            self._backlog = deque(sorted((*self._backlog, *left), key=lambda job: job.number))
        return bool(self._backlog)

    async def _is_patient(self, reason: str) -> bool:
        """Wait a moment before the next attempt; False, with everything judged, when there is to be none."""
        now, retransmit = self._loop.time(), self._plan.retransmit
        if self._trouble_since is None:
            self._trouble_since = now
        if retransmit is not None and now - self._trouble_since < retransmit.patience:
            await asyncio.sleep(retransmit.pause)
            return True
        self.trouble = reason
        while self._backlog:
            self._settle(self._backlog.popleft(), Judgement.SILENCE, note=f"given up: {reason}")
        return False

    def _settle(
        self,
        job: Job | None,
        judgement: Judgement,
        *,
        code: str | None = None,
        text: str | None = None,
        note: str | None = None,
        answer: bytes | None = None,
        extra: bool = False,
        retried: bool = False,
    ) -> None:
        if not (extra or retried):
            self._trouble_since = None
        self._on_verdict(
            Verdict(
                judgement=judgement,
                number=job.number if job else 0,
                attempt=job.attempts if job else 0,
                connection=self._place,
                origin=job.origin if job else "",
                control_id=job.control_ids[0] if job else b"",
                code=code,
                text=text,
                note=note,
                answer=answer,
                elapsed=self._loop.time() - job.sent_at if job else 0.0,
                extra=extra,
                retried=retried,
            )
        )
