"""Limits of the port, with TLS and without: connections, handshakes, slow peers, and memory."""

import asyncio
import gc
import os
import socket
from asyncio import sslproto
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import pytest

from gateway.listener import tls_buffers
from gateway.listener.door import Guest, origin_of
from gateway.listener.options import AckOptions, ChannelOptions, Patience, TlsOptions
from gateway.listener.premises import OVERFLOW, SMALL, Premises
from gateway.listener.server import Listener
from gateway.listener.session import Session
from gateway.model.ids import ChannelName
from gateway.model.policy import AckMode
from tests.listener.papers import Papers, channel, dial_tls
from tests.listener.stage import (
    ADT,
    Clock,
    Ids,
    LoopTime,
    Notes,
    Sender,
    SmallStore,
    Stage,
    dial,
    f,
    listening,
    m,
    msa,
)

KIB = 1 << 10


async def one_more(stage: Stage, source: str = "127.0.0.1") -> Sender:
    """Connect in plain TCP, whatever the port speaks, and say nothing."""
    sender = Sender(*await asyncio.open_connection(*stage.listener.address, local_addr=(source, 0)))
    stage.senders.append(sender)
    return sender


async def until_inside(stage: Stage, count: int) -> None:
    """Wait until so many connections are counted; each turn of the loop takes in what has come."""
    async with asyncio.timeout(10):
        while stage.listener.connections != count:
            await asyncio.to_thread(lambda: None)


async def inside(stage: Stage, count: int) -> list[Guest]:
    """Give the connections, once so many have begun their session."""
    await stage.notes.until(lambda: len(stage.notes.named("connected")) == count)
    return list(stage.listener._door._guests)


async def turned_away(stage: Stage, sender: Sender) -> object:
    assert await sender.rest() == b""
    return stage.notes.named("turned-away")[-1]["reason"]


async def test_a_handshake_that_is_not_made_is_given_up(papers: Papers) -> None:
    tls = replace(papers.tls(), handshake_timeout=7.0)
    async with listening(SmallStore(), channel(tls)) as stage:
        time = LoopTime()
        silent, halfway = await one_more(stage), await one_more(stage)
        halfway.say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        # Whose handshake is over came after the others, so theirs have begun.
        honest = await dial_tls(stage, papers.client())
        time.move(6)
        await honest.ask(m("A1"))
        assert stage.listener.connections == 3
        assert stage.notes.named("tls-failed") == []
        time.move(2)
        assert await silent.rest() == await halfway.rest() == b""
        await stage.notes.until(lambda: len(stage.notes.named("tls-failed")) == 2)
        assert {note["reason"] for note in stage.notes.named("tls-failed")} == {"timeout"}
        assert stage.listener.connections == 1


async def test_a_peer_that_leaves_in_the_middle_of_its_handshake_leaves_nothing_behind(papers: Papers) -> None:
    async with listening(SmallStore(), channel(papers.tls())) as stage:
        (await one_more(stage)).close()
        (await one_more(stage)).cut()
        await stage.notes.until(lambda: len(stage.notes.named("tls-failed")) == 2)
        assert {note["reason"] for note in stage.notes.named("tls-failed")} == {"closed"}
        await until_inside(stage, 0)


async def test_a_stop_does_not_wait_for_handshakes(papers: Papers) -> None:
    async with listening(SmallStore(), channel(papers.tls())) as stage:
        sender = await one_more(stage)
        await until_inside(stage, 1)
        await stage.listener.stop(grace=60)
        assert await sender.rest() == b""
        assert stage.listener.connections == 0


async def test_connections_count_before_they_have_shaken_hands(papers: Papers) -> None:
    options = replace(channel(papers.tls()), max_connections=2)
    async with listening(SmallStore(), options) as stage:
        first, _ = await one_more(stage), await one_more(stage)
        await until_inside(stage, 2)
        assert await turned_away(stage, await one_more(stage)) == "limit"
        first.close()
        await until_inside(stage, 1)
        sender = await dial_tls(stage, papers.client())
        assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")


async def test_addresses_that_may_not_come_in_are_turned_away_before_a_handshake(papers: Papers) -> None:
    options = replace(channel(papers.tls()), allow=(ip_network("127.0.0.2/32"),))
    async with listening(SmallStore(), options) as stage:
        assert await turned_away(stage, await one_more(stage)) == "not-allowed"
        assert stage.notes.named("tls-failed") == []
        await one_more(stage, "127.0.0.2")
        await until_inside(stage, 1)


