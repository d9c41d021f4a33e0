"""The ACK, field by field, and read back by the `hl7` package as an independent oracle."""

from typing import Any

import hl7
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import HeaderUnreadable
from gateway.model.ids import ControlId
from gateway.wire.ack import AckCode, Condition, Problem, build, read_msa
from gateway.wire.header import Header, scan

NOW, ID = "20260101120000+0100", "G0000000000000000001"


def asked(version: str = "2.5.1", *, type_: str = "ADT^A01^ADT_A01", **other: Any) -> Header:
    line = f"MSH|^~\\&|SA|SF|RA|RF|20260101||{type_}|id|P|{version}|5||AL|NE"
    return scan(line.encode())._replace(**other)


def answer(header: Header | None, code: AckCode = AckCode.AA, **given: Any) -> list[bytes]:
    data = build(header, code, message_id=ID, timestamp=NOW, **given)
    assert data.endswith(b"\r")
    assert b"\n" not in data
    return data[:-1].split(b"\r")


def problem(condition: Condition = Condition.REQUIRED_FIELD, field: int | None = 10, text: str = "why") -> Problem:
    return Problem(condition=condition, field=field, text=text)


# The cases seen in the field.


def test_a_facility_with_components_is_echoed_unescaped() -> None:
    header = scan(rb"MSH|^~\&|HISCOM-ADT|COMZIS^MS1|TDM||200702201440||ADT^A08|000000944|P|2.2|||AL|NE")
    assert answer(header) == [
        b"MSH|^~\\&|TDM||HISCOM-ADT|COMZIS^MS1|20260101120000+0100||ACK^A08|G0000000000000000001|P|2.2",
        b"MSA|AA|000000944",
    ]
    assert answer(header, AckCode.CA)[1] == b"MSA|CA|000000944"


def test_the_senders_own_separators_are_used() -> None:
    header = scan(b"MSH#*~!$#A#B*2.16#C#D#20260101##ADT*A01#77#P#2.5\rPID#1\r")
    assert answer(header) == [
        b"MSH#*~!$#C#D#A#B*2.16#20260101120000+0100##ACK*A01*ACK#G0000000000000000001#P#2.5",
        b"MSA#AA#77",
    ]


def test_a_type_without_a_trigger_leaves_no_empty_component() -> None:
    assert answer(asked(type_="ADT"))[0].split(b"|")[8] == b"ACK"
    assert answer(asked(type_=""))[0].split(b"|")[8] == b"ACK"
    assert answer(asked(type_="ADT^"))[0].split(b"|")[8] == b"ACK"


def test_a_missing_type_is_refused_with_the_control_id_and_the_charset() -> None:
    header = scan(rb"MSH|^~\&|Andes|HOSP|PACS|HELLER||||12345678|P|2.3.1||||||UNICODE UTF-8||")
    lines = answer(header, AckCode.AE, problem=problem(field=9, text="MSH-9 is missing"))
    assert lines == [
        b"MSH|^~\\&|PACS|HELLER|Andes|HOSP|20260101120000+0100||ACK|G0000000000000000001|P|2.3.1||||||UNICODE UTF-8",
        b"MSA|AE|12345678|MSH-9 is missing",
        b"ERR|MSH^1^9^101&Required field missing&HL70357",
    ]


def test_the_answer_asks_for_no_answer() -> None:
    header = asked(charset=b"8859/1")
    fields = answer(header)[0].split(b"|")
    assert (header.accept_ack, header.application_ack) == (b"AL", b"NE")
    assert fields[12:17] == [b""] * 5
    assert fields[17] == b"8859/1"
    assert fields[9] == ID.encode()


