"""Plays kinds one after the other and reports. The one door of this room for the command line; prints nothing."""

import asyncio
from collections.abc import Callable, Sequence

from gateway.sender.connection import Unreachable
from gateway.sender.torture.judge import worst
from gateway.sender.torture.pacing import PLAIN
from gateway.sender.torture.stage import Stage
from gateway.sender.torture.values import Finding, Kind, Mark, Outcome, Report, TortureOptions


async def torture(
    options: TortureOptions, kinds: Sequence[Kind], *, on_finding: Callable[[Finding], None] | None = None
) -> Report:
    """Play the kinds; after each an ordinary message on a new connection must still be taken.

    A receiver that does not take an ordinary message to begin with is not tortured. Raises Unreachable when it cannot
    be reached at all.
    """
    stage = Stage(options)
    findings: list[Finding] = []
    for place, kind in enumerate(kinds):
        finding = await _played(stage, kind, is_first=place == 0)
        findings.append(finding)
        if on_finding is not None:
            on_finding(finding)
        if kind is PLAIN and finding.outcome.mark is Mark.WRONG:
            return Report(findings=findings, blocked=True)
    return Report(findings=findings)


async def _played(stage: Stage, kind: Kind, *, is_first: bool) -> Finding:
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        async with asyncio.timeout(stage.options.limit):
            outcome = await kind.play(stage)
            if kind is not PLAIN and not await stage.is_alive():
                outcome = _dead(outcome, "afterwards an ordinary message on a new connection is not taken")
    except TimeoutError:
        note = f"not finished within {stage.options.limit:g} s"
        outcome = Outcome(mark=Mark.WRONG, saw="too slow", note=note)
    except Unreachable as error:
        if is_first:
            raise
        outcome = Outcome(mark=Mark.WRONG, saw="unreachable", note=f"no new connection: {error.reason}")
    return Finding(kind=kind, outcome=outcome, elapsed=loop.time() - began)


def _dead(outcome: Outcome, note: str) -> Outcome:
    notes = [outcome.note, note] if outcome.note else [note]
    return Outcome(mark=worst(outcome.mark, Mark.WRONG), saw=outcome.saw, note="; ".join(notes))
