"""The sequence number protocol through real sockets into a real store (HL7 ch. 2, 2.10.1)."""

from pathlib import Path

import pytest

from gateway.listener.options import AckOptions, ChannelOptions
from gateway.model.policy import AckMode, SequenceMode
from gateway.wire.stamp import body_of
from tests.listener.stage import ADT, fields, m, msa, scene

PROTOCOL = ChannelOptions(name=ADT, sequence=SequenceMode.PROTOCOL)


def numbered(control_id: str, number: str, *, accept: str = "", application: str = "") -> bytes:
    """Give the ordinary message with MSH-13."""
    head, _, rest = m(control_id).partition(b"|P|2.5.1")
    tail = f"||{accept}|{application}".encode() if accept or application else b""
    return head + b"|P|2.5.1|" + number.encode() + tail + rest


def told(answer: bytes) -> tuple[str, str]:
    """Give MSA-1 and MSA-4."""
    found = fields(answer, b"MSA")
    return found[1].decode(), found[4].decode() if len(found) > 4 else ""


async def test_numbers_in_order_are_echoed_and_go_on_unchanged(tmp_path: Path) -> None:
    async with scene(tmp_path, PROTOCOL) as on:
        sender = await on.sender()
        for number in ("7", "8", "9"):
            assert told(await sender.ask(numbered(f"X{number}", number))) == ("AA", number)
        rows = await on.rows()
        assert [(row.sequence, row.inbound_sequence) for row in rows] == [(None, "7"), (None, "8"), (None, "9")]
        for row, payload in zip(rows, await on.stored(), strict=True):
            assert (
                body_of(payload, payload.index(b"MSH"), codec=row.encoding, sequence=row.sequence) == payload.decode()
            )


@pytest.mark.parametrize(("mode", "refused"), [(AckMode.COMMIT, "AE"), (AckMode.ENHANCED, "CE")])
async def test_a_gap_is_refused_at_msh_13_told_what_is_expected_and_raises_an_alert(
    tmp_path: Path, mode: AckMode, refused: str
) -> None:
    options = ChannelOptions(name=ADT, sequence=SequenceMode.PROTOCOL, ack=AckOptions(mode=mode))
    async with scene(tmp_path, options) as on:
        sender = await on.sender()
        await sender.ask(numbered("X1", "1"))
        for control_id, number in (("X3", "3"), ("X9", ""), ("X8", "1")):
            answer = await sender.ask(numbered(control_id, number))
            assert told(answer) == (refused, "2")
            assert msa(answer)[1] == control_id.encode()
            assert fields(answer, b"ERR")[2:4] == [b"MSH^1^13", b"207^Application internal error^HL70357"]
        gaps = on.stage.notes.named("sequence-gap")
        assert [gap["row"] for gap in gaps] == [row.row for row in await on.refused()]
        assert {row.error_code for row in await on.refused()} == {"out-of-sequence"}
        assert {note["code"] for note in on.stage.notes.named("refused")} == {"out-of-sequence"}
        assert told(await sender.ask(numbered("L1", "0")))[1] == "2", "it goes on answering"
        assert told(await sender.ask(numbered("X2", "2")))[1] == "2"
        assert len(await on.rows()) == 2


async def test_link_messages_are_answered_and_leave_no_row(tmp_path: Path) -> None:
    async with scene(tmp_path, PROTOCOL) as on:
        sender = await on.sender()
        assert told(await sender.ask(numbered("L1", "0"))) == ("AA", "-1")
        await sender.ask(numbered("X1", "5"))
        assert told(await sender.ask(numbered("L2", "0"))) == ("AA", "6")
        assert told(await sender.ask(numbered("L3", "-1"))) == ("AA", "-1")
        assert told(await sender.ask(numbered("L3", "0"))) == ("AA", "-1")
        assert told(await sender.ask(numbered("X2", "1"))) == ("AA", "1")
        assert [row.control_id for row in await on.rows()] == [b"X1", b"X2"]
        assert await on.refused() == []
        assert len(on.stage.notes.named("sequence-link")) == 4
        assert on.stage.notes.named("sequence-gap") == []


async def test_a_retransmit_gets_the_stored_answer_and_an_old_number_with_other_bytes_does_not(tmp_path: Path) -> None:
    async with scene(tmp_path, PROTOCOL) as on:
        sender = await on.sender()
        first = await sender.ask(numbered("X1", "1"))
        await sender.ask(numbered("X2", "2"))
        assert await sender.ask(numbered("X1", "1")) == first
        assert told(await sender.ask(numbered("Y1", "1"))) == ("AE", "3")
        assert told(await sender.ask(numbered("X1", "3"))) == ("AR", "3"), "the key is taken"
        assert told(await sender.ask(numbered("X3", "3"))) == ("AA", "3")


async def test_two_senders_on_one_port_count_apart(tmp_path: Path) -> None:
    async with scene(tmp_path, PROTOCOL) as on:
        sender = await on.sender()
        for number in ("1", "2", "3"):
            one = numbered(f"X{number}", number)
            assert told(await sender.ask(one)) == ("AA", number)
            for other in (one.replace(b"SNDFAC", b"WARD"), one.replace(b"SNDAPP", b"LAB")):
                assert told(await (await on.sender()).ask(other)) == ("AA", number)
        assert len(await on.rows()) == 9


