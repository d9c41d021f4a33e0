"""Frames with a batch header: each message on its own, one frame of answers, nothing half taken in silence."""

import asyncio
from pathlib import Path

import pytest

from gateway.errors import ConfigError, StoreFailed, Unavailable
from gateway.listener.options import AckOptions, ChannelOptions
from gateway.listener.server import Listener
from gateway.model.intake import Offer, Receipt, Seal
from gateway.model.policy import AckMode, BatchMode, OnUnavailable
from gateway.model.states import AnswerState
from tests.listener.stage import ADT, Clock, Ids, Notes, SmallStore, f, listening, m, msa, rows_of, scene

FHS = b"FHS|^~\\&|SNDAPP|SNDFAC|RCVAPP|RCVFAC|20260101||||F7\r"
BHS = b"BHS|^~\\&|SNDAPP|SNDFAC|RCVAPP|RCVFAC|20260101||||B7\r"


def batch(*messages: bytes, count: int | None = None) -> bytes:
    number = len(messages) if count is None else count
    return FHS + BHS + b"".join(messages) + b"BTS|%d\rFTS|1\r" % number


def codes(answer: bytes) -> list[tuple[bytes, bytes]]:
    """Give MSA-1 and MSA-2 of each answer in a batch of answers."""
    found = [line.split(b"|") for line in answer.split(b"\r") if line.startswith(b"MSA|")]
    return [(fields[1], fields[2]) for fields in found]


def names(answer: bytes) -> list[bytes]:
    return [line[:3] for line in answer.split(b"\r")[:-1] if line[:3] in (b"FHS", b"BHS", b"MSH", b"BTS", b"FTS")]


@pytest.mark.parametrize(
    ("mode", "code"), [(AckMode.COMMIT, b"AA"), (AckMode.APPLICATION, b"AA"), (AckMode.ENHANCED, b"CA")]
)
async def test_every_message_is_a_row_and_one_frame_answers_all(tmp_path: Path, mode: AckMode, code: bytes) -> None:
    async with scene(tmp_path, ChannelOptions(name=ADT, ack=AckOptions(mode=mode))) as on:
        sender = await on.sender()
        answer = await sender.ask(batch(m("A1"), m("A2")))
        assert names(answer) == [b"FHS", b"BHS", b"MSH", b"MSH", b"BTS", b"FTS"]
        assert codes(answer) == [(code, b"A1"), (code, b"A2")]
        assert b"|F7\r" in answer
        assert b"|B7\r" in answer
        assert b"BTS|2\r" in answer
        assert await on.stored() == [m("A1"), m("A2")]
        assert {row.answer_state for row in await on.rows()} == {AnswerState.NOT_OWED}
        # A bystander of an `application` channel would wait for its server.
        await on.stage.listener.stop(grace=1)


