"""The shape of a message is shown, never what it says of a person."""

from dataclasses import asdict

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.console.outline import ack_code, outline
from gateway.console.values import FieldView

MSH = "MSH|^~\\&|SNDAPP|SNDFAC|RCVAPP|RCVFAC|20260101120000||ADT^A01^ADT_A01|id|P|2.5.1"
ADT = f"{MSH}\rEVN|A01|20260101120000\rPID|1||1001^^^HOSP^MR~77||TEST^ANNA||19700101\r"


def _fields(text: str) -> dict[str, FieldView]:
    return {field.path: field for segment in outline(text).segments for field in segment.fields}


def _everything(text: str) -> str:
    return orjson.dumps(asdict(outline(text))).decode()


def test_segments_come_in_order_with_their_lengths() -> None:
    shape = outline(ADT)
    assert [(each.name, each.length) for each in shape.segments] == [("MSH", len(MSH)), ("EVN", 22), ("PID", 45)]
    assert shape.flaw is None


def test_routing_fields_of_the_header_are_shown() -> None:
    shown = {path: field.value for path, field in _fields(ADT).items() if field.value is not None}
    assert shown == {
        "MSH-1": "|",
        "MSH-2": "^~\\&",
        "MSH-3": "SNDAPP",
        "MSH-4": "SNDFAC",
        "MSH-5": "RCVAPP",
        "MSH-6": "RCVFAC",
        "MSH-7": "20260101120000",
        "MSH-9": "ADT^A01^ADT_A01",
        "MSH-10": "id",
        "MSH-11": "P",
        "MSH-12": "2.5.1",
    }


def test_every_other_field_is_told_by_its_size_alone() -> None:
    field = _fields(ADT)["PID-3"]
    assert (field.length, field.repetitions, field.components, field.value) == (17, 2, 5, None)
    assert "ANNA" not in _everything(ADT)
    assert "1001" not in _everything(ADT)


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "\n\r", "\r\r"])
def test_any_segment_end_separates(end: str) -> None:
    assert [each.name for each in outline(ADT.replace("\r", end)).segments] == ["MSH", "EVN", "PID"]


def test_own_separators_are_used() -> None:
    fields = _fields("MSH#*~!$#A#B*2.16#C#D#20260101##ADT*A01#77#P#2.5\rPID#1##a*b\r")
    assert fields["MSH-4"].value == "B*2.16"
    assert fields["MSH-9"].value == "ADT*A01"
    assert fields["PID-3"].components == 2


@pytest.mark.parametrize("encoding_characters", ["^", "^~", "^~\\", "^~\\&#"])
def test_short_and_long_encoding_characters_are_read(encoding_characters: str) -> None:
    shape = outline(f"MSH|{encoding_characters}|A|B\rPID|1||ANNA\r")
    assert [each.name for each in shape.segments] == ["MSH", "PID"]


@pytest.mark.parametrize(
    "text",
    [
        # A missing segment end puts PID into the header line, wherever the header was cut.
        f"{MSH}PID|1||1001^^^HOSP^MR||SECRET^ANNA||SECRET",
        "MSH|^~\\&|A|B|C|D|20260101||ADT^A01PID|1||1001||SECRET^ANNA||SECRET|F",
        f"{MSH}\x0bPID|1||SECRET^ANNA",
        f"{MSH}|||||||SECRET",
        f"{MSH}SECRET",
        # Lines that are no segments.
        f"{MSH}\rSECRET ANNA\rSECRET|x\rsec|SECRET",
        "SECRET",
        "MSH",
        "MSHSECRET",
        "",
        "PID|1||SECRET",
        f"FHS|^~\\&|SECRET\rBHS|^~\\&|SECRET\r{MSH}\rPID|SECRET\rBTS|1|SECRET",
        f"{MSH}|||||||||SECRET",
    ],
)
def test_content_in_unexpected_places_is_not_shown(text: str) -> None:
    assert "SECRET" not in _everything(text)


def test_a_header_value_with_control_characters_is_masked() -> None:
    assert _fields("MSH|^~\\&|A\x1b[2J|B\r")["MSH-3"].value is None


@pytest.mark.parametrize(
    ("number", "good", "bad"),
    [(13, "4711", "ANNA"), (15, "AL", "XX"), (16, "NE", "NEVER"), (18, "8859/1", "ANNA"), (18, "UNICODE UTF-8", "UTF")],
)
def test_optional_header_fields_are_shown_only_in_their_form(number: int, good: str, bad: str) -> None:
    gap = "|" * (number - 12)
    assert _fields(f"{MSH}{gap}{good}\r")[f"MSH-{number}"].value == good
    assert _fields(f"{MSH}{gap}{bad}\r")[f"MSH-{number}"].value is None


@pytest.mark.parametrize("text", ["hello", "PID|1", "MSH", "\x1b[2J"])
def test_what_is_no_hl7_is_listed_by_lines(text: str) -> None:
    shape = outline(text)
    assert shape.flaw == "not readable as HL7; lines only"
    assert [each.length for each in shape.segments] == [len(text)]


@given(st.text(alphabet=st.sampled_from("MSHPIDZ019|^~\\&\r\n #\x0b\x1cé"), max_size=120))
def test_the_outline_is_total(text: str) -> None:
    outline(text)
    outline("MSH|^~\\&" + text)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("MSH|^~\\&|\rMSA|AA|id\r", "AA"),
        ("MSH#*~!$#\rMSA#CE#77\r", "CE"),
        ("MSH|^~\\&|\nMSA|AR\n", "AR"),
        ("MSH|^~\\&|\rMSA|AAA|id\r", None),
        ("MSH|^~\\&|\rMSA|ANNA|id\r", None),
        ('{"MSA": "AA"}', None),
        ("", None),
    ],
)
def test_the_code_of_an_answer_is_read_from_msa(answer: str, code: str | None) -> None:
    assert ack_code(answer) == code
