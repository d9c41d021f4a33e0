"""Every mode, MSH-15, MSH-16 and kind of copy, against a small table of what chapter 2 and the channel say."""

import asyncio
from dataclasses import dataclass
from itertools import product

import pytest

from gateway.listener.options import AckOptions, ChannelOptions
from gateway.model.ids import RowId
from gateway.model.policy import AckMode
from gateway.model.states import AnswerState
from tests.listener.stage import ADT, SmallStore, Stage, f, listening, m, msa

FIRST, REPEAT, LATE_REPEAT, OTHER = "first", "repeat", "repeat after the application answered", "other bytes"
VALUES = ("", "AL", "NE", "ER", "SU", "XX")
ADMITS = {"AL": "+-", "NE": "", "ER": "-", "SU": "+", "XX": "+-"}
"""Table 0155; a value outside it counts as AL."""

SIGN = {"AA": "+", "CA": "+", "AE": "-", "AR": "-", "CE": "-", "CR": "-"}


@dataclass(frozen=True)
class Level:
    """Who answers: our codes for yes and for a collision, their filter, the server's filter, and whether it is one
    answer (the server's) or ours and then the server's.
    """

    yes: str
    collision: str
    ours: str
    servers: str
    is_one: bool = False


def level(mode: AckMode, accept: str, application: str) -> Level:
    if mode is AckMode.COMMIT or (mode is AckMode.AUTO and not accept and not application):
        return Level("AA", "AR", "+-", "")
    if mode is AckMode.APPLICATION:
        return Level("", "AR", "+-", "+-", is_one=True)
    if mode is AckMode.ENHANCED:
        return Level("CA", "CE", "+-", ADMITS[application or "AL"])
    ours, servers = ADMITS[accept or "NE"], ADMITS[application or "NE"]
    if not ours and servers:
        return Level("", "AR", servers, servers, is_one=True)
    return Level("CA", "CE", ours, servers)


def expected(mode: AckMode, accept: str, application: str, copy: str, body: str) -> list[str]:
    rule = level(mode, accept, application)
    server = [body] if SIGN[body] in rule.servers else []
    collision = [rule.collision] if "-" in rule.ours and copy == OTHER else []
    if rule.is_one:
        return {
            FIRST: server,
            REPEAT: server * 2,
            LATE_REPEAT: server * 2,
            OTHER: server + collision,
        }[copy]
    first = [rule.yes] if "+" in rule.ours else []
    return {
        FIRST: first + server,
        # Our answer to a retransmit is never filtered; the server's goes once, to the latest copy.
        REPEAT: [*first, rule.yes, *server],
        LATE_REPEAT: first + server + [rule.yes] + server,
        OTHER: first + collision + server,
    }[copy]


async def converse(stage: Stage, store: SmallStore, message: bytes, copy: str, body: str, *, waits: bool) -> list[str]:
    """Play one case on its own connection and give the codes heard."""
    sender = await stage.sender()
    before = len(store.offers)
    changed = asyncio.Event()
    store.told = changed.set
    row = RowId(len(store.rows) + len(store.refusals) + store.collisions + 1)

    async def until_offered(count: int) -> None:
        async with asyncio.timeout(10):
            while len(store.offers) < before + count:
                changed.clear()
                await changed.wait()

    async def until_recorded(count: int) -> None:
        async with asyncio.timeout(10):
            while sum(found == row for found, _ in store.recorded) < count:
                changed.clear()
                await changed.wait()

    def settle() -> None:
        store.settle(row, message.replace(b"ADT^A01^ADT_A01", b"ACK") + f"MSA|{body}|X\r".encode())

    second = {FIRST: b"", OTHER: f(message.replace(b"ANNA", b"EVA"))}.get(copy, f(message))
    is_owed = store.is_owed
    sender.say(f(message))
    await until_offered(1)
    owed = is_owed(row)
    if copy == LATE_REPEAT:
        settle()
        await until_recorded(1 if owed else 0)
    sender.say(second)
    await until_offered(2 if second else 1)
    if copy != LATE_REPEAT:
        settle()
    again = 2 if owed and (copy == LATE_REPEAT or (waits and copy == REPEAT)) else int(owed)
    await until_recorded(again)
    return [msa(answer)[0].decode() for answer in await sender.finish()]


@pytest.mark.parametrize("copy", [FIRST, REPEAT, LATE_REPEAT, OTHER])
@pytest.mark.parametrize("mode", list(AckMode))
async def test_every_answer_is_the_one_the_table_says(mode: AckMode, copy: str) -> None:
    store = SmallStore()
    options = ChannelOptions(name=ADT, ack=AckOptions(mode=mode))
    heard: dict[tuple[str, str, str], list[str]] = {}
    wanted: dict[tuple[str, str, str], list[str]] = {}
    async with listening(store, options) as stage:
        for accept, application, body in product(VALUES, VALUES, ("AA", "AE", "AR")):
            name = f"{accept}-{application}-{body}"
            message = m(name, accept=accept, application=application)
            waits = level(mode, accept, application).is_one
            heard[accept, application, body] = await converse(stage, store, message, copy, body, waits=waits)
            wanted[accept, application, body] = expected(mode, accept, application, copy, body)
    assert heard == wanted
    assert {state for _, state in store.recorded} <= {AnswerState.DELIVERED, AnswerState.NOT_OWED}
    assert len(store.rows) == 108


async def test_an_unknown_condition_is_flagged_on_the_row() -> None:
    store = SmallStore()
    async with listening(store, ChannelOptions(name=ADT, ack=AckOptions(mode=AckMode.AUTO))) as stage:
        sender = await stage.sender()
        assert msa(await sender.ask(m("A1", accept="XX", application="NE"))) == (b"CA", b"A1")
        assert msa(await sender.ask(m("A2", accept="AL", application="NE"))) == (b"CA", b"A2")
    assert [offer.flags for offer in store.offers] == [("unknown-ack-condition",), ()]