@pytest.mark.parametrize("secure", [False, True])
async def test_one_address_cannot_take_every_connection(papers: Papers, secure: bool) -> None:
    options = ChannelOptions(name=ADT, max_connections_per_address=2, tls=papers.tls() if secure else None)
    async with listening(SmallStore(), options) as stage:
        first, _ = await one_more(stage), await one_more(stage)
        await until_inside(stage, 2)
        assert await turned_away(stage, await one_more(stage)) == "address-limit"
        await one_more(stage, "127.0.0.2")
        await until_inside(stage, 3)
        first.close()
        await until_inside(stage, 2)
        await one_more(stage)
        await until_inside(stage, 3)


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_connections_are_counted_by_what_one_host_owns(host: str, origin: str) -> None:
    assert origin_of(host) == origin


@asynccontextmanager
async def two_channels(premises: Premises, store: SmallStore) -> AsyncIterator[tuple[Stage, Stage]]:
    """Run two channels of one gateway."""
    stages = []
    for name in ("adt", "lab"):
        notes, clock, ids = Notes(), Clock(), Ids()
        options = ChannelOptions(name=ChannelName(name))
        listener = Listener(options, store=store, observer=notes, clock=clock, new_id=ids, premises=premises)
        await listener.start()
        stages.append(Stage(listener=listener, notes=notes, clock=clock, ids=ids))
    try:
        yield stages[0], stages[1]
    finally:
        for stage in stages:
            for sender in stage.senders:
                sender.close()
            await stage.listener.stop(grace=1)
    assert (premises.connections, premises.buffered) == (0, 0)


async def test_all_channels_together_have_a_limit_of_connections() -> None:
    async with two_channels(Premises(max_connections=2), SmallStore()) as (adt, lab):
        first, _ = await one_more(adt), await one_more(lab)
        await until_inside(adt, 1)
        await until_inside(lab, 1)
        assert await turned_away(lab, await one_more(lab)) == "gateway-limit"
        first.close()
        await until_inside(adt, 0)
        await one_more(lab)
        await until_inside(lab, 2)


async def test_a_frame_that_stalls_is_given_up_over_tls(papers: Papers) -> None:
    store = SmallStore()
    async with listening(store, channel(papers.tls())) as stage:
        time = LoopTime()
        sender = await dial_tls(stage, papers.client())
        sender.say(f(m("ANCHOR")) + b"\x0bMSH|")
        assert msa(await sender.hear())[1] == b"ANCHOR"
        time.move(29)
        assert stage.listener.connections == 1
        time.move(2)
        assert await sender.rest() == b""
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        assert stage.notes.named("disconnected")[0]["reason"] == "truncated"


async def test_a_record_that_never_ends_does_not_stop_the_clock_of_its_frame(papers: Papers) -> None:
    """Bytes of TLS that give no byte of a message are no progress."""
    async with listening(SmallStore(), channel(papers.tls())) as stage:
        time = LoopTime()
        sender = await dial_tls(stage, papers.client())
        sender.say(f(m("ANCHOR")) + b"\x0bMSH|")
        assert msa(await sender.hear())[1] == b"ANCHOR"
        raw = socket.socket(fileno=os.dup(sender.writer.get_extra_info("socket").fileno()))
        for number in range(3):
            raw.send(b"\x17\x03\x03\x40\x00" if number == 0 else b"x")
            time.move(12)
            await asyncio.to_thread(lambda: None)
        raw.close()
        assert await sender.rest() == b""
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        assert stage.notes.named("disconnected")[0]["reason"] == "truncated"


async def test_an_idle_peer_is_closed_over_tls(papers: Papers) -> None:
    options = replace(channel(papers.tls()), patience=Patience(idle=60))
    async with listening(SmallStore(), options) as stage:
        time = LoopTime()
        sender = await dial_tls(stage, papers.client())
        await sender.ask(m("A1"))
        time.move(61)
        assert await sender.rest() == b""
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        assert stage.notes.named("disconnected")[0]["reason"] == "idle"


async def test_a_peer_that_never_reads_its_answers_is_given_up_over_tls(papers: Papers) -> None:
    options = replace(channel(papers.tls()), ack=AckOptions(mode=AckMode.APPLICATION))
    store = SmallStore()
    async with listening(store, options) as stage:
        time = LoopTime()
        sender = await dial_tls(stage, papers.client())
        reading: Any = sender.writer.transport
        reading.pause_reading()
        (session,) = [each for each in await inside(stage, 1) if isinstance(each, Session)]
        sender.say(b"".join(f(m(f"N{number}")) for number in range(12)))
        await stage.notes.until(lambda: len(stage.notes.named("accepted")) == 12)
        for row in list(store.rows):
            store.settle(row, b"MSH|^~\\&|" + b"X" * (1 << 20))
        async with asyncio.timeout(10):
            while session._outgoing._timer is None:
                await asyncio.to_thread(lambda: None)
        time.move(31)
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        assert stage.notes.named("disconnected")[0]["reason"] == "unread-answers"
        assert stage.listener.connections == 0
        sender.cut()


