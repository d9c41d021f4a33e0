"""Many connections, random cuts, random commits, random trouble: whatever happens, each frame has its one answer."""

import asyncio
from dataclasses import dataclass
from random import Random

import pytest

from gateway.errors import Unavailable
from gateway.listener.options import ChannelOptions
from tests.listener.stage import ADT, Sender, SmallStore, f, listening, m, msa


@dataclass(frozen=True)
class Said:
    """Bytes on the wire, and MSA-2 of the answer they must get (None: no answer)."""

    data: bytes
    answered: bytes | None


class Moody(SmallStore):
    """Commits in groups of random size, now and then fails one message with temporary trouble."""

    def __init__(self, dice: Random) -> None:
        super().__init__(is_held=True)
        self.dice = dice
        self.told = self._plan
        self._planned = False

    def _plan(self) -> None:
        if not self._planned:
            self._planned = True
            asyncio.get_running_loop().call_later(self.dice.random() / 500, self._commit)

    def _commit(self) -> None:
        self._planned = False
        for _ in range(self.dice.randint(1, len(self.waiting) or 1)):
            self.trouble = Unavailable(reason="busy") if self.dice.random() < 0.1 else None
            self.release(min(1, len(self.waiting)))
        if self.waiting:
            self._plan()


def script(dice: Random, connection: int) -> list[Said]:
    said: list[Said] = []
    for number in range(40):
        name = f"C{connection}N{number}".encode()
        match dice.randrange(9):
            case 0:
                said.append(Said(f(b"no header"), b""))
            case 1:
                said.append(Said(f(m(name).replace(b"ADT^A01", b"ACK^A01")), None))
            case 2:
                said.append(Said(b"\n\x00 noise", None))
            case 3:
                said.append(Said(b"\x0b" + m(name), None))
                said.append(Said(f(m(name + b"b")), name + b"b"))
            case 4:
                said.append(Said(f(m(name)) + f(m(name)), name))
                said.append(Said(b"", name))
            case 5:
                said.append(Said(f(m(name) + b"OBX|1|TX|||" + b"A" * dice.choice([10, 5_000, 300_000])), name))
            case _:
                said.append(Said(f(m(name)), name))
    return said


async def speak(sender: Sender, data: bytes, dice: Random) -> None:
    at = 0
    while at < len(data):
        size = dice.choice([1, 7, 60, 1_400, 9_000])
        sender.say(data[at : at + size])
        await sender.writer.drain()
        at += size


@pytest.mark.parametrize("seed", range(12))
async def test_every_frame_has_its_one_answer_and_every_yes_its_row(seed: int) -> None:
    dice = Random(seed)
    store = Moody(dice)
    scripts = [script(dice, connection) for connection in range(5)]
    options = ChannelOptions(name=ADT, max_pipelined=dice.choice([1, 3, 64]))
    async with listening(store, options) as stage:
        senders = [await stage.sender() for _ in scripts]
        speeches = [
            speak(sender, b"".join(said.data for said in each), dice)
            for sender, each in zip(senders, scripts, strict=True)
        ]

        async def listen(sender: Sender, count: int) -> list[bytes]:
            return await sender.hear_many(count)

        expected = [[said.answered for said in each if said.answered is not None] for each in scripts]
        heard = [listen(sender, len(wanted)) for sender, wanted in zip(senders, expected, strict=True)]
        results = await asyncio.gather(*heard, *speeches)
        assert [await sender.finish() for sender in senders] == [[]] * 5
    stored = {bytes(kept.offer.control_id) for kept in store.rows.values()}
    said_yes: set[bytes] = set()
    for answers, wanted in zip(results, expected, strict=False):
        assert answers is not None
        codes = [msa(answer) for answer in answers]
        assert [name for _, name in codes] == wanted
        said_yes |= {name for code, name in codes if code == b"AA"}
        order = [name for name in wanted if name]
        kept = [bytes(offer.control_id) for offer in store.offers if bytes(offer.control_id) in order]
        assert kept == order
    assert said_yes == stored
