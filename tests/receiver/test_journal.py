import asyncio
import errno
import json
import os
import threading
from pathlib import Path

import pytest

from gateway.errors import OperatorError
from gateway.receiver.values import Reply
from tests.receiver.client import ALL, callback, dialled, hl7, lines, text_of, write
from tests.receiver.conftest import Start


class Disk:
    """The disk's sync, held back until let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._really = os.fdatasync
        self._free = threading.Event()
        self.syncs = 0
        monkeypatch.setattr(os, "fdatasync", self._sync)

    def _sync(self, descriptor: int) -> None:
        self.syncs += 1
        assert self._free.wait(20)
        self._really(descriptor)

    def let_go(self) -> None:
        self._free.set()


async def test_nothing_is_said_before_the_line_is_synced(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = await start()
    disk = Disk(monkeypatch)
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.transmit(callback(1), hl7("MSG1"))
        # The heartbeat behind the message is answered first: neither receipt nor answer went out before the sync.
        assert (await client.beat())["type"] == "agent:heartbeat:response"
        assert receiver.taken == ()
        disk.let_go()
        assert (await client.hear())["type"] == "gateway:receipt"
        assert (await client.hear())["type"] == "agent:transmit:response"


async def test_an_outcome_is_synced_before_it_is_told(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = await start(take=lambda _: Reply(status=200))
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.transmit(callback(1), hl7("MSG1"))
        assert (await client.hear())["type"] == "gateway:receipt"
        assert (await client.hear())["statusCode"] == 200
        disk = Disk(monkeypatch)
        disk.let_go()
        await client.exchange(callback(2), hl7("MSG2"))
        assert disk.syncs == 2


async def test_waiting_messages_share_one_sync(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = await start()
    disk = Disk(monkeypatch)
    async with dialled(receiver.url) as client:
        for row in range(20):
            await client.transmit(callback(row), hl7(f"M{row}"))
        await client.beat()
        disk.let_go()
        await receiver.wait_taken(20)
    assert disk.syncs <= 2


async def test_a_disk_that_fails_makes_nothing_positive_any_more(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = await start()

    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fail)
    async with dialled(receiver.url, extensions=ALL) as client:
        heard = await client.exchange(callback(1), hl7("MSG1"))
        assert (heard["type"], heard["callback"]) == ("agent:error", callback(1))
        monkeypatch.undo()
        # The disk is well again, but nobody knows what of the lost group is on it.
        assert (await client.exchange(callback(2), hl7("MSG2")))["type"] == "agent:error"
    assert receiver.taken == ()


async def test_an_outcome_that_cannot_be_kept_is_not_told(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def take(_: object) -> Reply:
        monkeypatch.setattr(os, "fdatasync", fail)
        return Reply(status=200)

    receiver = await start(take=take)
    async with dialled(receiver.url, extensions=ALL) as client:
        assert (await client.exchange(callback(1), hl7("MSG1")))["type"] == "agent:error"


async def test_a_restart_gives_the_same_stored_answer(start: Start) -> None:
    first = await start()
    async with dialled(first.url, extensions=ALL) as client:
        before = await client.exchange(callback(1), hl7("MSG1"))
    await first.stop()
    second = await start(script={"*": {"ack": "AR"}})
    async with dialled(second.url, extensions=ALL) as client:
        after = await client.exchange(callback(1, send=2), hl7("MSG1"))
    assert after["body"] == before["body"]


async def test_a_restart_knows_the_last_outcome_of_a_row_that_ran_twice(start: Start, journal: Path) -> None:
    replies = [Reply(status=400), Reply(status=201)]
    first = await start(take=lambda _: replies.pop(0))
    async with dialled(first.url, extensions=ALL) as client:
        for send in (1, 2):
            await client.exchange(callback(1, send=send), hl7("MSG1"))
    await first.stop()
    second = await start(take=lambda _: Reply(status=500))
    async with dialled(second.url, extensions=ALL) as client:
        assert (await client.exchange(callback(1, send=3), hl7("MSG1")))["statusCode"] == 201


async def test_a_message_taken_but_not_run_is_run_at_the_next_start(start: Start) -> None:
    first = await start(script={"MSG1": {"delay": 3600}})
    async with dialled(first.url, extensions=ALL) as client:
        await client.transmit(callback(1), hl7("MSG1"))
        await first.wait_taken(1)
    await first.stop()
    seen: list[str] = []

    def take(taken: object) -> Reply:
        seen.append(str(taken.callback))  # type: ignore[attr-defined]  # a Taken; the test only reads its callback
        return Reply(status=201)

    second = await start(take=take)
    await second.until(lambda: bool(seen))
    async with dialled(second.url, extensions=ALL) as client:
        assert (await client.exchange(callback(1, send=2), hl7("MSG1")))["statusCode"] == 201
    assert seen == [callback(1)]


@pytest.mark.parametrize("torn", ["{", '{"callback": "x#1", "body": "half', "\x00\x00\x00"])
async def test_a_line_torn_by_a_crash_is_dropped(start: Start, journal: Path, torn: str) -> None:
    first = await start()
    async with dialled(first.url, extensions=ALL) as client:
        await client.exchange(callback(1), hl7("MSG1"))
    await first.stop()
    whole = text_of(journal)
    write(journal, whole + torn)
    second = await start()
    assert text_of(journal) == whole
    async with dialled(second.url, extensions=ALL) as client:
        await client.exchange(callback(1, send=2), hl7("MSG1"))
    assert [line["repeat"] for line in lines(journal)] == [False, True]


async def test_a_torn_line_longer_than_a_block_is_dropped_whole(start: Start, journal: Path) -> None:
    first = await start()
    async with dialled(first.url, extensions=ALL) as client:
        await client.exchange(callback(1), hl7("MSG1"))
    await first.stop()
    whole = text_of(journal)
    write(journal, whole + "x" * 200_000)
    await start()
    assert text_of(journal) == whole


async def test_a_file_of_nothing_but_a_torn_line_is_emptied(start: Start, journal: Path) -> None:
    write(journal, "x" * 70_000)
    await start()
    assert text_of(journal) == ""


@pytest.mark.parametrize("line", ["no json", "[]", "3", "{}", '{"callback": 1}'])
async def test_a_file_that_is_no_journal_is_left_alone(start: Start, journal: Path, line: str) -> None:
    write(journal, line + "\n")
    with pytest.raises(OperatorError, match="line 1"):
        await start()
    assert text_of(journal) == line + "\n"


async def test_a_journal_in_use_is_refused(start: Start) -> None:
    await start()
    with pytest.raises(OperatorError, match="journal"):
        await start()


async def test_a_journal_that_cannot_be_opened_is_refused(start: Start, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="No such file"):
        await start(journal=tmp_path / "nowhere" / "x")


async def test_a_receiver_without_a_journal_keeps_outcomes_while_it_lives(start: Start) -> None:
    receiver = await start(journal=None)
    async with dialled(receiver.url, extensions=ALL) as client:
        first = await client.exchange(callback(1), hl7("MSG1"))
        assert (await client.exchange(callback(1, send=2), hl7("MSG1")))["body"] == first["body"]


async def test_a_killed_receiver_has_every_message_it_answered(journal: Path) -> None:
    answered: set[str] = set()
    for cycle in range(3):
        child = await asyncio.create_subprocess_exec(
            *_command(journal), stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
        )
        assert child.stdout is not None
        url = (await child.stdout.readline()).decode().strip()
        async with dialled(url) as client:
            for row in range(40):
                await client.transmit(callback(100 * cycle + row), hl7(f"M{row}"))
            for _ in range(15):
                answered.add((await client.hear())["callback"])
            child.kill()
            await child.wait()
    lines = text_of(journal).encode().splitlines()
    kept = {json.loads(line)["callback"] for line in lines[:-1]} | {_callback_of(lines[-1])}
    assert answered <= kept
    assert len(answered) == 45


def _command(journal: Path) -> list[str]:
    import sys

    code = (
        "import asyncio, sys, pathlib\n"
        "from gateway.receiver.options import ReceiverOptions\n"
        "from gateway.receiver.server import Receiver\n"
        "async def main():\n"
        "    receiver = Receiver(ReceiverOptions(journal=pathlib.Path(sys.argv[1])))\n"
        "    await receiver.start()\n"
        "    print(receiver.url, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    return [sys.executable, "-c", code, str(journal)]


def _callback_of(line: bytes) -> str | None:
    try:
        return str(json.loads(line)["callback"])
    except json.JSONDecodeError:
        return None  # torn by the kill, so never answered
