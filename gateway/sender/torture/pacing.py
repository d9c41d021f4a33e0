"""Kinds about time: the same bytes in other pieces. What TCP cuts has no meaning (RFC 9293)."""

import asyncio

from gateway.sender.torture.judge import Due, judge
from gateway.sender.torture.letters import frame, message
from gateway.sender.torture.peer import Answer
from gateway.sender.torture.stage import CLOSED, TAKEN, Stage
from gateway.sender.torture.values import Kind, Mark, Outcome, Source

_DRIPS = 30


async def plain(stage: Stage) -> Outcome:
    """Play an ordinary message."""
    name = stage.name()
    outcome, _ = await stage.ask(message(name), Due(name=name, right=TAKEN))
    return outcome


async def _in_pieces(stage: Stage, due: Due, *, size: int, pause: float) -> Outcome:
    async with stage.peer() as peer:
        data = frame(message(due.name))
        for at in range(0, len(data), size):
            if not await stage.say(peer, data[at : at + size]):
                break
            await asyncio.sleep(pause)
        return await stage.settle(peer, [due])


async def bytewise(stage: Stage) -> Outcome:
    """Play a message, one byte per write."""
    return await _in_pieces(stage, Due(name=stage.name(), right=TAKEN), size=1, pause=stage.options.pause)


async def drip(stage: Stage) -> Outcome:
    """Play a message so slowly that a receiver may lose patience."""
    due = Due(name=stage.name(), right=TAKEN, tolerable=CLOSED)
    size = -(-len(frame(message(due.name))) // _DRIPS)
    return await _in_pieces(stage, due, size=size, pause=stage.options.drip / _DRIPS)


async def everywhere(stage: Stage) -> Outcome:
    """Play a message for every place where it can be cut in two; stops at the first that is not taken."""
    last = len(frame(message(stage.name()))) - 1
    at = 1
    while at <= last:
        before = at
        at, outcome = await _cut_from(stage, at, last)
        if outcome.mark is Mark.WRONG or at == before:
            note = f"cut behind byte {at} of {last + 1}: {outcome.note}"
            return Outcome(mark=Mark.WRONG, saw=f"{at - 1} taken, then {outcome.saw}", note=note)
    return Outcome(mark=Mark.RIGHT, saw=f"{last} taken")


async def _cut_from(stage: Stage, at: int, last: int) -> tuple[int, Outcome]:
    """Go on from one cut until the receiver closes or does wrong; give the first cut that was not taken."""
    outcome = Outcome(mark=Mark.RIGHT, saw="")
    async with stage.peer() as peer:
        while at <= last and peer.ended is None:
            due = Due(name=stage.name(), right=TAKEN, tolerable=CLOSED)
            data = frame(message(due.name))
            await stage.say(peer, data[:at])
            await asyncio.sleep(stage.options.pause)
            await stage.say(peer, data[at:])
            answer: Answer | None = await peer.hear(within=stage.options.patience)
            outcome = judge([due], [] if answer is None else [answer], peer.ended, has_half=peer.has_half)
            if outcome.mark is not Mark.RIGHT:
                break
            at += 1
    return at, outcome


PLAIN = Kind(
    name="plain",
    sends="an ordinary message; everything else is measured against it",
    rule="one positive answer whose MSA-2 is the message's MSH-10",
    source=Source.MSA,
    play=plain,
)

PACING = (
    Kind(
        name="byte-by-byte",
        sends="a message, one byte per write",
        rule="taken, as in one piece",
        source=Source.TCP,
        play=bytewise,
    ),
    Kind(
        name="cut-everywhere",
        sends="a message in two pieces, once for every place to cut it",
        rule="every one taken",
        source=Source.TCP,
        play=everywhere,
    ),
    Kind(
        name="slow-drip",
        sends="a message whose bytes take seconds",
        rule="taken, or hung up on",
        source=Source.OURS,
        play=drip,
    ),
)