async def test_each_message_is_admitted_on_its_own(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        sender = await on.sender()
        first = await sender.ask(m("A1"))
        answer = await sender.ask(
            batch(m("A1"), m("A2"), m("A1", patient="EVA"), m(""), m("A3").replace(b"ADT^A01", b"ACK^A01"), m("A4"))
        )
        assert codes(answer) == [(b"AA", b"A1"), (b"AA", b"A2"), (b"AR", b"A1"), (b"AE", b""), (b"AA", b"A4")]
        assert first in answer
        assert b"BTS|5\r" in answer
        assert await on.stored() == [m("A1"), m("A2"), m("A4")]
        assert sorted(row.error_code or "" for row in await on.refused()) == [
            "bad-header",
            "duplicate-rejected",
            "unexpected-ack",
        ]


async def test_a_repeated_batch_gets_every_stored_answer(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        sender = await on.sender()
        first, second = await sender.ask(batch(m("A1"), m("A2"))), await sender.ask(batch(m("A1"), m("A2")))
        assert codes(first) == codes(second)
        inner = first[first.index(b"MSH") : first.index(b"BTS")]
        assert inner in second
        assert len(await rows_of(on.store)) == 2


async def test_frames_around_a_batch_keep_their_order() -> None:
    store = SmallStore()
    many = [m(f"B{number}") for number in range(150)]
    async with listening(store) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")) + f(batch(*many)) + f(m("A2")))
        first, middle, last = await sender.hear_many(3)
        assert (msa(first), msa(last)) == ((b"AA", b"A1"), (b"AA", b"A2"))
        assert codes(middle) == [(b"AA", b"B%d" % number) for number in range(150)]
    assert [offer.original for offer in store.offers] == [m("A1"), *many, m("A2")]


@pytest.mark.parametrize(
    ("accept", "application", "first", "again"),
    [
        ("AL", "AL", b"CA", b"CA"),
        ("NE", "AL", None, b"CA"),
        ("NE", "NE", None, b"CA"),
        ("ER", "NE", None, b"CA"),
        ("SU", "", b"CA", b"CA"),
        ("", "", b"AA", b"AA"),
    ],
)
async def test_msh_15_filters_the_answers_of_a_batch(
    accept: str, application: str, first: bytes | None, again: bytes
) -> None:
    store = SmallStore()
    message = m("A1", accept=accept, application=application)
    async with listening(store, ChannelOptions(name=ADT, ack=AckOptions(mode=AckMode.AUTO))) as stage:
        sender = await stage.sender()
        answer = await sender.ask(batch(message))
        assert codes(answer) == ([] if first is None else [(first, b"A1")])
        assert names(answer)[:2] == [b"FHS", b"BHS"]
        assert codes(await sender.ask(batch(message))) == [(again, b"A1")]
    assert {offer.answer for offer in store.offers} == {AnswerState.NOT_OWED}


async def test_a_collision_that_wants_no_answer_is_never_answered_positively() -> None:
    store = SmallStore()
    first, other = m("A1", accept="SU"), m("A1", accept="SU", patient="EVA")
    async with listening(store, ChannelOptions(name=ADT, ack=AckOptions(mode=AckMode.AUTO))) as stage:
        sender = await stage.sender()
        assert codes(await sender.ask(batch(first))) == [(b"CA", b"A1")]
        assert codes(await sender.ask(batch(other, m("A2", accept="SU")))) == [(b"CA", b"A2")]


async def test_a_wrong_count_is_accepted_and_noted() -> None:
    store = SmallStore()
    async with listening(store) as stage:
        sender = await stage.sender()
        assert codes(await sender.ask(batch(m("A1"), count=3))) == [(b"AA", b"A1")]
        assert [note["kind"] for note in stage.notes.anomalies] == ["batch-miscounted"]
        await sender.ask(batch(m("A2")))
        assert len(stage.notes.anomalies) == 1


async def test_a_channel_may_take_no_batches() -> None:
    store = SmallStore()
    async with listening(store, ChannelOptions(name=ADT, batch=BatchMode.REJECT)) as stage:
        sender = await stage.sender()
        answer = await sender.ask(batch(m("A1")))
        assert msa(answer) == (b"AR", b"F7")
        assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")
    assert [refusal.error_code.value for refusal in store.refusals] == ["not-allowed"]


@pytest.mark.parametrize(
    ("trouble", "audited"), [(Unavailable(reason="full"), 2), (StoreFailed(reason="io"), 0), (KeyError("defect"), 0)]
)
async def test_trouble_is_answered_for_each_message(trouble: Exception, audited: int) -> None:
    store = SmallStore(trouble=trouble)
    async with listening(store) as stage:
        sender = await stage.sender()
        assert codes(await sender.ask(batch(m("A1"), m("A2")))) == [(b"AR", b"A1"), (b"AR", b"A2")]
    assert len(store.refusals) == audited


async def test_a_store_that_refuses_at_the_call_or_cancels_is_answered() -> None:
    class Odd(SmallStore):
        def accept(self, offer: Offer, seal: Seal) -> "asyncio.Future[Receipt]":
            if offer.control_id == b"A1":
                raise Unavailable(reason="stopping")
            done: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
            done.cancel()
            return done

    async with listening(Odd()) as stage:
        sender = await stage.sender()
        assert codes(await sender.ask(batch(m("A1"), m("A2")))) == [(b"AR", b"A1"), (b"AR", b"A2")]


async def test_trouble_may_close_the_connection_without_an_answer() -> None:
    store = SmallStore(trouble=Unavailable(reason="full"))
    options = ChannelOptions(name=ADT, ack=AckOptions(unavailable=OnUnavailable.CLOSE))
    async with listening(store, options) as stage:
        sender = await stage.sender()
        sender.say(f(batch(m("A1"))))
        assert await sender.rest() == b""
        sender.close()


async def test_a_defect_while_a_batch_is_admitted_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> object:
        raise KeyError("a defect")

    monkeypatch.setattr("gateway.listener.answers.build_batch", broken)
    async with listening(SmallStore()) as stage:
        sender = await stage.sender()
        assert msa(await sender.ask(batch(m("A1")))) == (b"AR", b"")


def test_whole_batches_are_not_built_and_refused_at_the_start() -> None:
    options = ChannelOptions(name=ADT, batch=BatchMode.WHOLE)
    with pytest.raises(ConfigError, match="whole"):
        Listener(options, store=SmallStore(), observer=Notes(), clock=Clock(), new_id=Ids())
