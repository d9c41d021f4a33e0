"""Kinds about framing bytes, headers and segments inside a frame."""

from collections.abc import Sequence

from gateway.sender.torture.judge import Due, judge
from gateway.sender.torture.letters import CR, END, FS, VT, frame, header, message
from gateway.sender.torture.peer import Answer
from gateway.sender.torture.stage import CLOSED, PASSED, REFUSED, TAKEN, Stage
from gateway.sender.torture.values import Kind, Mark, Outcome, Source

_ACK = "MSA|AA|TORTURE\r"


async def fs_inside(stage: Stage) -> Outcome:
    """Play a message with FS in its text, and look whether the part before it is answered."""
    due = Due(name=stage.name(), right=TAKEN | REFUSED, tolerable=CLOSED)
    before, _, behind = message(due.name, more=["NTE|1||before\x1cbehind"]).partition(FS)
    async with stage.peer() as peer:
        await stage.say(peer, VT + before + FS + behind[:1])
        early = await peer.hear(within=stage.options.quiet)
        if early is not None and early.positive:
            note = "answered before the message was whole: only the part before FS was taken"
            return Outcome(mark=Mark.WRONG, saw=f"{early.code} too early", note=note)
        await stage.say(peer, behind[1:] + END)
        return await stage.settle(peer, [due], [] if early is None else [early])


async def terminator_inside(stage: Stage) -> Outcome:
    """Play a message with FS CR in its text, all of it in one write."""
    due = Due(name=stage.name(), right=REFUSED, tolerable=CLOSED | PASSED, is_readable=False)
    data = message(due.name, more=["NTE|1||before\x1c\rNTE|2||behind"])
    return await stage.trial(frame(data), dues=[due])


async def several_msh(stage: Stage) -> Outcome:
    """Play two messages in one frame, without a batch header."""
    names = (stage.name(), stage.name())
    async with stage.peer() as peer:
        await stage.say(peer, frame(b"".join(message(name) for name in names)))
        answers: list[Answer] = []
        while len(answers) < len(names) and (answer := await peer.hear(within=stage.options.quiet)) is not None:
            answers.append(answer)
        return _of_several(names, answers, "silent" if peer.ended is None else peer.ended.value)


def _of_several(names: Sequence[str], answers: Sequence[Answer], otherwise: str) -> Outcome:
    taken = [answer.name for answer in answers if answer.positive]
    saw = ", ".join(answer.code or "unreadable" for answer in answers) or otherwise
    if not answers:
        mark = Mark.WRONG if otherwise == "silent" else Mark.TOLERABLE
        return Outcome(mark=mark, saw=saw, note="neither taken nor refused")
    if not taken:
        return Outcome(mark=Mark.RIGHT, saw=saw)
    if taken == list(names):
        return Outcome(mark=Mark.TOLERABLE, saw=saw, note="taken one by one")
    return Outcome(mark=Mark.WRONG, saw=saw, note="one of the messages was taken and the other lost, or both glued")


async def no_msh(stage: Stage) -> Outcome:
    """Play a frame that begins with PID."""
    due = Due(name="", right=REFUSED, tolerable=PASSED | CLOSED, is_readable=False)
    return await stage.trial(frame(b"PID|1||TORTURE^^^TORTURE^MR||TORTURE^TEST\r"), dues=[due])


async def no_control_id(stage: Stage) -> Outcome:
    """Play a message with an empty MSH-10."""
    due = Due(name="", right=REFUSED, tolerable=TAKEN | CLOSED)
    return await stage.trial(frame(message("")), dues=[due])


async def ack_as_message(stage: Stage) -> Outcome:
    """Play an acknowledgement nobody asked for."""
    due = Due(name=stage.name(), right=PASSED, tolerable=REFUSED | CLOSED)
    data = f"{header(due.name, kind='ACK')}\r{_ACK}".encode("ascii")
    return await stage.trial(frame(data), dues=[due])


async def answer_form(stage: Stage) -> Outcome:
    """Look at two answers themselves."""
    dues = [Due(name=stage.name(), right=TAKEN) for _ in range(2)]
    async with stage.peer() as peer:
        answers: list[Answer] = []
        for due in dues:
            await stage.say(peer, frame(message(due.name)))
            answers += await stage.listen(peer, [due], within=stage.options.patience)
        outcome = judge(dues, answers, peer.ended, has_half=peer.has_half)
    if outcome.mark is not Mark.RIGHT:
        return outcome
    complaints = [complaint for complaint in _complaints(answers) if complaint]
    mark = Mark.WRONG if complaints else Mark.RIGHT
    return Outcome(mark=mark, saw=outcome.saw, note="; ".join(complaints) or None)


def _complaints(answers: Sequence[Answer]) -> list[str]:
    ids = [_control_id(answer.payload) for answer in answers]
    return [
        "" if all(answer.payload.endswith(CR) for answer in answers) else "the last segment does not end in CR",
        "" if all(ids) else "an answer without MSH-10",
        "" if len(set(ids)) == len(ids) or not all(ids) else "two answers with the same MSH-10",
    ]


def _control_id(answer: bytes) -> bytes:
    fields = answer.split(CR, 1)[0].split(answer[3:4])
    return fields[9] if len(fields) > 9 else b""


STRUCTURE = (
    Kind(
        name="answer-form",
        sends="two ordinary messages",
        rule="each answer has an MSH-10 of its own, and its last segment ends in CR",
        source=Source.ENCODING,
        play=answer_form,
    ),
    Kind(
        name="fs-inside",
        sends="FS in a message's text",
        rule="taken whole, refused or hung up on; the part before it never taken",
        source=Source.OURS,
        play=fs_inside,
    ),
    Kind(
        name="terminator-inside",
        sends="FS CR in a message's text, all in one write",
        rule="refused or hung up on; the part before it never taken",
        source=Source.OURS,
        play=terminator_inside,
    ),
    Kind(
        name="several-msh",
        sends="two messages in one frame without a batch header",
        rule="refused whole; taking both is tolerable, taking one is not",
        source=Source.OURS,
        play=several_msh,
    ),
    Kind(
        name="no-msh",
        sends="a frame that begins with PID",
        rule="refused, or passed over; never taken",
        source=Source.ENCODING,
        play=no_msh,
    ),
    Kind(
        name="no-control-id",
        sends="a message without MSH-10",
        rule="refused; taking it is tolerable",
        source=Source.MSH,
        play=no_control_id,
    ),
    Kind(
        name="ack-as-message",
        sends="an acknowledgement as if it were a message",
        rule="not answered: acknowledging an acknowledgement loops; a refusal is tolerable",
        source=Source.ACKNOWLEDGING,
        play=ack_as_message,
    ),
)
