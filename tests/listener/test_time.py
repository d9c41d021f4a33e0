"""What runs out: frames that stall, a missing CR, idle peers, unread answers, patience. The loop's clock is moved."""

import asyncio
import socket

import pytest

from gateway.errors import Unavailable
from gateway.listener.options import AckOptions, ChannelOptions, Patience
from gateway.model.policy import Framing, OnUnavailable
from tests.listener.stage import ADT, LoopTime, Sender, SmallStore, Stage, f, listening, m, msa


async def anchored(stage: Stage, data: bytes) -> Sender:
    """Send a whole message and then `data` in one write; its answer shows that all of it has been read."""
    sender = await stage.sender()
    sender.say(f(m("ANCHOR")) + data)
    assert msa(await sender.hear()) == (b"AA", b"ANCHOR")
    return sender


@pytest.mark.parametrize("framing", list(Framing))
@pytest.mark.parametrize("end", [b"\r\x0c", b"", b"\r", b"\r\x1d\r"])
async def test_a_frame_without_its_end_is_never_stored_and_closes_the_connection(framing: Framing, end: bytes) -> None:
    store = SmallStore()
    async with listening(store, ChannelOptions(name=ADT, framing=framing)) as stage:
        time = LoopTime()
        payload = m("H1").removesuffix(b"\r") + end
        sender = await anchored(stage, b"\x0b" + payload)
        time.move(29)
        await stage.sender()
        assert stage.listener.connections == 2
        time.move(1.5)
        assert await sender.rest() == b""
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        (closed,) = stage.notes.named("disconnected")
        assert closed["reason"] == "truncated"
    assert [offer.control_id for offer in store.offers] == [b"ANCHOR"]
    assert [(note["kind"], note["count"]) for note in stage.notes.anomalies] == [("truncated", len(payload))]
    assert stage.notes.anomalies[0]["offset"] == len(f(m("ANCHOR")))


async def test_a_frame_that_trickles_is_given_up_by_its_size() -> None:
    store = SmallStore()
    async with listening(store) as stage:
        time = LoopTime()
        sender = await anchored(stage, b"\x0bMSH|")
        other = await stage.sender()
        for _ in range(3):
            sender.say(b"x")
            # The other connection's answer shows that the loop has read what was sent before it.
            await other.ask(m("OTHER"))
            time.move(14)
        assert await sender.rest() == b""
    assert stage.notes.counted("truncated") == 7


async def test_a_new_frame_has_its_own_time() -> None:
    store = SmallStore()
    async with listening(store) as stage:
        time = LoopTime()
        message = f(m("A1"))
        other = await stage.sender()
        sender = await anchored(stage, message[:50])
        time.move(20)
        sender.say(message[50:] + message[:50])
        assert msa(await sender.hear()) == (b"AA", b"A1")
        time.move(20)
        # What is due by now has run when the other connection is answered.
        await other.ask(m("OTHER"))
        sender.say(message[50:])
        assert msa(await sender.hear()) == (b"AA", b"A1")


async def test_a_missing_cr_is_made_up_for_by_a_second_of_silence() -> None:
    store = SmallStore()
    async with listening(store) as stage:
        time = LoopTime()
        sender = await anchored(stage, b"\x0b" + m("A1") + b"\x1c")
        time.move(1.1)
        assert msa(await sender.hear()) == (b"AA", b"A1")
    assert stage.notes.counted("missing-cr") == 1


async def test_an_idle_connection_stays_open_for_ever_by_default() -> None:
    store = SmallStore()
    async with listening(store) as stage:
        time = LoopTime()
        sender = await anchored(stage, b"")
        time.move(1_000_000)
        assert msa(await sender.ask(m("A2"))) == (b"AA", b"A2")


