"""Kinds about where a frame begins and ends. All are bytes on one connection, judged by their answers."""

from gateway.sender.torture.judge import Due
from gateway.sender.torture.letters import BOM, CR, FS, LF, VT, frame, message
from gateway.sender.torture.stage import CLOSED, PASSED, REFUSED, TAKEN, Stage
from gateway.sender.torture.values import Kind, Outcome, Play, Source

_MANY = 20
_LOG_LINE = b"[2026-01-01 12:00:00.000 torture sender] a line of a log\r\n"


def _due(name: str) -> Due:
    """Give a message that must be taken."""
    return Due(name=name, right=TAKEN)


def _odd(name: str) -> Due:
    """Give a message in a frame that a tolerant receiver takes and a strict one may refuse or hang up on."""
    return Due(name=name, right=TAKEN, tolerable=REFUSED | CLOSED, is_readable=False)


def _between(noise: bytes) -> Play:
    """Play two messages with bytes between their frames."""

    async def play(stage: Stage) -> Outcome:
        first, second = _due(stage.name()), _odd(stage.name())
        data = frame(message(first.name)) + noise + frame(message(second.name))
        return await stage.trial(data, dues=[first, second])

    return play


def _framed(before: bytes, after: bytes, *, lead: bytes = b"") -> Play:
    """Play one message between other bytes than VT and FS CR; `lead` stands in its payload before MSH."""

    async def play(stage: Stage) -> Outcome:
        due = _odd(stage.name())
        return await stage.trial(before + lead + message(due.name) + after, dues=[due])

    return play


async def glued(stage: Stage) -> Outcome:
    """Play many frames in one write."""
    dues = [Due(name=stage.name(), right=TAKEN, tolerable=CLOSED) for _ in range(_MANY)]
    return await stage.trial(b"".join(frame(message(due.name)) for due in dues), dues=dues)


async def two_glued(stage: Stage) -> Outcome:
    """Play two frames in one write."""
    dues = [_due(stage.name()), Due(name=stage.name(), right=TAKEN, tolerable=CLOSED)]
    return await stage.trial(b"".join(frame(message(due.name)) for due in dues), dues=dues)


async def missing_cr_between(stage: Stage) -> Outcome:
    """Play a frame whose FS is followed by the next VT."""
    first = Due(name=stage.name(), right=TAKEN, tolerable=REFUSED | PASSED | CLOSED)
    second = _odd(stage.name())
    data = VT + message(first.name) + FS + frame(message(second.name))
    return await stage.trial(data, dues=[first, second])


async def missing_cr_at_end(stage: Stage) -> Outcome:
    """Play a frame without CR behind FS, after which nothing more comes."""
    due = _odd(stage.name())
    return await stage.finished(VT + message(due.name) + FS, due)


async def missing_cr_and_silence(stage: Stage) -> Outcome:
    """Play a frame without CR behind FS, after which the sender waits."""
    due = Due(name=stage.name(), right=TAKEN, tolerable=REFUSED | CLOSED | PASSED)
    return await stage.trial(VT + message(due.name) + FS, dues=[due], within=stage.options.patience)


def _unended(end: bytes, *, size: int | None = None) -> Play:
    """Play a frame that does not end, and a whole one behind it: the first `size` bytes of a message, then `end`."""

    async def play(stage: Stage) -> Outcome:
        # Without an end the message was never sent: no answer is right, and a positive one is false.
        first = Due(name=stage.name(), right=PASSED, tolerable=REFUSED | CLOSED)
        second = _odd(stage.name())
        data = VT + message(first.name)[:size] + end + frame(message(second.name))
        return await stage.trial(data, dues=[first, second])

    return play


async def vt_inside(stage: Stage) -> Outcome:
    """Play a message with VT in its text."""
    due = _odd(stage.name())
    data = message(due.name, more=["NTE|1||before\x0bbehind"])
    return await stage.trial(frame(data), dues=[due])


async def doubled_trailer(stage: Stage) -> Outcome:
    """Play a frame that ends twice."""
    due = _due(stage.name())
    return await stage.trial(frame(message(due.name)) + FS + CR, dues=[due])


