"""Retransmits, charsets, starting and stopping: every case with its bytes, into a real store."""

import asyncio
from pathlib import Path

import pytest

from gateway.errors import PortTaken
from gateway.listener.options import ChannelOptions
from gateway.listener.server import Listener
from gateway.model.ids import ChannelName
from gateway.model.policy import SequenceMode
from gateway.model.states import State
from gateway.wire.stamp import body_of
from tests.listener.stage import ADT, Clock, Ids, Notes, bytes_of, f, m, msa, opened, scene

STAMPED = ChannelOptions(name=ADT, sequence=SequenceMode.STAMP)


async def test_19_a_retransmit_gets_the_stored_answer_and_leaves_no_trace_but_a_count(tmp_path: Path) -> None:
    async with scene(tmp_path, STAMPED) as on:
        first = await (await on.sender()).ask(m("X1"))
        again = await on.sender()
        assert await again.ask(m("X1")) == first
        assert msa(first) == (b"AA", b"X1")
        (row,) = await on.rows()
        assert (row.sequence, row.repeats, row.state) == (1, 1, State.QUEUED)
        assert msa(await again.ask(m("X2"))) == (b"AA", b"X2")
        assert [row.sequence for row in await on.rows()] == [1, 2]


async def test_19_the_same_id_with_other_bytes_is_refused_and_noted(tmp_path: Path) -> None:
    async with scene(tmp_path, STAMPED) as on:
        sender = await on.sender()
        first = await sender.ask(m("X1"))
        other = await sender.ask(m("X1", patient="EVA"))
        assert msa(other) == (b"AR", b"X1")
        assert b"205" in other
        (row,) = await on.rows()
        assert await bytes_of(on.store, row) == m("X1")
        (refused,) = await on.refused()
        assert refused.error_code == "duplicate-rejected"
        assert await bytes_of(on.store, refused) == m("X1", patient="EVA")
        assert await sender.ask(m("X1")) == first
        assert msa(await sender.ask(m("X2"))) == (b"AA", b"X2")
        assert [row.sequence for row in await on.rows()] == [1, 2]


async def test_19_twenty_copies_at_one_instant_make_one_row_and_twenty_equal_answers(tmp_path: Path) -> None:
    async with scene(tmp_path, STAMPED) as on:
        senders = [await on.sender() for _ in range(20)]
        for sender in senders:
            sender.say(f(m("X1")))
        answers = [await sender.hear() for sender in senders]
        assert len(set(answers)) == 1
        (row,) = await on.rows()
        assert (row.sequence, row.repeats) == (1, 19)