@pytest.mark.parametrize(
    ("facility", "charset"),
    [("CLÍNICA".encode(), b"UNICODE UTF-8"), ("CLÍNICA".encode("latin-1"), b"8859/1"), (b"\x83|", b"SJIS~ISO IR87")],
)
def test_echoed_bytes_stay_in_the_senders_charset(facility: bytes, charset: bytes) -> None:
    header = scan(b"MSH|^~\\&|SA|" + facility + b"|RA|RF|2026||ADT^A01|" + facility + b"|P|2.5||||||" + charset)
    msh, msa = answer(header)
    assert scan(msh).receiving_facility == facility
    assert scan(msh).charset == charset
    assert msa == b"MSA|AA|" + facility


@pytest.mark.parametrize("charset", [b"UNICODE UTF-16", b"UTF-32~8859/1", b"utf16le"])
def test_a_set_that_no_frame_can_carry_is_not_claimed_for_the_answer(charset: bytes) -> None:
    fields = answer(asked(charset=charset), AckCode.AE, problem=problem(field=18))[0].split(b"|")
    assert fields[17:] == []


@pytest.mark.parametrize("charset", [b"8859/1~UNICODE UTF-16", b"KLINGON", b"~ISO IR87", b"x" * 300])
def test_every_other_set_is_echoed_as_it_came(charset: bytes) -> None:
    assert answer(asked(charset=charset))[0].split(b"|")[17] == charset


# Structure by version.


@pytest.mark.parametrize(
    ("version", "type_"),
    [
        ("2.0", b"ACK"),
        ("2.1", b"ACK"),
        ("2.1.1", b"ACK"),
        ("2.2", b"ACK^A01"),
        ("2.3", b"ACK^A01"),
        ("2.3.1", b"ACK^A01"),
        ("2.4", b"ACK^A01^ACK"),
        ("2.5", b"ACK^A01^ACK"),
        ("2.5.1^USA", b"ACK^A01^ACK"),
        (" 2.7 ", b"ACK^A01^ACK"),
        ("2.9", b"ACK^A01^ACK"),
        ("2.10", b"ACK^A01^ACK"),
        ("", b"ACK^A01"),
        ("D.2.5", b"ACK^A01"),
        ("2.", b"ACK^A01"),
        ("9" * 100, b"ACK^A01"),
    ],
)
def test_the_type_follows_the_version_read_as_numbers(version: str, type_: bytes) -> None:
    fields = answer(asked(version))[0].split(b"|")
    assert fields[8] == type_
    assert fields[11] == version.encode()


@pytest.mark.parametrize(
    ("version", "msa", "err"),
    [
        ("2.1", b"MSA|AE|id|why", b"ERR|MSH^1^10^101&Required field missing&HL70357"),
        ("", b"MSA|AE|id|why", b"ERR|MSH^1^10^101&Required field missing&HL70357"),
        ("2.4", b"MSA|AE|id|why", b"ERR|MSH^1^10^101&Required field missing&HL70357"),
        ("2.5", b"MSA|AE|id|why", b"ERR||MSH^1^10|101^Required field missing^HL70357|E||||why"),
        ("2.6", b"MSA|AE|id|why", b"ERR||MSH^1^10|101^Required field missing^HL70357|E||||why"),
        ("2.7", b"MSA|AE|id", b"ERR||MSH^1^10|101^Required field missing^HL70357|E||||why"),
        ("2.9", b"MSA|AE|id", b"ERR||MSH^1^10|101^Required field missing^HL70357|E||||why"),
    ],
)
def test_a_refusal_says_why_where_the_version_has_room_for_it(version: str, msa: bytes, err: bytes) -> None:
    assert answer(asked(version), AckCode.AE, problem=problem())[1:] == [msa, err]


def test_a_problem_of_the_whole_message_names_no_field() -> None:
    whole = problem(Condition.INTERNAL_ERROR, None)
    assert answer(asked("2.3"), AckCode.AR, problem=whole)[2] == b"ERR|^^^207&Application internal error&HL70357"
    assert answer(asked("2.6"), AckCode.AR, problem=whole)[2] == (
        b"ERR|||207^Application internal error^HL70357|E||||why"
    )


