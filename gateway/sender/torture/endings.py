"""Kinds about how a connection ends, or does not."""

from gateway.sender.connection import Unreachable
from gateway.sender.torture.judge import Due, judge, worst
from gateway.sender.torture.letters import frame, message
from gateway.sender.torture.peer import Answer, Peer
from gateway.sender.torture.stage import CLOSED, TAKEN, Stage
from gateway.sender.torture.values import Kind, Mark, Outcome, Source

_PROBES = 50
_SMALL_BUFFER = 4096


async def half_close(stage: Stage) -> Outcome:
    """Play a sender that ends its output after the frame, and then reads."""
    due = Due(name=stage.name(), right=TAKEN, tolerable=CLOSED)
    return await stage.finished(frame(message(due.name)), due)


async def vanish_inside(stage: Stage) -> Outcome:
    """Play a sender that is gone in the middle of a message, and comes back with all of it."""
    return await _vanish(stage, size=100)


async def vanish_before_answer(stage: Stage) -> Outcome:
    """Play a sender that is gone before it has read its answer, and comes back with the same message."""
    return await _vanish(stage, size=None)


async def _vanish(stage: Stage, *, size: int | None) -> Outcome:
    due = Due(name=stage.name(), right=TAKEN)
    data = frame(message(due.name))
    async with stage.peer() as peer:
        await stage.say(peer, data[:size])
        how = "without a word" if peer.vanish() else "by a reset"
    outcome, _ = await stage.ask(message(due.name), due)
    return Outcome(mark=outcome.mark, saw=f"gone {how}, then {outcome.saw}", note=outcome.note)


async def probes(stage: Stage) -> Outcome:
    """Play a load balancer that only looks whether somebody listens."""
    for _ in range(_PROBES):
        async with stage.peer():
            pass
    name = stage.name()
    outcome, _ = await stage.ask(message(name), Due(name=name, right=TAKEN))
    return Outcome(mark=outcome.mark, saw=f"after {_PROBES} probes {outcome.saw}", note=outcome.note)


async def unread(stage: Stage) -> Outcome:
    """Play a sender that writes and never reads; others must be served all the same."""
    dues = [Due(name=stage.name(), right=TAKEN, tolerable=CLOSED) for _ in range(stage.options.unread)]
    async with stage.peer(receive_buffer=_SMALL_BUFFER) as peer:
        peer.deafen()
        await peer.say(b"".join(frame(message(due.name)) for due in dues), within=stage.options.quiet)
        try:
            bystander = await stage.is_alive()
        except Unreachable:
            bystander = False
        peer.listen()
        answers = await _rest(stage, peer, len(dues))
    if not answers:
        late = judge(dues, answers, peer.ended)
    else:
        # The receiver may have stopped reading: what has no answer yet may still have one when the sender reads on.
        late = judge(dues[: max(len(answers), 1)], answers, peer.ended, has_half=peer.has_half)
    saw = f"others {'served' if bystander else 'not served'}; {len(answers)} of {len(dues)} answered"
    if not bystander:
        return Outcome(mark=Mark.WRONG, saw=saw, note="an ordinary sender waited for the one that does not read")
    is_short = len(answers) < len(dues) and peer.ended is None
    mark = worst(late.mark, Mark.WRONG if is_short else Mark.RIGHT)
    return Outcome(
        mark=mark, saw=saw, note=late.note or ("not every message was answered in time" if is_short else None)
    )


async def _rest(stage: Stage, peer: Peer, most: int) -> list[Answer]:
    answers: list[Answer] = []
    while len(answers) < most and (answer := await peer.hear(within=stage.options.patience)) is not None:
        answers.append(answer)
    return answers


ENDINGS = (
    Kind(
        name="half-close",
        sends="a message, then the end of output; reads on",
        rule="answered, then closed; closing without an answer makes the sender send again",
        source=Source.TCP,
        play=half_close,
    ),
    Kind(
        name="half-open-inside",
        sends="half a message, then gone without FIN; the whole one on a new connection",
        rule="the whole one is taken: the half was never a message",
        source=Source.MLLP,
        play=vanish_inside,
    ),
    Kind(
        name="half-open-unanswered",
        sends="a message, then gone without FIN; the same bytes on a new connection",
        rule="taken: the sender cannot know that it was before",
        source=Source.ACKNOWLEDGING,
        play=vanish_before_answer,
    ),
    Kind(
        name="probes",
        sends=f"{_PROBES} connections without a byte, then a message",
        rule="taken",
        source=Source.TCP,
        play=probes,
    ),
    Kind(
        name="never-reads",
        sends="messages whose answers are not read, and a message of another sender meanwhile",
        rule="the other is served; what is read late is complete and in order",
        source=Source.OURS,
        play=unread,
    ),
)
