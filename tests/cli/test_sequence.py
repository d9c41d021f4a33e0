"""`sequence show|set|reset` beside an open gateway: what a person sees, what is recorded, what is refused."""

import json
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from gateway.model.ids import ControlId
from gateway.model.intake import Admission, Offer
from gateway.model.policy import OnCollision
from gateway.model.states import AnswerState
from tests.cli.test_commands import Terminal
from tests.cli.test_commands import terminal as terminal  # the fixture  # noqa: PLC0414
from tests.console.shop import ADT, Hands, Shop, opened

LAB, WARD = "LAB|WEST", "WARD|EAST"


@pytest.fixture
async def shop(folder: Path) -> AsyncIterator[Shop]:
    async with opened(folder / "var" / "queue.db", Hands()) as found:
        yield found


async def say(shop: Shop, sender: str, number: int) -> Admission:
    """Take a numbered message as a listener does."""
    original = f"MSH|^~\\&|{sender}|{number}".encode()
    digest = sha256(original).digest()
    offer = Offer(
        channel=ADT,
        control_id=ControlId(b"A1"),
        key=digest[:16],
        original=original,
        sha256=digest,
        message_type="ADT^A01",
        sender=sender,
        version="2.5.1",
        inbound_sequence=str(number),
        declared_charset="",
        encoding="utf-8",
        flags=(),
        partition="",
        barrier=False,
        stamped=False,
        answer=AnswerState.NOT_OWED,
        on_collision=OnCollision.REJECT,
        remote="127.0.0.1:1",
        received_at=shop.clock().wall,
        in_sequence=True,
    )
    return (await shop.store.intake.accept(offer, lambda *_: b"MSA")).admission


async def recorded(terminal: Terminal) -> list[str]:
    return [each["reason"] for each in await terminal.lines("events") if each["kind"] == "sequence-set"]


async def test_show_lists_the_channels_own_number_and_every_sender_s(shop: Shop, terminal: Terminal) -> None:
    assert await terminal.lines("sequence", "show", "adt") == []
    await shop.accept("S1")
    await say(shop, WARD, 9)
    await say(shop, LAB, 41)
    assert await terminal.lines("sequence", "show", "adt") == [
        {"sender": None, "last": 1, "next": 2},
        {"sender": LAB, "last": 41, "next": 42},
        {"sender": WARD, "last": 9, "next": 10},
    ]
    shown = (await terminal("sequence", "show", "adt")).stdout
    assert [line.split()[-1] for line in shown.splitlines()] == ["LAST", "1", "41", "9"]
    assert "LAB|WEST" in shown
    await terminal("sequence", "show", "nonsense", code=1)


async def test_set_changes_what_is_expected_and_is_recorded_with_who_and_why(shop: Shop, terminal: Terminal) -> None:
    await say(shop, LAB, 1)
    told = await terminal("sequence", "set", "adt", 41, "--sender", LAB, "--reason", "agreed by phone")
    assert told.stdout == "channel adt, sender LAB|WEST: 42 is expected next\n"
    assert await say(shop, LAB, 2) is Admission.GAP
    assert await say(shop, LAB, 42) is Admission.NEW
    assert await recorded(terminal) == ["LAB|WEST: 1 -> 41: agreed by phone"]
    (event,) = [each for each in await terminal.lines("events") if each["kind"] == "sequence-set"]
    assert event["actor"] not in ("", "system")


async def test_reset_forgets_the_number(shop: Shop, terminal: Terminal) -> None:
    await say(shop, LAB, 7)
    result = await terminal("sequence", "reset", "adt", "--sender", LAB, "--reason", "replaced", "--json")
    assert json.loads(result.stdout) == {"channel": "adt", "sender": LAB, "before": 7, "last": None, "next": -1}
    assert await terminal.lines("sequence", "show", "adt") == []
    assert await say(shop, LAB, 3) is Admission.NEW
    told = await terminal("sequence", "reset", "adt", "--reason", "once more")
    assert told.stdout.endswith("any positive number is expected next\n")
    assert await recorded(terminal) == ["LAB|WEST: 7 -> none: replaced", "LAB|WEST: 3 -> none: once more"]


async def test_the_sender_must_be_named_unless_there_is_just_one(shop: Shop, terminal: Terminal) -> None:
    words = ("sequence", "set", "adt", 5, "--reason", "x")
    assert "no sender has a number" in (await terminal(*words, code=1)).stderr
    await shop.accept("S1")
    assert "no sender has a number" in (await terminal(*words, code=1)).stderr, "a stamped number is nobody's"
    await say(shop, LAB, 1)
    await terminal(*words)
    await say(shop, WARD, 1)
    assert "2 senders have a number" in (await terminal(*words, code=1)).stderr
    assert await recorded(terminal) == ["LAB|WEST: 1 -> 5: x"]


@pytest.mark.parametrize("name", ["", "LAB", "A|B|C", "LAB\\|WEST"])
async def test_a_name_that_no_message_can_have_is_refused(shop: Shop, terminal: Terminal, name: str) -> None:
    result = await terminal("sequence", "set", "adt", 5, "--sender", name, "--reason", "x", code=1)
    assert "one | between them" in result.stderr
    assert await recorded(terminal) == []


@pytest.mark.parametrize(
    "words", [("set", "adt", "5"), ("set", "adt", "-1", "--reason", "x"), ("reset", "adt", "--reason", " ")]
)
async def test_a_change_without_a_reason_or_a_number_that_cannot_be_is_a_wrong_call(
    shop: Shop, terminal: Terminal, words: tuple[str, ...]
) -> None:
    await say(shop, LAB, 1)
    await terminal("sequence", *words, code=2)
    assert await recorded(terminal) == []