async def test_each_connection_allocates_one_record(papers: Papers) -> None:
    async with listening(SmallStore(), channel(papers.tls())) as stage:
        await (await dial_tls(stage, papers.client())).ask(m("A1"))
        assert stage.notes.named("tls-buffers-large") == []
        served = [each for each in gc.get_objects() if isinstance(each, sslproto.SSLProtocol) and each._server_side]
        assert {len(each._ssl_buffer) for each in served} == {tls_buffers.SIZE}  # type: ignore[attr-defined]  # as 3.11 calls it
        (session,) = [each for each in await inside(stage, 1) if isinstance(each, Session)]
        transport: Any = session._transport
        assert transport.get_read_buffer_limits() == (tls_buffers.LOW_WATER, tls_buffers.HIGH_WATER)
        assert transport.get_write_buffer_limits() == (tls_buffers.LOW_WATER, tls_buffers.HIGH_WATER)


class Greedy(sslproto.SSLProtocol):
    """An asyncio that takes what it wants, whatever it is told."""

    def get_buffer(self, _: int) -> memoryview:
        return memoryview(bytearray(256 * KIB))


class Changed:
    """An asyncio that is built in another way."""


@pytest.mark.parametrize("other", [Greedy, Changed])
async def test_buffers_that_stay_large_are_told_of_and_work(
    papers: Papers, monkeypatch: pytest.MonkeyPatch, other: type
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sslproto, "SSLProtocol", other)
        listener = listening(SmallStore(), channel(papers.tls()))
        stage = await listener.__aenter__()
    sender = await dial_tls(stage, papers.client())
    assert msa(await sender.ask(m("A1"))) == (b"AA", b"A1")
    assert stage.notes.named("tls-buffers-large") == [{"channel": "adt"}]
    await listener.__aexit__(None, None, None)


def test_a_paused_connection_can_always_read_the_rest_of_its_record() -> None:
    record = 5 + (16 << 10) + 256  # RFC 8446, 5.2
    assert record <= tls_buffers.LOW_WATER
    assert tls_buffers.HIGH_WATER > tls_buffers.LOW_WATER


@asynccontextmanager
async def cramped(
    most: int, store: SmallStore, tls: TlsOptions | None = None, *, pause: float = 5.0
) -> AsyncIterator[tuple[Stage, Premises]]:
    """Run a channel of a gateway with little memory."""
    premises = Premises(max_buffered_bytes=most)
    notes, clock, ids = Notes(), Clock(), Ids()
    options = ChannelOptions(name=ADT, tls=tls, patience=Patience(pause=pause))
    listener = Listener(options, store=store, observer=notes, clock=clock, new_id=ids, premises=premises)
    await listener.start()
    stage = Stage(listener=listener, notes=notes, clock=clock, ids=ids)
    try:
        yield stage, premises
    finally:
        for sender in stage.senders:
            sender.close()
        await listener.stop(grace=1)
    assert (premises.connections, premises.buffered) == (0, 0)


async def until_held(premises: Premises, least: int) -> None:
    async with asyncio.timeout(10):
        while premises.buffered < least:
            await asyncio.to_thread(lambda: None)


async def opened_frame(stage: Stage, papers: Papers | None, size: int) -> Sender:
    """Begin a frame of so many bytes and send no end."""
    sender = await stage.sender() if papers is None else await dial_tls(stage, papers.client())
    sender.say(b"\x0bMSH|" + b"x" * (size - 4))
    return sender


@pytest.mark.parametrize("secure", [False, True])
async def test_memory_of_all_is_bounded_and_small_messages_go_on(papers: Papers, secure: bool) -> None:
    who = papers if secure else None
    async with cramped(400 * KIB, SmallStore(), papers.tls() if secure else None) as (stage, premises):
        time = LoopTime()
        first = await opened_frame(stage, who, 210 * KIB)
        await until_held(premises, 210 * KIB)
        second = await opened_frame(stage, who, 200 * KIB)
        await until_held(premises, 401 * KIB)
        assert premises.is_full
        first.say(b"y" * 500 * KIB)
        honest = await stage.sender() if who is None else await dial_tls(stage, papers.client())
        assert msa(await honest.ask(m("H1"))) == (b"AA", b"H1")
        # Whatever the giants send meanwhile stays in their sockets.
        assert premises.buffered < 400 * KIB * OVERFLOW
        time.move(5.1)
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        assert {note["reason"] for note in stage.notes.named("disconnected")} == {"memory"}
        assert stage.notes.named("crowded-out")[0] == {"channel": "adt", "peer": "127.0.0.1"}
        assert msa(await honest.ask(m("H2"))) == (b"AA", b"H2")
        del second