def test_without_a_subcomponent_separator_only_the_code_is_given() -> None:
    header = asked("2.3", encoding_characters=b"^~\\")
    assert answer(header, AckCode.AE, problem=problem())[2] == b"ERR|MSH^1^10^101"


@pytest.mark.parametrize(("version", "code"), [("2.3", "207"), ("2.6", "207"), ("2.7", "104"), ("2.9", "104")])
def test_too_long_has_its_own_code_from_2_7_only(version: str, code: str) -> None:
    data = build(
        asked(version), AckCode.AE, message_id=ID, timestamp=NOW, problem=problem(Condition.VALUE_TOO_LONG, None)
    )
    found = read_msa(data.decode())
    assert found is not None
    assert found.errors == (code,)


@pytest.mark.parametrize("condition", list(Condition))
@pytest.mark.parametrize("version", ["2.3", "2.5", "2.8"])
def test_every_condition_is_read_back(condition: Condition, version: str) -> None:
    data = build(asked(version), AckCode.AR, message_id=ID, timestamp=NOW, problem=problem(condition))
    found = read_msa(data.decode())
    assert found is not None
    assert found.errors == ("207" if condition == "104" and version != "2.8" else condition.value,)


def test_an_unreadable_header_gets_an_answer_all_the_same() -> None:
    assert answer(None, AckCode.AE, problem=problem(Condition.SEGMENT_SEQUENCE, None, "no MSH")) == [
        b"MSH|^~\\&|||||20260101120000+0100||ACK|G0000000000000000001|P|2.5.1",
        b"MSA|AE||no MSH",
        b"ERR|||100^Segment sequence error^HL70357|E||||no MSH",
    ]


def test_the_expected_sequence_number_stands_in_msa_4() -> None:
    assert answer(asked(), expected_sequence=8)[1] == b"MSA|AA|id||8"
    assert answer(asked(), expected_sequence=-1)[1] == b"MSA|AA|id||-1"
    assert answer(asked(), AckCode.AE, problem=problem(), expected_sequence=0)[1] == b"MSA|AE|id|why|0"


# What cannot be echoed as it is.


def test_our_own_words_are_escaped_where_they_hold_separators() -> None:
    lines = answer(asked("2.4"), AckCode.AE, problem=problem(text="a|b^c~d\\e&f\rg\nh"))
    assert lines[1] == b"MSA|AE|id|a\\F\\b\\S\\c\\R\\d\\E\\e\\T\\f g h"
    short = asked("2.4", encoding_characters=b"^")
    assert answer(short, AckCode.AE, problem=problem(text="a|b^c~d"))[1] == b"MSA|AE|id|a b c~d"
    five = asked("2.8", encoding_characters=b"^~\\&#")
    assert answer(five, AckCode.AE, problem=problem(text="a#b"))[2].endswith(b"|a\\P\\b")


def test_our_own_words_are_at_most_80_characters() -> None:
    assert answer(asked("2.4"), AckCode.AE, problem=problem(text="x" * 200))[1] == b"MSA|AE|id|" + b"x" * 80


def test_our_own_words_are_written_in_the_senders_charset() -> None:
    lines = answer(asked("2.4"), AckCode.AE, problem=problem(text="é"), codec="iso8859-1")
    assert lines[1] == b"MSA|AE|id|\xe9"


@pytest.mark.parametrize("control_id", ["x", "x" * 199, "000944", "A^B~C\\D&E", " id ", "\xe9"])
def test_every_character_of_the_control_id_is_echoed(control_id: str) -> None:
    header = asked(control_id=control_id.encode())
    assert answer(header)[1] == b"MSA|AA|" + control_id.encode()


