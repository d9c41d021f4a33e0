"""Kinds about the same control id twice: a retransmit must stay harmless, and another message must not vanish."""

from gateway.sender.torture.judge import Due
from gateway.sender.torture.letters import message
from gateway.sender.torture.stage import REFUSED, TAKEN, Stage
from gateway.sender.torture.values import Kind, Mark, Outcome, Source


async def duplicate(stage: Stage) -> Outcome:
    """Play the same bytes again on a new connection."""
    due = Due(name=stage.name(), right=TAKEN)
    first, one = await stage.ask(message(due.name), due)
    second, other = await stage.ask(message(due.name), due)
    saw = f"{first.saw}, then {second.saw}"
    if first.mark is not Mark.RIGHT or one is None:
        return Outcome(mark=Mark.WRONG, saw=saw, note=first.note)
    if second.mark is not Mark.RIGHT or other is None:
        return Outcome(mark=Mark.WRONG, saw=saw, note=f"the retransmit: {second.note}")
    if other.code != one.code:
        return Outcome(mark=Mark.WRONG, saw=saw, note="another code than the first time")
    if other.payload != one.payload:
        note = "answered anew: whether the message was taken twice cannot be seen from here"
        return Outcome(mark=Mark.TOLERABLE, saw=saw, note=note)
    return Outcome(mark=Mark.RIGHT, saw=f"{saw}, byte for byte")


async def collision(stage: Stage) -> Outcome:
    """Play another message under a control id that is taken."""
    due = Due(name=stage.name(), right=TAKEN)
    first, one = await stage.ask(message(due.name), due)
    other_bytes = message(due.name, more=["NTE|1||other bytes under the same control id"])
    second, other = await stage.ask(other_bytes, Due(name=due.name, right=REFUSED, tolerable=TAKEN))
    saw = f"{first.saw}, then {second.saw}"
    if first.mark is not Mark.RIGHT or one is None:
        return Outcome(mark=Mark.WRONG, saw=saw, note=first.note)
    if other is not None and other.positive and other.payload == one.payload:
        note = "the first message's answer was replayed for another one, which is lost"
        return Outcome(mark=Mark.WRONG, saw=saw, note=note)
    if second.mark is Mark.TOLERABLE:
        return Outcome(mark=Mark.TOLERABLE, saw=saw, note="both taken: MSH-10 is not looked at")
    return Outcome(mark=second.mark, saw=saw, note=second.note)


REPEATS = (
    Kind(
        name="duplicate",
        sends="the same bytes again, on a new connection",
        rule="the same answer again; one built anew is tolerable",
        source=Source.OURS,
        play=duplicate,
    ),
    Kind(
        name="same-id-other-bytes",
        sends="another message under the same MSH-10",
        rule="refused; taking both is tolerable, replaying the first answer is not",
        source=Source.MSH,
        play=collision,
    ),
)