async def test_an_idle_connection_is_closed_quietly_after_its_time() -> None:
    store = SmallStore()
    options = ChannelOptions(name=ADT, patience=Patience(idle=60))
    async with listening(store, options) as stage:
        time = LoopTime()
        sender, silent = await anchored(stage, b""), await stage.sender()
        time.move(50)
        await sender.ask(m("A2"))
        time.move(50)
        assert await silent.rest() == b""
        assert msa(await sender.ask(m("A3"))) == (b"AA", b"A3")
        time.move(61)
        assert await sender.rest() == b""
        await stage.notes.until(lambda: len(stage.notes.named("disconnected")) == 2)
        assert [note["reason"] for note in stage.notes.named("disconnected")] == ["idle", "idle"]
    assert stage.notes.anomalies == []


async def test_a_connection_that_waits_for_us_is_not_idle() -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = offered.set
    async with listening(store, ChannelOptions(name=ADT, patience=Patience(idle=60))) as stage:
        time = LoopTime()
        sender = await stage.sender()
        sender.say(f(m("A1")))
        await offered.wait()
        time.move(61)
        await stage.sender()
        assert stage.listener.connections == 2
        store.release()
        assert msa(await sender.hear()) == (b"AA", b"A1")


async def test_frames_beyond_the_limit_are_turned_away_after_five_seconds() -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = lambda: offered.set() if len(store.offers) == 3 else None
    async with listening(store, ChannelOptions(name=ADT, max_pipelined=3)) as stage:
        time = LoopTime()
        sender = await stage.sender()
        sender.say(b"".join(f(m(f"S{number}")) for number in range(5)))
        async with asyncio.timeout(10):
            await offered.wait()
        assert store.refusals == []
        time.move(5.1)
        await stage.notes.until(lambda: len(stage.notes.named("refused")) == 2)
        store.is_held = False
        store.release()
        answers = [msa(answer) for answer in await sender.hear_many(5)]
        assert answers == [(b"AA", b"S0"), (b"AA", b"S1"), (b"AA", b"S2"), (b"AR", b"S3"), (b"AR", b"S4")]
        assert msa(await sender.ask(m("S5"))) == (b"AA", b"S5")
    assert [refusal.error_code.value for refusal in store.refusals] == ["unavailable"] * 2
    assert len(store.offers) == 4


async def test_the_clocks_stand_still_while_nothing_is_read() -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = offered.set
    options = ChannelOptions(name=ADT, max_pipelined=1, patience=Patience(pause=1_000))
    async with listening(store, options) as stage:
        time = LoopTime()
        sender = await stage.sender()
        message = f(m("A2"))
        sender.say(f(m("A1")) + message[:40])
        async with asyncio.timeout(10):
            await offered.wait()
        time.move(100)
        store.is_held = False
        store.release()
        assert msa(await sender.hear()) == (b"AA", b"A1")
        sender.say(message[40:])
        assert msa(await sender.hear()) == (b"AA", b"A2")


async def test_the_clocks_go_on_after_a_pause() -> None:
    store = SmallStore(is_held=True)
    offered = asyncio.Event()
    store.told = offered.set
    async with listening(store, ChannelOptions(name=ADT, max_pipelined=1)) as stage:
        time = LoopTime()
        sender = await stage.sender()
        sender.say(f(m("A1")) + b"\x0bMSH|")
        async with asyncio.timeout(10):
            await offered.wait()
        store.is_held = False
        store.release()
        assert msa(await sender.hear()) == (b"AA", b"A1")
        time.move(31)
        assert await sender.rest() == b""
    assert stage.notes.counted("truncated") == 4


async def test_a_channel_over_its_rate_reads_slowly_and_then_turns_away() -> None:
    store = SmallStore()
    async with listening(store, ChannelOptions(name=ADT, rate_limit=2)) as stage:
        time = LoopTime()
        sender = await stage.sender()
        sender.say(b"".join(f(m(f"S{number}")) for number in range(4)))
        assert [msa(answer)[1] for answer in await sender.hear_many(2)] == [b"S0", b"S1"]
        assert len(store.offers) == 2
        time.move(0.6)
        assert msa(await sender.hear()) == (b"AA", b"S2")
        time.move(0.6)
        assert msa(await sender.hear()) == (b"AA", b"S3")
        sender.say(b"".join(f(m(f"T{number}")) for number in range(40)))
        time.move(0.6)
        assert msa(await sender.hear()) == (b"AA", b"T0")
        time.move(5.1)
        rest = [msa(answer) for answer in await sender.hear_many(39)]
        assert [name for _, name in rest] == [b"T%d" % number for number in range(1, 40)]
        assert rest[-1][0] == b"AR"


