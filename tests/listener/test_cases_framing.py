"""Framing, as senders in the field do it: every case with its bytes, over real sockets into a real store."""

import asyncio
import socket
import tracemalloc
from pathlib import Path

import pytest

from gateway.listener.options import ChannelOptions
from gateway.model.policy import Framing
from tests.listener.stage import ADT, LoopTime, f, fields, m, msa, scene

STRICT = ChannelOptions(name=ADT, framing=Framing.STRICT)
LOG_LINE = b"[2007-07-12 14:40:53.897 Thread-89_39466 host.dom]\r\n"


@pytest.mark.parametrize(
    ("between", "kind"),
    [(b"\n", "stray-lf"), (b"\r", "stray-cr"), (b"\0", "stray-nul"), (b" ", "stray-space"), (b"\xef\xbb\xbf", "bom")],
)
async def test_1_a_stray_byte_between_two_frames_costs_no_message(tmp_path: Path, between: bytes, kind: str) -> None:
    async with scene(tmp_path) as on:
        sender = await on.sender()
        sender.say(f(m("A1")) + between + f(m("A2")))
        assert [msa(answer) for answer in await sender.hear_many(2)] == [(b"AA", b"A1"), (b"AA", b"A2")]
        assert await on.stored() == [m("A1"), m("A2")]
        assert on.stage.notes.counted(kind) == len(between)
        assert msa(await sender.ask(m("A3"))) == (b"AA", b"A3")


async def test_1_strict_framing_answers_what_came_before_and_closes(tmp_path: Path) -> None:
    async with scene(tmp_path, STRICT) as on:
        sender = await on.sender()
        sender.say(f(m("A1")) + b"\n" + f(m("A2")))
        assert msa(await sender.hear()) == (b"AA", b"A1")
        assert await sender.rest() == b""
        sender.close()
        await on.stage.notes.until(lambda: bool(on.stage.notes.named("disconnected")))
        assert on.stage.notes.named("disconnected")[0]["reason"] == "stray-lf"
        assert await on.stored() == [m("A1")]


