"""Kinds about the bytes of a message in a faultless frame: its line ends, separators, charset and size."""

from collections.abc import Callable

from gateway.sender.torture.judge import Due, judge
from gateway.sender.torture.letters import END, VT, frame, header, message
from gateway.sender.torture.stage import CLOSED, REFUSED, TAKEN, Stage
from gateway.sender.torture.values import Fate, Kind, Outcome, Play, Source

_MIB = 1 << 20
_FILLING = b"TORTURE " * (1 << 13)


def _written(write: Callable[[str], bytes], *, right: frozenset[Fate], tolerable: frozenset[Fate]) -> Play:
    """Play one message in a faultless frame."""

    async def play(stage: Stage) -> Outcome:
        due = Due(name=stage.name(), right=right, tolerable=tolerable)
        return await stage.trial(frame(write(due.name)), dues=[due])

    return play


def _unended(name: str) -> bytes:
    return message(name).removesuffix(b"\r")


def _separated(name: str) -> bytes:
    return message(name).translate(bytes.maketrans(b"|^\\&", b"#*!$"))


def _mislabelled(name: str) -> bytes:
    return message(name, charset="UNICODE UTF-8", more=["NTE|1||caf?"]).replace(b"?", b"\xe9")


def _uncarriable(name: str) -> bytes:
    return message(name, charset="UNICODE UTF-16")


def _trailing(name: str) -> bytes:
    """Give a message whose MSH-3 holds characters with a second byte that looks like MSH-1."""
    lines = (header(name, charset="Shift_JIS", sender="TORTURE\u30dd\u30bf"), "EVN|A01|20260101120000", "PV1|1|O")
    return "".join(f"{line}\r" for line in lines).encode("shift_jis")


async def oversize(stage: Stage) -> Outcome:
    """Play a message longer than any."""
    due = Due(name=stage.name(), right=REFUSED | CLOSED, tolerable=TAKEN, is_readable=False)
    head = message(due.name) + b"OBX|1|TX|TORTURE^TORTURE||"
    rest = stage.options.oversize - len(head)
    async with stage.peer() as peer:
        went = await stage.say(peer, VT + head)
        while went and rest > 0:
            piece = _FILLING[:rest]
            rest -= len(piece)
            went = await stage.say(peer, piece)
        if went:
            await stage.say(peer, b"\r" + END)
        answers = await stage.listen(peer, [due], within=stage.options.patience)
        outcome = judge([due], answers, peer.ended, has_half=peer.has_half)
    if not any(answer.positive for answer in answers):
        return outcome
    note = f"takes {stage.options.oversize / _MIB:.1f} MiB: only a longer one finds its limit"
    return Outcome(mark=outcome.mark, saw=outcome.saw, note=note)


CONTENT = (
    Kind(
        name="lf-ends",
        sends="a message whose segments end in LF",
        rule="taken; refusing it is tolerable",
        source=Source.OURS,
        play=_written(lambda name: message(name, end="\n"), right=TAKEN, tolerable=REFUSED),
    ),
    Kind(
        name="crlf-ends",
        sends="a message whose segments end in CR LF",
        rule="taken; refusing it is tolerable",
        source=Source.OURS,
        play=_written(lambda name: message(name, end="\r\n"), right=TAKEN, tolerable=REFUSED),
    ),
    Kind(
        name="no-last-cr",
        sends="a message whose last segment has no end",
        rule="taken; refusing it is tolerable",
        source=Source.OURS,
        play=_written(_unended, right=TAKEN, tolerable=REFUSED),
    ),
    Kind(
        name="other-separators",
        sends="a message with # * ~ ! $ in MSH-1 and MSH-2",
        rule="taken; refusing it is tolerable",
        source=Source.ENCODING,
        play=_written(_separated, right=TAKEN, tolerable=REFUSED),
    ),
    Kind(
        name="wrong-charset",
        sends="bytes of 8859/1, MSH-18 says UTF-8",
        rule="answered, whether taken or refused",
        source=Source.CHARSET,
        play=_written(_mislabelled, right=TAKEN | REFUSED, tolerable=frozenset()),
    ),
    Kind(
        name="trail-bytes",
        sends="Shift_JIS whose second bytes look like separators, in MSH-3",
        rule="answered under the right MSH-10; refusing it is tolerable",
        source=Source.CHARSET,
        play=_written(_trailing, right=TAKEN, tolerable=REFUSED),
    ),
    Kind(
        name="utf-16",
        sends="MSH-18 says UTF-16, which MLLP cannot carry",
        rule="refused; taking it is tolerable",
        source=Source.OURS,
        play=_written(_uncarriable, right=REFUSED, tolerable=TAKEN),
    ),
    Kind(
        name="oversize",
        sends="a message of many MiB",
        rule="refused or hung up on at the receiver's limit; taking it is tolerable",
        source=Source.OURS,
        play=oversize,
    ),
)
