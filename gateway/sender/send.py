"""Sends a plan and reports. The one door of this room for the command line and for tests; prints nothing."""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial

from gateway.sender.connection import Connection, tls_context
from gateway.sender.feed import Feed
from gateway.sender.lane import Connect, Lane
from gateway.sender.options import Judgement, SendPlan, SendReport, Sent, Verdict


class _Tally:
    """Counts what passes and passes it on."""

    def __init__(self, on_sent: Callable[[Sent], None] | None, on_verdict: Callable[[Verdict], None] | None) -> None:
        self._on_sent = on_sent
        self._on_verdict = on_verdict
        self.written = 0
        self.counts: Counter[Judgement] = Counter()
        self.extras: Counter[Judgement] = Counter()

    def sent(self, sent: Sent) -> None:
        self.written += 1
        if self._on_sent is not None:
            self._on_sent(sent)

    def verdict(self, verdict: Verdict) -> None:
        if verdict.extra:
            self.extras[verdict.judgement] += 1
        elif not verdict.retried:
            self.counts[verdict.judgement] += 1
        if self._on_verdict is not None:
            self._on_verdict(verdict)


async def send(
    plan: SendPlan,
    *,
    on_verdict: Callable[[Verdict], None] | None = None,
    on_sent: Callable[[Sent], None] | None = None,
) -> SendReport:
    """Send everything and judge every answer; the callbacks run in the loop, in order, and must not block.

    `on_sent` is called just before a frame is handed to the socket, so that a journal never lacks what was written.
    A target that cannot be reached is reported in the result (`trouble`, `unsent`). Raises TlsUnusable.
    """
    loop = asyncio.get_running_loop()
    start = loop.time()
    tally, feed = _Tally(on_sent, on_verdict), Feed(plan, start=start)
    connect = _connector(plan)
    lanes = [
        Lane(place, plan, feed, connect=connect, on_sent=tally.sent, on_verdict=tally.verdict)
        for place in range(min(plan.connections, plan.total))
    ]
    async with asyncio.TaskGroup() as group:
        for lane in lanes:
            group.create_task(lane.run())
    return SendReport(
        total=plan.total,
        written=tally.written,
        unsent=feed.left,
        elapsed=loop.time() - start,
        counts=dict(tally.counts),
        extras=dict(tally.extras),
        trouble=next((lane.trouble for lane in lanes if lane.trouble is not None), None),
    )


def _connector(plan: SendPlan) -> Connect:
    tls = plan.tls
    return partial(
        Connection.open,
        plan.target,
        context=tls_context(tls) if tls is not None else None,
        server_name=tls.server_name if tls is not None else None,
        timeout=plan.connect_timeout,
        max_answer_bytes=plan.max_answer_bytes,
    )