def narrow(session: object) -> None:
    """Let the system hold few answers for a peer that does not read, so that they pile up with us."""
    sock = session._transport.get_extra_info("socket")  # type: ignore[attr-defined]  # the accepted socket
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)


async def test_a_peer_that_reads_no_answers_is_cut_off() -> None:
    store = SmallStore()
    async with listening(store) as stage:
        time = LoopTime()
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.connect(stage.listener.address)
        deaf.setblocking(False)
        loop = asyncio.get_running_loop()
        flood = b"".join(f(m(f"S{number}" + "x" * 900)) for number in range(100))

        async def pour() -> None:
            while True:
                await loop.sock_sendall(deaf, flood)

        pouring = asyncio.create_task(pour())
        await stage.notes.until(lambda: bool(stage.notes.named("connected")))
        (session,) = stage.listener._door._guests
        outgoing = session._outgoing  # type: ignore[attr-defined]  # the session's own line of answers
        narrow(session)
        other = await stage.sender()
        async with asyncio.timeout(20):
            while not outgoing._is_blocked:
                await other.ask(m("OTHER"))
        stored = len(store.offers)
        # What the system still takes counts as progress, so the first time-out may only see that.
        for _ in range(5):
            time.move(31)
            await other.ask(m("OTHER"))
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        assert stage.notes.named("disconnected")[0]["reason"] == "unread-answers"
        pouring.cancel()
        await asyncio.gather(pouring, return_exceptions=True)
        deaf.close()
        assert len(store.offers) <= stored + 100
        assert msa(await other.ask(m("AFTER"))) == (b"AA", b"AFTER")


async def test_unavailable_may_mean_that_the_connection_is_closed() -> None:
    store = SmallStore(trouble=Unavailable(reason="full"))
    options = ChannelOptions(name=ADT, ack=AckOptions(unavailable=OnUnavailable.CLOSE))
    async with listening(store, options) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")) + f(m("A2")))
        assert await sender.finish() == []


async def test_a_peer_that_reads_late_gets_every_answer() -> None:
    store = SmallStore()
    count = 800
    async with listening(store) as stage:
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        slow.connect(stage.listener.address)
        slow.setblocking(False)
        loop = asyncio.get_running_loop()
        names = [f"S{number}" + "x" * 300 for number in range(count)]
        flood = b"".join(f(m(name)) for name in names)
        pouring = asyncio.create_task(loop.sock_sendall(slow, flood))
        await stage.notes.until(lambda: bool(stage.notes.named("connected")))
        (session,) = stage.listener._door._guests
        outgoing = session._outgoing  # type: ignore[attr-defined]  # the session's own line of answers
        narrow(session)
        other = await stage.sender()
        async with asyncio.timeout(20):
            while not outgoing._is_blocked:
                await other.ask(m("OTHER"))
            heard = b""
            while heard.count(b"\x1c\r") < count:
                heard += await loop.sock_recv(slow, 65_536)
        await pouring
        slow.close()
    answers = [frame[1:] for frame in heard.split(b"\x1c\r")[:-1]]
    assert [msa(answer) for answer in answers] == [(b"AA", name.encode()) for name in names]


async def test_accepted_sockets_send_at_once_and_notice_a_peer_that_is_gone() -> None:
    async with listening(SmallStore()) as stage:
        await (await stage.sender()).ask(m("A1"))
        (session,) = stage.listener._door._guests
        sock = session._transport.get_extra_info("socket")  # type: ignore[attr-defined]  # the accepted socket
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == 3
