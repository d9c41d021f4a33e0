"""One run of the sender, with everything it told its callbacks."""

import asyncio

from gateway.sender.options import Judgement, SendPlan, Sent, Verdict
from gateway.sender.send import send
from tests.sender.listening import Listening, outgoing

SOON = 0.05  # seconds that a listener which never answers is waited for


def plan(listening: Listening, *control_ids: str, **changes: object) -> SendPlan:
    given: dict[str, object] = {"target": listening.target, "messages": outgoing(*control_ids), **changes}
    return SendPlan(**given)  # type: ignore[arg-type]  # the tests name the fields they vary


async def judged(chosen: SendPlan) -> tuple[list[Verdict], list[Sent], int]:
    verdicts: list[Verdict] = []
    sent: list[Sent] = []
    async with asyncio.timeout(20):
        report = await send(chosen, on_verdict=verdicts.append, on_sent=sent.append)
    assert report.written == len(sent)
    finals = [one for one in verdicts if not (one.extra or one.retried)]
    assert sum(report.counts.values()) == len(finals)
    assert sum(report.counts.values()) + report.unsent == report.total
    return verdicts, sent, report.exit_code


def kinds(verdicts: list[Verdict]) -> list[tuple[str, Judgement]]:
    return [(one.control_id.decode(), one.judgement) for one in verdicts]