async def test_the_numbers_outlive_the_process(tmp_path: Path) -> None:
    async with scene(tmp_path, PROTOCOL) as on:
        first = await (await on.sender()).ask(numbered("X1", "4"))
    async with scene(tmp_path, PROTOCOL) as on:
        sender = await on.sender()
        assert told(await sender.ask(numbered("L1", "0"))) == ("AA", "5")
        assert await sender.ask(numbered("X1", "4")) == first
        assert told(await sender.ask(numbered("X2", "5"))) == ("AA", "5")


async def test_in_enhanced_mode_numbers_are_told_at_commit_level(tmp_path: Path) -> None:
    options = ChannelOptions(name=ADT, sequence=SequenceMode.PROTOCOL, ack=AckOptions(mode=AckMode.ENHANCED))
    async with scene(tmp_path, options) as on:
        sender = await on.sender()
        assert told(await sender.ask(numbered("L1", "0"))) == ("CA", "-1")
        assert told(await sender.ask(numbered("X1", "3"))) == ("CA", "3")
        assert told(await sender.ask(numbered("X1", "3"))) == ("CA", "3")


async def test_a_sender_that_wants_the_application_alone_gets_a_link_answer_from_us(tmp_path: Path) -> None:
    options = ChannelOptions(name=ADT, sequence=SequenceMode.PROTOCOL, ack=AckOptions(mode=AckMode.AUTO))
    async with scene(tmp_path, options) as on:
        sender = await on.sender()
        assert told(await sender.ask(numbered("L1", "0", accept="NE", application="AL"))) == ("AA", "-1")
        await sender.ask(numbered("X1", "1"))
        assert told(await sender.ask(numbered("X3", "3", accept="NE", application="AL"))) == ("AE", "2")
        sender.say(b"\x0b" + numbered("L2", "0", accept="NE", application="NE") + b"\x1c\r")
        assert msa(await sender.ask(numbered("L3", "0")))[1] == b"L3", "who wants no answer gets none"
        sender.say(b"\x0b" + numbered("X4", "4", accept="SU", application="NE") + b"\x1c\r")
        assert msa(await sender.ask(numbered("L4", "0")))[1] == b"L4"


async def test_the_messages_of_a_batch_are_numbered_like_others(tmp_path: Path) -> None:
    async with scene(tmp_path, PROTOCOL) as on:
        sender = await on.sender()
        parts = numbered("X1", "1"), numbered("L1", "0"), numbered("X3", "3"), numbered("X2", "2")
        answer = await sender.ask(b"BHS|^~\\&|SNDAPP|SNDFAC\r" + b"".join(parts) + b"BTS|4\r")
        found = [line.split(b"|") for line in answer.split(b"\r") if line.startswith(b"MSA")]
        assert [(line[1], line[4]) for line in found] == [
            (b"AA", b"1"),
            (b"AA", b"2"),
            (b"AE", b"2"),
            (b"AA", b"2"),
        ]
        assert [row.control_id for row in await on.rows()] == [b"X1", b"X2"]


async def test_without_the_protocol_no_number_is_looked_at_or_told(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        sender = await on.sender()
        for number in ("0", "-1", "7", "7"):
            assert told(await sender.ask(numbered(f"X{len(await on.rows())}", number))) == ("AA", "")
        assert len(await on.rows()) == 4


async def test_in_a_batch_a_gap_whose_refusal_is_not_wanted_is_never_answered_yes(tmp_path: Path) -> None:
    options = ChannelOptions(name=ADT, sequence=SequenceMode.PROTOCOL, ack=AckOptions(mode=AckMode.AUTO))
    async with scene(tmp_path, options) as on:
        sender = await on.sender()
        parts = [numbered(f"X{n}", n, accept="SU", application="NE") for n in ("1", "3", "2")]
        answer = await sender.ask(b"BHS|^~\\&|SNDAPP|SNDFAC\r" + b"".join(parts) + b"BTS|3\r")
        found = [line.split(b"|")[1:3] for line in answer.split(b"\r") if line.startswith(b"MSA")]
        assert found == [[b"CA", b"X1"], [b"CA", b"X2"]]
        assert [row.control_id for row in await on.refused()] == [b"X3"]


async def test_a_number_stamped_for_the_server_is_not_told_to_the_sender(tmp_path: Path) -> None:
    async with scene(tmp_path, ChannelOptions(name=ADT, sequence=SequenceMode.STAMP)) as on:
        assert told(await (await on.sender()).ask(numbered("X1", "9"))) == ("AA", "")
        assert [row.sequence for row in await on.rows()] == [1]


async def test_a_row_without_an_answer_of_ours_is_answered_with_its_number_once_one_is_wanted(tmp_path: Path) -> None:
    waits = ChannelOptions(name=ADT, sequence=SequenceMode.PROTOCOL, ack=AckOptions(mode=AckMode.AUTO))
    async with scene(tmp_path, waits) as on:
        sender = await on.sender()
        silent = numbered("X1", "6", accept="NE", application="AL")
        sender.say(b"\x0b" + silent + b"\x1c\r")
        await on.stage.notes.until(lambda: bool(on.stage.notes.named("accepted")))
        sender.cut()
    async with scene(tmp_path, PROTOCOL) as on:
        assert told(await (await on.sender()).ask(silent)) == ("AA", "6")
