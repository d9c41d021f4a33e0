"""Answers, as the field's senders need them: every case with its bytes, read back by an independent parser."""

from pathlib import Path

import hl7
import pytest

from gateway.listener.options import AckOptions, ChannelOptions
from gateway.model.policy import AckMode
from tests.listener.stage import ADT, Scene, fields, m, msa, scene

A12 = b"MSH|^~\\&|HISCOM-ADT|COMZIS^MS1|TDM||200702201440||ADT^A08|000000944|P|2.2|||AL|NE"
A13 = b"MSH#*~!$#A#B*2.16#C#D#20260101##ADT*A01#77#P#2.5\rPID#1\r"
A15 = b"MSH|^~\\&|Andes|HOSP|PACS|HELLER||||12345678|P|2.3.1||||||UNICODE UTF-8||\rPID|||123\r"


def by(mode: AckMode) -> ChannelOptions:
    return ChannelOptions(name=ADT, ack=AckOptions(mode=mode))


async def ask(on: Scene, message: bytes) -> bytes:
    return await (await on.sender()).ask(message)


@pytest.mark.parametrize(("mode", "code"), [(AckMode.COMMIT, b"AA"), (AckMode.ENHANCED, b"CA"), (AckMode.AUTO, b"CA")])
async def test_12_addresses_are_swapped_whole_and_the_id_keeps_its_zeros(
    tmp_path: Path, mode: AckMode, code: bytes
) -> None:
    async with scene(tmp_path, by(mode)) as on:
        answer = await ask(on, A12)
        msh = fields(answer, b"MSH")
        assert msh[3:7] == [b"TDM", b"", b"HISCOM-ADT", b"COMZIS^MS1"]
        assert msh[9] in (b"ACK", b"ACK^A08")
        assert msh[12] == b"2.2"
        assert msa(answer) == (code, b"000000944")


@pytest.mark.parametrize("control_id", [b"0", b"000000944", b"1" * 20, b"x" * 199, b"A-B_C.D:E", b"\xc3\xa9"])
async def test_12_a_control_id_of_any_length_comes_back(tmp_path: Path, control_id: bytes) -> None:
    async with scene(tmp_path) as on:
        assert msa(await ask(on, m(control_id))) == (b"AA", control_id)
        assert [row.control_id for row in await on.rows()] == [control_id]


async def test_13_the_senders_own_separators_are_used(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        answer = await ask(on, A13)
        assert answer.startswith(b"MSH#*~!$#C#D#A#B*2.16#")
        msh = fields(answer, b"MSH")
        assert (msh[6], msh[9]) == (b"B*2.16", b"ACK*A01*ACK")
        assert msa(answer) == (b"AA", b"77")
        assert [row.message_type for row in await on.rows()] == ["ADT^A01"]


@pytest.mark.parametrize("encoding_characters", [b"^~", b"^~\\", b"^~\\&", b"^~\\&#"])
@pytest.mark.parametrize("separator", [b"|", b"!", b"\xa7"])
async def test_13_any_usable_separators_are_echoed(
    tmp_path: Path, separator: bytes, encoding_characters: bytes
) -> None:
    message = m("77").replace(b"^~\\&", encoding_characters).replace(b"|", separator)
    async with scene(tmp_path) as on:
        answer = await ask(on, message)
        assert answer.startswith(b"MSH" + separator + encoding_characters + separator)
        assert msa(answer) == (b"AA", b"77")


@pytest.mark.parametrize(
    ("version", "kind", "expected"),
    [
        (b"2.5", b"ADT", b"ACK"),
        (b"2.1", b"ADT^A01", b"ACK"),
        (b"2.2", b"ADT^A01", b"ACK^A01"),
        (b"2.3.1", b"ADT^A01", b"ACK^A01"),
        (b"2.4", b"ADT^A01^ADT_A01", b"ACK^A01^ACK"),
        (b"2.9", b"ORU^R01^ORU_R01", b"ACK^R01^ACK"),
        (b"", b"ADT^A01", b"ACK^A01"),
        (b"2.x", b"ADT^A01", b"ACK^A01"),
    ],
)
async def test_14_the_answers_type_goes_by_the_version(
    tmp_path: Path, version: bytes, kind: bytes, expected: bytes
) -> None:
    message = m("T1").replace(b"ADT^A01^ADT_A01", kind).replace(b"2.5.1", version)
    async with scene(tmp_path) as on:
        answer = await ask(on, message)
        assert msa(answer) == (b"AA", b"T1")
        assert fields(answer, b"MSH")[9] == expected


async def test_15_a_message_without_type_is_answered_with_its_id(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        answer = await ask(on, A15)
        assert msa(answer) == (b"AE", b"12345678")
        assert b"MSH^1^9^101" in fields(answer, b"ERR")[1]
        assert await on.rows() == []
        assert [row.error_code for row in await on.refused()] == ["bad-header"]


async def test_16_an_answer_has_an_id_of_its_own_and_asks_for_none(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        sender = await on.sender()
        answers = [await sender.ask(m(name).replace(b"|2.5.1", b"|2.5.1|5||AL|NE")) for name in ("A1", "A2", "A3")]
        ids = [fields(answer, b"MSH")[10] for answer in answers]
        assert len({*ids, b"A1", b"A2", b"A3"}) == 6
        for answer in answers:
            assert len(fields(answer, b"MSH")) <= 15 or fields(answer, b"MSH")[15:17] == [b"", b""]
        assert [row.inbound_sequence for row in await on.rows()] == ["5"] * 3


async def test_17_an_answer_is_whole_and_its_time_is_valid(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        answer = await ask(on, m("A1"))
        assert answer.endswith(b"\r")
        at = fields(answer, b"MSH")[7].decode()
        assert hl7.parse_datetime(at) is not None
        assert at[14] in "+-"
        assert int(at[8:10]) < 24


@pytest.mark.parametrize(
    ("charset", "facility"),
    [(b"UNICODE UTF-8", "CLÍNICA".encode()), (b"8859/1", b"CL\xcdNICA"), (b"8859/15", b"CL\xcdNICA \xa4")],
)
async def test_18_names_come_back_in_the_senders_charset(tmp_path: Path, charset: bytes, facility: bytes) -> None:
    message = m("A1").replace(b"SNDFAC", facility).replace(b"|2.5.1", b"|2.5.1||||||" + charset)
    async with scene(tmp_path) as on:
        answer = await ask(on, message)
        msh = fields(answer, b"MSH")
        assert (msh[6], msh[18]) == (facility, charset)
        assert msa(answer) == (b"AA", b"A1")


@pytest.mark.parametrize("mode", [AckMode.COMMIT, AckMode.ENHANCED])
async def test_an_independent_parser_reads_every_answer_back(tmp_path: Path, mode: AckMode) -> None:
    async with scene(tmp_path, by(mode)) as on:
        for message, control_id in ((m("A1"), "A1"), (A12, "000000944"), (A13, "77"), (A15, "12345678")):
            read = hl7.parse(await ask(on, message), encoding="utf-8")
            assert str(read.segment("MSA")[2]) == control_id