def _empty(payload: bytes) -> Play:
    async def play(stage: Stage) -> Outcome:
        due = Due(name="", right=REFUSED, tolerable=PASSED | CLOSED, is_readable=False)
        return await stage.trial(frame(payload), dues=[due])

    return play


FRAMING = (
    Kind(
        name="two-in-one-write",
        sends="two frames in one write",
        rule="two answers, in order",
        source=Source.MLLP,
        play=two_glued,
    ),
    Kind(
        name="many-in-one-write",
        sends=f"{_MANY} frames in one write",
        rule="an answer for each, in order; closing in between is tolerable",
        source=Source.MLLP,
        play=glued,
    ),
    Kind(
        name="lf-between",
        sends="LF between two frames",
        rule="both taken; a strict receiver may refuse the second or hang up, not fall silent",
        source=Source.OURS,
        play=_between(LF),
    ),
    Kind(
        name="bom-between",
        sends="a byte order mark between two frames",
        rule="both taken; a strict receiver may refuse the second or hang up",
        source=Source.OURS,
        play=_between(BOM),
    ),
    Kind(
        name="bom-first",
        sends="a byte order mark before the first frame",
        rule="taken; a strict receiver may refuse it or hang up",
        source=Source.OURS,
        play=_framed(BOM + VT, FS + CR),
    ),
    Kind(
        name="bom-inside",
        sends="a byte order mark between VT and MSH",
        rule="taken; a strict receiver may refuse it or hang up",
        source=Source.OURS,
        play=_framed(VT, FS + CR, lead=BOM),
    ),
    Kind(
        name="log-line",
        sends="a line of a log before the frame",
        rule="taken without the line; a strict receiver may hang up",
        source=Source.OURS,
        play=_framed(_LOG_LINE + VT, FS + CR),
    ),
    Kind(
        name="doubled-vt",
        sends="VT twice",
        rule="taken; a strict receiver may refuse it or hang up",
        source=Source.OURS,
        play=_framed(VT + VT, FS + CR),
    ),
    Kind(
        name="doubled-trailer",
        sends="FS CR twice",
        rule="one positive answer, and the next message is taken",
        source=Source.OURS,
        play=doubled_trailer,
    ),
    Kind(
        name="missing-cr-then-vt",
        sends="FS without CR, the next frame right behind it",
        rule="never two messages in one; the second is taken or the connection closed",
        source=Source.OURS,
        play=missing_cr_between,
    ),
    Kind(
        name="missing-cr-then-end",
        sends="FS without CR, then the end of input",
        rule="taken; a strict receiver may hang up",
        source=Source.OURS,
        play=missing_cr_at_end,
    ),
    Kind(
        name="missing-cr-then-silence",
        sends="FS without CR, then nothing",
        rule="taken after a while; a strict receiver may wait or hang up",
        source=Source.OURS,
        play=missing_cr_and_silence,
    ),
    Kind(
        name="truncated-then-new",
        sends="half a message, then a whole one in a frame of its own",
        rule="only the second is answered positively: two messages are never glued",
        source=Source.MLLP,
        play=_unended(b"", size=120),
    ),
    Kind(
        name="wrong-trailer",
        sends="a message that ends in CR FF instead of FS CR, then a whole one",
        rule="only the second is answered positively",
        source=Source.MLLP,
        play=_unended(b"\r\x0c"),
    ),
    Kind(
        name="vt-inside",
        sends="VT in a message's text",
        rule="taken whole, refused or hung up on",
        source=Source.OURS,
        play=vt_inside,
    ),
    Kind(
        name="empty-frame",
        sends="VT FS CR",
        rule="refused, or passed over; never taken",
        source=Source.OURS,
        play=_empty(b""),
    ),
    Kind(
        name="blank-frame",
        sends="a frame with line ends only",
        rule="refused, or passed over; never taken",
        source=Source.OURS,
        play=_empty(b"\r\n\r\n"),
    ),
)