async def test_who_waits_for_memory_goes_on_when_there_is_room() -> None:
    store = SmallStore(is_held=True)
    async with cramped(300 * KIB, store) as (stage, premises):
        first = await stage.sender()
        first.say(f(m("FIRST", patient="X" * 250 * KIB)))
        await until_held(premises, 250 * KIB)
        large = f(m("LARGE", patient="X" * 200 * KIB))
        second = await stage.sender()
        second.say(large[: 60 * KIB])
        await until_held(premises, 301 * KIB)
        second.say(large[60 * KIB :])
        store.is_held = False
        store.release()
        assert msa(await first.hear()) == (b"AA", b"FIRST")
        assert msa(await second.hear()) == (b"AA", b"LARGE")
        assert stage.notes.named("crowded-out") == []


async def test_of_those_who_wait_for_memory_only_as_many_are_closed_as_must() -> None:
    async with cramped(300 * KIB, SmallStore()) as (stage, premises):
        time = LoopTime()
        first = await opened_frame(stage, None, 200 * KIB)
        await until_held(premises, 200 * KIB)
        large = f(m("LARGE", patient="X" * 200 * KIB))
        second = await stage.sender()
        second.say(large[: 150 * KIB])
        await until_held(premises, 301 * KIB)
        second.say(large[150 * KIB :])
        time.move(5.1)
        assert msa(await second.hear()) == (b"AA", b"LARGE")
        assert await first.rest() == b""
        assert len(stage.notes.named("crowded-out")) == 1


async def test_what_waits_for_its_answer_is_counted() -> None:
    store = SmallStore(is_held=True)
    async with cramped(64 << 20, store) as (stage, premises):
        sender = await stage.sender()
        message = m("A1", patient="X" * 50 * KIB)
        offered = asyncio.Event()
        store.told = offered.set
        sender.say(f(message))
        async with asyncio.timeout(10):
            await offered.wait()
        await until_held(premises, len(message))
        assert premises.buffered == len(message)
        store.release()
        await sender.hear()
        assert premises.buffered == 0


async def test_frames_that_wait_for_their_turn_are_counted() -> None:
    store = SmallStore(is_held=True)
    premises = Premises()
    notes = Notes()
    options = ChannelOptions(name=ADT, max_pipelined=1)
    listener = Listener(options, store=store, observer=notes, clock=Clock(), new_id=Ids(), premises=premises)
    await listener.start()
    sender = await dial(listener.address)
    frames = [m(f"A{each}") for each in range(3)]
    sender.say(b"".join(f(frame) for frame in frames))
    await until_held(premises, sum(map(len, frames)))
    store.is_held = False
    store.release()
    assert [msa(answer)[1] for answer in await sender.hear_many(3)] == [b"A0", b"A1", b"A2"]
    assert premises.buffered == 0
    sender.close()
    await listener.stop(grace=1)


async def test_whoever_overflows_memory_is_closed_at_once_and_whole_messages_are_put_off() -> None:
    store = SmallStore(is_held=True)
    async with cramped(100 * KIB, store, pause=3600) as (stage, premises):
        # Complete messages that wait for their commit: nothing of them can be given back.
        waiting = await stage.sender()
        messages = [m(f"W{each}", patient="X" * 30 * KIB) for each in range(5)]
        waiting.say(b"".join(map(f, messages)))
        await until_held(premises, 5 * 30 * KIB)
        late = await stage.sender()
        assert msa(await late.ask(m("LATE")))[0] == b"AR"
        giant = await opened_frame(stage, None, 40 * KIB)
        assert await giant.rest() == b""
        assert [note["reason"] for note in stage.notes.named("disconnected")] == ["memory"]
        store.is_held = False
        store.release()
        assert [msa(answer)[0] for answer in await waiting.hear_many(5)] == [b"AA"] * 5
        assert msa(await late.ask(m("LATE"))) == (b"AA", b"LATE")


def test_small_shares_are_never_held_back() -> None:
    squeezed: list[str] = []
    premises = Premises(max_buffered_bytes=100 * KIB)
    small = premises.share(squeezed=lambda: squeezed.append("small"), eased=lambda: squeezed.append("eased small"))
    large = premises.share(squeezed=lambda: squeezed.append("large"), eased=lambda: squeezed.append("eased large"))
    small.hold(SMALL, 0)
    large.hold(SMALL + 1, 0)
    assert squeezed == []
    small.hold(SMALL, 100 * KIB)
    assert squeezed == ["large"]
    assert [small.may_grow, large.may_grow] == [True, False]
    small.hold(SMALL, 0)
    assert squeezed == ["large", "eased large"]
    assert [small.may_grow, large.may_grow] == [True, True]
    large.release()
    small.release()
    assert premises.buffered == 0
