"""Stopping: nothing read is left without its answer, nothing waits longer than the grace, the port is free."""

import asyncio

import pytest

from gateway.errors import CannotListen, ConfigError, PortTaken
from gateway.listener.options import AckOptions, ChannelOptions
from gateway.listener.server import Listener
from gateway.model.policy import AckMode, BatchMode, OnDeadline
from tests.listener.stage import ADT, Clock, Ids, LoopTime, Notes, SmallStore, f, listening, m, msa


def another(options: ChannelOptions, store: SmallStore | None = None) -> Listener:
    return Listener(options, store=store or SmallStore(), observer=Notes(), clock=Clock(), new_id=Ids())


async def test_it_stops_with_a_silent_client_and_the_port_is_free() -> None:
    async with listening(SmallStore()) as stage:
        sender = await stage.sender()
        await sender.ask(m("A1"))
        host, port = stage.listener.address
        await stage.listener.stop(grace=5)
        again = another(ChannelOptions(name=ADT, host=host, port=port))
        await again.start()
        assert again.address == (host, port)
        await again.stop(grace=0)
        assert await sender.rest() == b""


async def test_it_answers_what_it_has_read_before_it_closes() -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = lambda: offered.set() if len(store.offers) == 2 else None
    async with listening(store) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")) + f(m("A2")))
        await offered.wait()
        stopping = asyncio.create_task(stage.listener.stop(grace=10))
        await asyncio.wait([stopping], timeout=0)
        store.release()
        assert [msa(answer) for answer in await sender.hear_many(2)] == [(b"AA", b"A1"), (b"AA", b"A2")]
        assert await sender.rest() == b""
        sender.close()
        await stopping


async def test_it_waits_for_the_end_of_a_frame_that_has_begun() -> None:
    store = SmallStore()
    async with listening(store) as stage:
        sender = await stage.sender()
        message = f(m("A2"))
        sender.say(f(m("A1")) + message[:40])
        assert msa(await sender.hear()) == (b"AA", b"A1")
        stopping = asyncio.create_task(stage.listener.stop(grace=10))
        await asyncio.wait([stopping], timeout=0)
        sender.say(message[40:])
        assert msa(await sender.hear()) == (b"AA", b"A2")
        assert await sender.rest() == b""
        await stopping
    assert stage.notes.anomalies == []


async def test_a_frame_that_never_ends_does_not_hold_it_beyond_the_grace() -> None:
    store = SmallStore()
    async with listening(store) as stage:
        time = LoopTime()
        sender = await stage.sender()
        sender.say(f(m("A1")) + b"\x0bMSH|")
        await sender.hear()
        stopping = asyncio.create_task(stage.listener.stop(grace=10))
        await asyncio.wait([stopping], timeout=0)
        time.move(11)
        await stopping
        assert await sender.rest() == b""
    assert stage.notes.counted("truncated") == 4


async def test_who_waits_for_the_application_gets_the_deadline_answer_at_the_end() -> None:
    store = SmallStore()
    options = ChannelOptions(name=ADT, ack=AckOptions(mode=AckMode.APPLICATION, on_deadline=OnDeadline.AE))
    async with listening(store, options) as stage:
        time = LoopTime()
        sender = await stage.sender()
        sender.say(f(m("A1")))
        await stage.notes.until(lambda: bool(stage.notes.named("accepted")))
        stopping = asyncio.create_task(stage.listener.stop(grace=10))
        await asyncio.wait([stopping], timeout=0)
        time.move(8.1)
        assert msa(await sender.hear()) == (b"AE", b"A1")
        sender.close()
        await stopping


async def test_an_answer_that_never_comes_does_not_hold_it_beyond_the_grace() -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = offered.set
    async with listening(store) as stage:
        time = LoopTime()
        sender = await stage.sender()
        sender.say(f(m("A1")))
        await offered.wait()
        stopping = asyncio.create_task(stage.listener.stop(grace=10))
        await asyncio.wait([stopping], timeout=0)
        time.move(8.1)
        await asyncio.wait([stopping], timeout=0)
        time.move(2)
        await stopping
        assert await sender.rest() == b""
        store.release()


async def test_a_taken_port_is_named_with_its_channel() -> None:
    async with listening(SmallStore()) as stage:
        host, port = stage.listener.address
        second = another(ChannelOptions(name=ADT, host=host, port=port))
        with pytest.raises(PortTaken, match=rf"channel adt: cannot listen on 127\.0\.0\.1 port {port}") as caught:
            await second.start()
        assert (caught.value.channel, caught.value.address, caught.value.port) == ("adt", host, port)
        await second.stop(grace=0)


async def test_an_address_that_is_not_ours_is_named_too() -> None:
    with pytest.raises(CannotListen, match=r"192\.0\.2\.1 port 2575") as caught:
        await another(ChannelOptions(name=ADT, host="192.0.2.1", port=2575)).start()
    assert not isinstance(caught.value, PortTaken)


async def test_a_mode_that_is_not_built_is_refused() -> None:
    with pytest.raises(ConfigError, match="whole"):
        another(ChannelOptions(name=ADT, batch=BatchMode.WHOLE))