@pytest.mark.parametrize(
    ("value", "echoed"),
    [
        (b"a|b", b"a\\F\\b"),
        (b"a\rMSA|AA|b", b"a\\X0D\\MSA\\F\\AA\\F\\b"),
        (b"a\nb", b"a\\X0A\\b"),
        (b"a\x1c", b"a\\X1C\\"),
        (b"\x0bMSH", b"\\X0B\\MSH"),
    ],
)
def test_no_echoed_value_forms_a_field_a_segment_or_a_frame(value: bytes, echoed: bytes) -> None:
    header = asked(control_id=value, sending_application=value)
    msh, msa = answer(header)
    assert msa == b"MSA|AA|" + echoed
    assert msh.split(b"|")[4] == echoed


def test_without_an_escape_character_what_cannot_be_echoed_becomes_a_space() -> None:
    assert answer(asked(control_id=b"a\x1cb", encoding_characters=b"^~"))[1] == b"MSA|AA|a b"
    assert answer(asked(control_id=b"a\x1cb", encoding_characters=b"^~\x1c&"))[1] == b"MSA|AA|a b"
    assert answer(asked(encoding_characters=b"^~\x1c&"))[0].startswith(b"MSH|^~\x1c&|RA|")


def test_separators_inside_characters_are_not_escaped_though_others_are() -> None:
    header = scan(b"MSH|^~\\&|\x83|\x1c|SF|RA|RF|2026||ADT^A01|\x83|\x83\\|P|2.5||||||SJIS")
    msh, msa = answer(header)
    assert scan(msh).receiving_application == b"\x83|\\X1C\\"
    assert msa == b"MSA|AA|\x83|\x83\\"


def test_the_same_inputs_give_the_same_bytes() -> None:
    assert answer(asked(), AckCode.AR, problem=problem()) == answer(asked(), AckCode.AR, problem=problem())


def test_ordinary_refusals_stay_well_below_one_read() -> None:
    data = build(asked(control_id=b"x" * 199), AckCode.AE, message_id=ID, timestamp=NOW, problem=problem(text="|" * 80))
    assert len(data) < 4_096


def test_read_msa_is_at_hand_beside_build() -> None:
    assert read_msa("x") is None


# Read back by the `hl7` package.

SEPARATORS = "|^~\\&#!$*%@+;:"
printable = st.characters(
    min_codepoint=0x21, max_codepoint=0x17F, exclude_characters=SEPARATORS, exclude_categories=["Cc"]
)
values = st.text(printable, max_size=20)


@st.composite
def separators(draw: st.DrawFn) -> str:
    return "".join(draw(st.permutations(list(SEPARATORS)))[:5])


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[int, str], str]:
    marks = draw(separators())
    field, component, repetition = marks[0], marks[1], marks[2]
    composite = st.lists(values, min_size=1, max_size=3).map(component.join)
    known = {number: draw(composite) for number in (3, 4, 5, 6)}
    known[9] = draw(st.sampled_from(["ADT", f"ADT{component}A01", f"ORU{component}R01{component}ORU_R01", ""]))
    known[10] = draw(composite | st.lists(values, min_size=1, max_size=3).map(repetition.join))
    known[11] = draw(st.sampled_from(["P", "T", f"P{component}A", ""]))
    known[12] = draw(
        st.sampled_from(["2.1", "2.2", "2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.8", "2.9", ""])
    )
    known[18] = draw(st.sampled_from(["", "UNICODE UTF-8"]))
    line = field.join(["MSH", marks[1:5], *(known.get(number, "") for number in range(3, 19))])
    return line, known, marks


def whole(message: Any, segment: int, number: int) -> str:
    fields = message[segment]
    return str(fields[number]) if number < len(fields) else ""


problems = st.builds(
    Problem,
    condition=st.sampled_from(Condition),
    field=st.none() | st.integers(1, 25),
    text=st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=80),
)