async def test_2_a_frame_byte_by_byte_is_answered_once_its_last_byte_is_there(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        time = LoopTime()
        sender = await on.sender()
        for byte in f(m("C1"))[:-1]:
            sender.say(bytes([byte]))
            await sender.writer.drain()
            time.move(0.005)
        time.move(0.5)
        sender.say(b"\r")
        assert msa(await sender.hear()) == (b"AA", b"C1")
        assert await on.stored() == [m("C1")]
        assert on.stage.notes.anomalies == []


@pytest.mark.parametrize("cut", range(0, len(f(m("C1"))) + 1, 7))
async def test_2_a_frame_may_be_cut_anywhere(tmp_path: Path, cut: int) -> None:
    async with scene(tmp_path) as on:
        sender, other = await on.sender(), await on.sender()
        sender.say(f(m("C1"))[:cut])
        await sender.writer.drain()
        await other.ask(m("O1"))
        sender.say(f(m("C1"))[cut:] + f(m("C2")))
        assert [msa(answer)[1] for answer in await sender.hear_many(2)] == [b"C1", b"C2"]
        assert sorted(await on.stored()) == [m("C1"), m("C2"), m("O1")]


async def test_3_a_byte_order_mark_before_the_frame_is_noise(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        sender = await on.sender()
        sender.say(b"\xef\xbb\xbf" + f(m("E1")))
        assert msa(await sender.hear()) == (b"AA", b"E1")
        assert await on.stored() == [m("E1")]
        assert on.stage.notes.counted("bom") == 3


async def test_3_strict_framing_says_so_and_closes(tmp_path: Path) -> None:
    async with scene(tmp_path, STRICT) as on:
        sender = await on.sender()
        sender.say(b"\xef\xbb\xbf" + f(m("E1")))
        assert await sender.rest() == b""
        assert on.stage.notes.counted("bom") == 3
        assert await on.rows() == []


@pytest.mark.parametrize("lead", [b"\xef\xbb\xbf", b"\r\n", b"\n", b"  "])
async def test_3_bytes_before_msh_inside_the_frame_are_kept_and_counted(tmp_path: Path, lead: bytes) -> None:
    async with scene(tmp_path) as on:
        sender = await on.sender()
        assert msa(await sender.ask(lead + m("E1"))) == (b"AA", b"E1")
        assert await on.stored() == [lead + m("E1")]
        assert on.stage.notes.counted("leading-bytes") == len(lead)


async def test_4_a_log_line_before_the_frame_is_thrown_away_and_counted(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        sender = await on.sender()
        sender.say(LOG_LINE + f(m("G1")))
        assert msa(await sender.hear()) == (b"AA", b"G1")
        assert await on.stored() == [m("G1")]
        assert sum(int(note["count"] or 0) for note in on.stage.notes.anomalies) == len(LOG_LINE)


async def test_5_a_wrong_trailer_is_never_acknowledged_and_seen(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        time = LoopTime()
        sender = await on.sender()
        payload = m("H1").removesuffix(b"\r") + b"\r\x0c"
        sender.say(b"\x0b" + payload)
        await (await on.sender()).ask(m("O1"))
        time.move(30.5)
        assert await sender.rest() == b""
        assert await on.stored() == [m("O1")]
        (note,) = on.stage.notes.anomalies
        assert (note["kind"], note["count"]) == ("truncated", len(payload))
        assert str(note["peer"]).startswith("127.0.0.1:")


@pytest.mark.parametrize("text", [b"abc\x1cdef", b"abc\x0bdef", b"\x1c\x1cabc", b"abc\x1c|def", b"\x0b\x0b"])
async def test_6_framing_bytes_inside_a_field_are_data(tmp_path: Path, text: bytes) -> None:
    message = m("K1") + b"OBX|1|TX|N^note||" + text + b"\r"
    async with scene(tmp_path) as on:
        sender = await on.sender()
        sender.say(f(message) + f(m("K2")))
        assert [msa(answer) for answer in await sender.hear_many(2)] == [(b"AA", b"K1"), (b"AA", b"K2")]
        assert await on.stored() == [message, m("K2")]


async def test_6_a_whole_terminator_inside_a_field_is_refused_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    message = m("K1") + b"OBX|1|TX|N^note||abc\x1c\rNTE|1||def\r"
    async with scene(tmp_path) as on:
        sender = await on.sender()
        sender.say(f(message))
        answer = await sender.hear()
        assert msa(answer) == (b"AE", b"K1")
        assert fields(answer, b"ERR")[3].startswith(b"100")
        assert await on.rows() == []
        (row,) = await on.refused()
        stored = await on.store.desk.stored(row.row)
        assert stored is not None
        assert stored.original is None
        assert stored.commit_answer == answer
        assert msa(await sender.ask(m("K2"))) == (b"AA", b"K2")


async def test_6_two_messages_are_never_glued(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        sender = await on.sender()
        sender.say(b"\x0b" + m("K1") + f(m("K2")))
        assert msa(await sender.hear()) == (b"AA", b"K2")
        assert await on.stored() == [m("K2")]
        assert on.stage.notes.counted("truncated") == len(m("K1"))


async def test_7_odd_segment_ends_are_accepted_and_kept(tmp_path: Path) -> None:
    first = m("N1").replace(b"\rPID", b"\r\rPID")
    second = m("N2").replace(b"\r", b"\r\n\r\n")
    async with scene(tmp_path) as on:
        sender = await on.sender()
        assert msa(await sender.ask(first)) == (b"AA", b"N1")
        assert msa(await sender.ask(second)) == (b"AA", b"N2")
        assert await on.stored() == [first, second]


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
async def test_7_every_segment_end_is_read_and_a_missing_last_one_too(tmp_path: Path, end: bytes, last: bool) -> None:
    message = m("N1").replace(b"\r", end)
    message = message if last else message.removesuffix(end)
    async with scene(tmp_path) as on:
        sender = await on.sender()
        answer = await sender.ask(message)
        assert msa(answer) == (b"AA", b"N1")
        assert fields(answer, b"MSH")[12] == b"2.5.1"
        assert await on.stored() == [message]


async def test_8_two_million_characters_in_small_writes_are_stored_byte_for_byte(tmp_path: Path) -> None:
    message = m("P1") + b"OBX|1|ED|DOC||^AP^^Base64^" + b"QUJD" * 500_000 + b"\r"
    async with scene(tmp_path) as on:
        sender = await on.sender()
        framed = f(message)
        for start in range(0, len(framed), 1_400):
            sender.say(framed[start : start + 1_400])
            await sender.writer.drain()
        assert msa(await sender.hear()) == (b"AA", b"P1")
        (row,) = await on.rows()
        assert row.size == len(message)
        assert await on.stored() == [message]


@pytest.mark.parametrize(
    ("head", "condition"),
    [
        (b"", b"207"),
        (m("R1"), b"207"),
        (m("R1").replace(b"2.5.1", b"2.7"), b"104"),
        (m("R1").replace(b"2.5.1", b"2.8.2"), b"104"),
    ],
)
async def test_9_a_frame_without_end_meets_its_cap(tmp_path: Path, head: bytes, condition: bytes) -> None:
    options = ChannelOptions(name=ADT, max_message_bytes=1 << 20)
    async with scene(tmp_path, options) as on:
        sender, other = await on.sender(), await on.sender()
        await other.ask(m("O1"))
        loop = asyncio.get_running_loop()
        flood = b"A" * 65_536
        raw = socket.create_connection(on.stage.listener.address)
        raw.setblocking(False)

        async def pour() -> None:
            await loop.sock_sendall(raw, b"\x0b" + head)
            while True:
                await loop.sock_sendall(raw, flood)

        tracemalloc.start()
        pouring = asyncio.create_task(pour())
        heard = b""
        async with asyncio.timeout(10):
            while not heard.endswith(b"\x1c\r"):
                assert msa(await other.ask(m("MEANWHILE"))) == (b"AA", b"MEANWHILE")
                heard += await loop.sock_recv(raw, 4_096)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 5 << 20
        answer = heard[1:-2]
        assert msa(answer) == (b"AE", b"R1" if head else b"")
        assert fields(answer, b"ERR")[3].startswith(condition)
        pouring.cancel()
        await asyncio.gather(pouring, return_exceptions=True)
        raw.close()
        sender.say(f(m("AFTER")))
        assert msa(await sender.hear()) == (b"AA", b"AFTER")
        assert on.stage.notes.counted("oversize") > 1 << 20
        (row,) = await on.refused()
        assert row.error_code == "bad-frame"


async def test_9_the_connection_is_closed_after_the_answer(tmp_path: Path) -> None:
    async with scene(tmp_path, ChannelOptions(name=ADT, max_message_bytes=1_024)) as on:
        sender = await on.sender()
        sender.say(b"\x0b" + b"A" * 2_000)
        assert msa(await sender.hear())[0] == b"AE"
        assert await sender.rest() == b""
        sender.close()
        await on.stage.notes.until(lambda: bool(on.stage.notes.named("disconnected")))
        assert on.stage.notes.named("disconnected")[0]["reason"] == "oversize"


async def test_9_a_peer_that_is_still_writing_gets_the_answer_and_no_reset(tmp_path: Path) -> None:
    async with scene(tmp_path, ChannelOptions(name=ADT, max_message_bytes=1_024)) as on:
        loop = asyncio.get_running_loop()
        raw = socket.create_connection(on.stage.listener.address)
        raw.setblocking(False)
        async with asyncio.timeout(10):
            await loop.sock_sendall(raw, b"\x0b" + b"A" * (8 << 20))
            heard = b""
            while data := await loop.sock_recv(raw, 4_096):
                heard += data
        raw.close()
        assert msa(heard[1:-2])[0] == b"AE"


async def test_9_a_frame_of_exactly_the_cap_is_taken(tmp_path: Path) -> None:
    message = m("R1") + b"OBX|1|TX|||" + b"A" * 1_000
    async with scene(tmp_path, ChannelOptions(name=ADT, max_message_bytes=len(message))) as on:
        sender = await on.sender()
        assert msa(await sender.ask(message)) == (b"AA", b"R1")
        assert msa(await sender.ask(message.replace(b"R1", b"R22")))[0] == b"AE"


async def test_10_two_hundred_frames_in_one_write(tmp_path: Path) -> None:
    names = [b"S%03d" % number for number in range(1, 201)]
    async with scene(tmp_path) as on:
        sender = await on.sender()
        sender.say(b"".join(f(m(name)) for name in names))
        assert [msa(answer) for answer in await sender.hear_many(200)] == [(b"AA", name) for name in names]
        assert [row.control_id for row in await on.rows()] == names


async def test_11_two_thousand_probes_leave_no_trace(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        await (await on.sender()).ask(m("BEFORE"))
        before = len(list(Path("/proc/self/fd").iterdir()))
        notes = on.stage.notes
        for rounds in range(1, 41):
            for _ in range(50):
                socket.create_connection(on.stage.listener.address).close()
            await notes.until(lambda: len(notes.named("disconnected")) >= 50 * rounds)  # noqa: B023  # awaited here
        assert [note["reason"] for note in notes.named("disconnected")] == ["probe"] * 2_000
        assert on.stage.listener.connections == 1
        assert notes.anomalies == []
        # Its answer shows that the loop has put away the last probe's socket, too; it has one here and one there.
        assert msa(await (await on.sender()).ask(m("T1"))) == (b"AA", b"T1")
        assert len(list(Path("/proc/self/fd").iterdir())) == before + 2
