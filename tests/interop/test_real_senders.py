from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from fixtures.make import by_name
from fixtures.shape import Fixture
from tests.interop.senders import SENDERS, Read, Sender, require
from tests.interop.stack import Stack, running
from tests.interop.tap import Tap, unwrapped
from tests.sender.listening import Listening

pytestmark = pytest.mark.interop

MESSAGES = tuple(by_name(name) for name in ("adt-a01", "charset-utf8-right", "control-id-199", "obx-20kb"))
POSITIVE = [Read("AA", fixture.control_id.decode()) for fixture in MESSAGES]


def written(folder: Path, fixtures: tuple[Fixture, ...]) -> list[Path]:
    files = [folder / fixture.file_name for fixture in fixtures]
    for file, fixture in zip(files, fixtures, strict=True):
        file.write_bytes(fixture.payload)
    return files


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("stack"), tuple(sender.name for sender in SENDERS)) as started:
        yield started


@pytest.mark.parametrize("sender", SENDERS, ids=lambda sender: sender.name)
async def test_a_sender_reads_a_yes_for_each_message_and_the_stored_bytes_are_those_of_the_wire(
    sender: Sender, stack: Stack, tmp_path: Path
) -> None:
    require(sender)
    async with Tap(*stack.channels[sender.name]) as tap:
        read = await sender.send("127.0.0.1", tap.port, written(tmp_path, MESSAGES))
    assert read == POSITIVE
    assert len(tap.payloads) == len(tap.answers) == len(MESSAGES)
    rows = stack.rows(sender.name)
    assert [stack.stored(row) for row in rows] == tap.payloads
    assert [row.sha256 for row in rows] == [sha256(payload).hexdigest() for payload in tap.payloads]
    assert [row.control_id for row in rows] == [fixture.control_id.decode() for fixture in MESSAGES]


@pytest.mark.parametrize("sender", SENDERS, ids=lambda sender: sender.name)
async def test_a_sender_that_says_everything_again_gets_the_same_answers_and_makes_no_row(
    sender: Sender, stack: Stack, tmp_path: Path
) -> None:
    require(sender)
    files = written(tmp_path, MESSAGES)
    async with Tap(*stack.channels[sender.name]) as first:
        await sender.send("127.0.0.1", first.port, files)
    before = stack.rows(sender.name)
    async with Tap(*stack.channels[sender.name]) as second:
        assert await sender.send("127.0.0.1", second.port, files) == POSITIVE
    assert second.payloads == first.payloads
    assert second.answers == first.answers
    assert [row.id for row in stack.rows(sender.name)] == [row.id for row in before]


@pytest.mark.parametrize("sender", SENDERS, ids=lambda sender: sender.name)
async def test_the_sender_itself_works_against_a_listener_that_is_not_ours(sender: Sender, tmp_path: Path) -> None:
    require(sender)
    async with Listening() as listening, Tap("127.0.0.1", listening.port) as tap:
        read = await sender.send("127.0.0.1", tap.port, written(tmp_path, MESSAGES))
    assert read == POSITIVE
    assert tap.payloads == listening.payloads


def test_the_tap_refuses_bytes_outside_frames() -> None:
    assert unwrapped(b"\x0bA\x1c\r\n\x0bB\x1c\r") == [b"A", b"B"]
    for stream in (b"\x0bA\x1c\rx", b"x\x0bA\x1c\r", b"\x0bA"):
        with pytest.raises(AssertionError):
            unwrapped(stream)


def test_a_missing_tool_is_skipped_loudly_and_fails_where_nothing_may_be_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    absent = Sender("absent", lambda: "no such tool", SENDERS[0].send)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="absent NOT TESTED: no such tool"):
        require(absent)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="absent: no such tool"):
        require(absent)
    present = Sender("present", lambda: None, SENDERS[0].send)
    require(present)