async def test_19_another_sender_may_use_the_same_id(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        sender = await on.sender()
        for message in (m("X1"), m("X1").replace(b"SNDFAC", b"WARD"), m("X1").replace(b"SNDAPP", b"LAB")):
            assert msa(await sender.ask(message)) == (b"AA", b"X1")
        assert len(await on.rows()) == 3


async def test_19_the_id_alone_may_be_the_key(tmp_path: Path) -> None:
    async with scene(tmp_path, ChannelOptions(name=ADT, dedupe_key=("MSH-10",))) as on:
        sender = await on.sender()
        assert msa(await sender.ask(m("X1"))) == (b"AA", b"X1")
        assert msa(await sender.ask(m("X1").replace(b"SNDFAC", b"WARD"))) == (b"AR", b"X1")


async def test_19_a_retransmit_is_known_after_a_restart(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        first = await (await on.sender()).ask(m("X1"))
    async with scene(tmp_path) as on:
        assert await (await on.sender()).ask(m("X1")) == first
        assert len([row for row in await on.rows() if row.control_id == b"X1"]) == 1


async def test_23a_it_stops_with_a_silent_client_and_the_port_is_free(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        listener = Listener(ChannelOptions(name=ADT), store=store.intake, observer=Notes(), clock=Clock(), new_id=Ids())
        await listener.start()
        host, port = listener.address
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(f(m("A1")))
        await reader.readuntil(b"\x1c\r")
        async with asyncio.timeout(5):
            await listener.stop(grace=5)
        again = Listener(
            ChannelOptions(name=ADT, host=host, port=port),
            store=store.intake,
            observer=Notes(),
            clock=Clock(),
            new_id=Ids(),
        )
        await again.start()
        await again.stop(grace=1)
        writer.close()


async def test_23b_a_taken_port_is_named_with_channel_and_address_and_the_other_channel_runs(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        host, port = on.stage.listener.address
        second = Listener(
            ChannelOptions(name=ChannelName("lab"), host=host, port=port),
            store=on.store.intake,
            observer=Notes(),
            clock=Clock(),
            new_id=Ids(),
        )
        with pytest.raises(PortTaken) as caught:
            await second.start()
        text = str(caught.value)
        assert "lab" in text
        assert host in text
        assert str(port) in text
        assert msa(await (await on.sender()).ask(m("A1"))) == (b"AA", b"A1")


def declaring(charset: bytes, text: bytes) -> bytes:
    """Give a message whose MSH-18 is `charset` and whose OBX-5 is `text`."""
    return m("E1").replace(b"|2.5.1", b"|2.5.1||||||" + charset) + b"OBX|1|TX|N||" + text + b"\r"


@pytest.mark.parametrize(
    ("charset", "text", "body", "flags"),
    [
        # E1 and its kind
        (b"8859/1", b"\xe9", "é", set()),
        (b"8859/15", b"\xa4", "€", set()),
        (b"UNICODE UTF-8", b"\xc3\xa9", "é", set()),
        # E2: bytes that do not fit are read by the fallback, and the row says so
        (b"ASCII", b"\xc3\xa9", "Ã©", {"encoding-mismatch"}),
        (b"ASCII", b"\xe9", "é", {"encoding-mismatch"}),
        (b"UNICODE UTF-8", b"\xe9", "é", {"encoding-mismatch"}),
        # E3: repetitions, aliases, unknown names
        (b"UNICODE UTF-8~8859/1", b"\xc3\xa9", "é", set()),
        (b"UTF8", b"\xc3\xa9", "é", {"charset-alias"}),
        (b"utf-8", b"\xc3\xa9", "é", {"charset-alias"}),
        (b"ISO 8859-1", b"\xe9", "é", {"charset-alias"}),
        (b"KLINGON", b"\xc3\xa9", "é", {"unknown-charset"}),
    ],
)
async def test_e1_to_e3_bytes_are_kept_and_read_by_the_charset_they_are_in(
    tmp_path: Path, charset: bytes, text: bytes, body: str, flags: set[str]
) -> None:
    message = declaring(charset, text)
    async with scene(tmp_path) as on:
        answer = await (await on.sender()).ask(message)
        assert msa(answer) == (b"AA", b"E1")
        (row,) = await on.rows()
        assert set(row.flags) == flags
        assert await bytes_of(on.store, row) == message
        sent = body_of(message, 0, codec=row.encoding, sequence=None)
        assert f"OBX|1|TX|N||{body}\r" in sent
        assert "\N{REPLACEMENT CHARACTER}" not in sent


@pytest.mark.parametrize(
    ("charset", "codec", "name"),
    [
        (b"GB 18030-2000", "gb18030", "俓侊乗"),
        (b"ISO IR87", "shift_jis", "表ソ能"),
    ],
)
async def test_e4_second_bytes_that_look_like_separators_do_not_split(
    tmp_path: Path, charset: bytes, codec: str, name: str
) -> None:
    fixed = {"encoding": codec} if codec == "shift_jis" else {}
    raw = name.encode(codec)
    message = m("E4").replace(b"SNDAPP", raw).replace(b"|2.5.1", b"|2.5.1||||||" + (b"" if fixed else charset))
    async with scene(tmp_path, ChannelOptions(name=ADT, **fixed)) as on:  # type: ignore[arg-type]  # one str
        answer = await (await on.sender()).ask(message)
        (row,) = await on.rows()
        assert row.control_id == b"E4"
        assert row.sender.replace("\\\\", "\\").replace("\\|", "|") == f"{name}|SNDFAC"
        assert b"|" + raw + b"|SNDFAC|" in answer
        assert msa(answer.replace(raw, b"X")) == (b"AA", b"E4")