@given(requests(), st.sampled_from(AckCode), st.none() | problems, st.none() | st.integers(-1, 10**6))
def test_hl7_reads_every_ack_back_to_what_was_put_in(
    request: tuple[str, dict[int, str], str], code: AckCode, why: Problem | None, expected: int | None
) -> None:
    line, known, marks = request
    data = build(scan(line.encode()), code, message_id=ID, timestamp=NOW, problem=why, expected_sequence=expected)
    read = hl7.parse(data.decode())
    version = tuple(map(int, known[12].split("."))) if known[12] else (2, 3, 1)
    assert [str(segment[0]) for segment in read] == ["MSH", "MSA"] + (["ERR"] if why else [])
    assert whole(read, 0, 1) + whole(read, 0, 2) == marks[:5]
    assert [whole(read, 0, number) for number in (3, 4, 5, 6)] == [known[5], known[6], known[3], known[4]]
    assert (hl7_text(whole(read, 0, 7), marks), whole(read, 0, 10)) == (NOW, ID)
    assert [whole(read, 0, number) for number in (11, 12, 18)] == [known[11], known[12], known[18]]
    trigger = [*known[9].split(marks[1]), ""][1]
    parts = ["ACK", trigger] if trigger and version >= (2, 2) else ["ACK"]
    assert whole(read, 0, 9).split(marks[1]) == ([*parts, "ACK"] if len(parts) == 2 and version >= (2, 4) else parts)
    assert (whole(read, 1, 1), whole(read, 1, 2)) == (code.value, known[10])
    assert whole(read, 1, 4) == ("" if expected is None else str(expected))
    own = hl7_text(whole(read, 1, 3), marks)
    assert own == (why.text if why and version < (2, 7) else "")
    if why:
        assert read_errors(read, marks, version) == (
            ["207"] if why.condition == "104" and version < (2, 7) else [why.condition.value]
        )
        assert hl7_text(whole(read, 2, 8), marks) == (why.text if version >= (2, 5) else "")
    told = read_msa(data.decode())
    assert told is not None
    assert (told.code, told.control_id) == (code.value, known[10])


def hl7_text(text: str, marks: str) -> str:
    for name, mark in (("F", marks[0]), ("S", marks[1]), ("R", marks[2]), ("T", marks[4]), ("E", "\0")):
        text = text.replace(f"{marks[3]}{name}{marks[3]}", mark)
    return text.replace("\0", marks[3])


def read_errors(message: Any, marks: str, version: tuple[int, ...]) -> list[str]:
    if version >= (2, 5):
        return [whole(message, 2, 3).split(marks[1])[0]]
    return [whole(message, 2, 1).split(marks[1])[3].split(marks[4])[0]]


wild = st.binary(max_size=12)


@given(
    wild, wild, wild, wild, st.sampled_from([b"^~\\&", b"^", b"^~\\&#", b"*~!$"]), st.sampled_from([None, "shift_jis"])
)
def test_no_bytes_in_a_header_break_the_structure_of_the_answer(
    application: bytes, control_id: bytes, version: bytes, charset: bytes, marks: bytes, codec: str | None
) -> None:
    header = asked(
        sending_application=application,
        control_id=control_id,
        charset=charset,
        encoding_characters=marks,
    )._replace(version=version, by_characters=codec)
    data = build(header, AckCode.AE, message_id=ID, timestamp=NOW, problem=problem())
    lines = data.split(b"\r")
    assert [line[:4] for line in lines] == [b"MSH|", b"MSA|", b"ERR|", b""]
    assert not set(b"\n\x0b\x1c") & set(data)
    if codec is None:
        assert lines[0].count(b"|") == (17 if charset else 11)


@given(st.binary(max_size=60))
def test_whatever_header_was_read_can_be_answered(tail: bytes) -> None:
    try:
        header = scan(b"MSH|^~\\&|" + tail)
    except HeaderUnreadable:
        return
    again = scan(build(header, AckCode.AA, message_id=ID, timestamp=NOW))
    if not set(b"\x0b\x1c") & set(tail):
        assert again.receiving_application == header.sending_application
        assert again.receiving_facility == header.sending_facility
        assert ControlId(ID.encode()) == again.control_id
