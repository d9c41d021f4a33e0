"""The MSH scan: what it reads, what it refuses, and that it looks no further than it must."""

from typing import Any

import hl7
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import HeaderUnreadable
from gateway.wire.header import Header, field, is_batch, is_path, is_several, scan
from gateway.wire.table_0211 import alias
from tests.wire.streams import message

FULL = b"MSH|^~\\&|SA|SF|RA|RF|20260101||ADT^A01^ADT_A01|id|P|2.5.1|5||AL|NE|CHE|8859/1"
KATAKANA = "ソ".encode("shift_jis")  # its second byte is a backslash
PIPE = b"\x83|"  # a katakana whose second byte is a vertical bar


def test_every_field_is_read_as_it_came() -> None:
    assert scan(FULL + b"\rPID|1") == Header(
        start=0,
        separator=b"|",
        encoding_characters=b"^~\\&",
        sending_application=b"SA",
        sending_facility=b"SF",
        receiving_application=b"RA",
        receiving_facility=b"RF",
        timestamp=b"20260101",
        message_type=b"ADT^A01^ADT_A01",
        control_id=b"id",  # type: ignore[arg-type]  # ControlId is bytes
        processing_id=b"P",
        version=b"2.5.1",
        sequence=b"5",
        accept_ack=b"AL",
        application_ack=b"NE",
        charset=b"8859/1",
        by_characters=None,
    )


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n", b"", b"|\r", b"|||||\n"])
def test_the_segment_ends_at_cr_lf_or_the_end(end: bytes) -> None:
    assert scan(FULL + end).charset == b"8859/1"
    assert scan(FULL + end + b"PID|1||2").charset in (b"8859/1", b"8859/1PID")


@pytest.mark.parametrize("lead", [b"", b"\xef\xbb\xbf", b"\r\n ", b" \xef\xbb\xbf\n"])
def test_bom_and_blanks_before_msh_are_tolerated_and_counted(lead: bytes) -> None:
    header = scan(lead + FULL)
    assert header.start == len(lead)
    assert header.control_id == b"id"


def test_absent_fields_are_empty() -> None:
    header = scan(b"MSH|^~\\&")
    assert set(header[3:16]) == {b""}
    assert header.type_parts() == (b"", b"")


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "no MSH"),
        (b"PID|1", "no MSH"),
        (b"xMSH|^~\\&|", "no MSH"),
        (b"FHS|^~\\&|", "no MSH"),
        (b"MSH", "MSH-1"),
        (b"MSH\rx", "MSH-1"),
        *((b"MSH%c^~\\&%cA" % (byte, byte), "MSH-1") for byte in b"aZ09 \t\0\x1f\x7f\x0b\x1c"),
        (b"MSH||^~\\&|", "MSH-2"),
        (b"MSH|", "MSH-2"),
        (b"MSH|\r", "MSH-2"),
        (b"MSH|12345678901234567|", "MSH-2"),
    ],
)
def test_an_unusable_header_is_refused_with_a_fixed_phrase(payload: bytes, reason: str) -> None:
    with pytest.raises(HeaderUnreadable, match=reason):
        scan(payload)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_text_of_two_or_four_bytes_a_character_is_refused_by_its_name(codec: str) -> None:
    with pytest.raises(HeaderUnreadable, match="UTF-16"):
        scan("MSH|^~\\&|A|B".encode(codec))


@pytest.mark.parametrize("head", [b"MSH|\x8a|\x8a|\x8a|\x8a|\x8a|\x8a|\x8a|\x8a|\x8a|", b"MSH|\x8a|234567890123456|"])
def test_msh_2_may_not_be_longer_by_characters_either(head: bytes) -> None:
    with pytest.raises(HeaderUnreadable, match="MSH-2"):
        scan(head + b"A|B|C", encoding="GB 18030-2000")


@pytest.mark.parametrize("characters", [b"^", b"^~", b"^~\\", b"^~\\&#", b"1234567890123456"])
def test_msh_2_may_have_any_usual_length(characters: bytes) -> None:
    assert scan(b"MSH|" + characters + b"|A").encoding_characters == characters


def test_other_separators_are_read_from_the_header_itself() -> None:
    header = scan(b"MSH#*~!$#A#B*2.16#C#D#20260101##ADT*A01#77#P#2.5\rPID#1\r")
    assert header.separator == b"#"
    assert header.component_separator == b"*"
    assert header.repetition_separator == b"~"
    assert header.sending_facility == b"B*2.16"
    assert header.type_parts() == (b"ADT", b"A01")


def test_a_type_without_a_trigger_has_an_empty_second_part() -> None:
    assert scan(b"MSH|^~\\&|||||||ADT|1").type_parts() == (b"ADT", b"")


class Watched(bytes):
    """Bytes that fail when anything copies or searches them whole by their methods."""

    def split(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the whole message was split")

    def find(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the whole message was searched")


@pytest.mark.parametrize("end", [b"\r", b"\n"])
def test_the_scan_looks_at_nothing_behind_msh(end: bytes) -> None:
    assert scan(Watched(FULL + end + b"x" * 100_000)).charset == b"8859/1"


# Characters of several bytes.


@pytest.mark.parametrize(
    ("declared", "codec"),
    [(b"SJIS", "shift_jis"), (b"GB 18030-2000", "gb18030"), (b"BIG-5", "big5"), (b"~ISO IR87", "iso2022_jp_ext")],
)
@pytest.mark.parametrize("looks_like", [0x5C, 0x7C, 0x5E, 0x7E])
def test_second_bytes_that_look_like_separators_split_nothing(declared: bytes, codec: str, looks_like: int) -> None:
    if codec == "iso2022_jp_ext":
        name = b"\x1b$B0" + bytes([looks_like]) + b"\x1b(B"
    else:
        name = b"\x95" + bytes([looks_like]) if codec == "shift_jis" else b"\xa4" + bytes([looks_like])
    if codec == "gb18030":
        name = b"\x81" + bytes([looks_like])
    name.decode(codec)
    payload = b"MSH|^~\\&|%b|F^%b|RA|RF|2026||ADT^A01|7|P|2.5||||||%b\rPID|1||%b^x~y||%b^%b|z\r" % (
        name,
        name,
        declared,
        name,
        name,
        name,
    )
    header = scan(payload)
    assert header.by_characters == codec
    assert header.sending_application == name
    assert header.sending_facility == b"F^" + name
    assert header.charset == declared
    assert header.control_id == b"7"
    assert field(payload, header, "PID-3.1") == name
    assert field(payload, header, "PID-5.2") == name
    assert field(payload, header, "PID-6") == b"z"
    assert field(payload, header, "MSH-4.2") == name


def test_the_configured_encoding_rules_over_msh_18() -> None:
    payload = b"MSH|^~\\&|" + PIPE + b"|SF|RA|RF|2026||ADT^A01|7|P|2.5||||||8859/1\r"
    header = scan(payload, encoding="SJIS")
    assert (header.by_characters, header.sending_application, header.charset) == ("shift_jis", PIPE, b"8859/1")
    assert scan(payload).sending_application == b"\x83"


def test_a_configured_encoding_without_such_bytes_is_scanned_by_bytes() -> None:
    assert scan(FULL, encoding="utf-8").by_characters is None
    assert scan(FULL, encoding="no such thing").by_characters is None


def test_a_header_that_does_not_fit_the_charset_is_scanned_by_bytes() -> None:
    payload = b"MSH|^~\\&|\xff\xff|SF|RA|RF|2026||ADT^A01|7|P|2.5||||||SJIS\r"
    assert scan(payload).by_characters is None
    assert scan(payload, encoding="shift_jis").by_characters is None
    assert scan(payload).sending_facility == b"SF"


def test_a_charset_name_in_another_field_is_not_msh_18() -> None:
    payload = b"MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5||||||8859/1|x|SJIS|\xe9\r"
    assert scan(payload).by_characters is None


@pytest.mark.parametrize("flood", [b"|x" * 300_000, b"|" + b"x~" * 300_000, b"|SJIS" * 100_000])
def test_a_flooded_header_is_looked_up_a_bounded_number_of_times(flood: bytes, monkeypatch: Any) -> None:
    asked: list[str] = []

    def noted(name: str) -> str | None:
        asked.append(name)
        return alias(name)

    monkeypatch.setattr("gateway.wire.header.alias", noted)
    assert scan(b"MSH|^~\\&|\xe9" + b"|" * 14 + flood).start == 0
    assert len(asked) <= 100
    assert sum(map(len, asked)) <= 1_000


def test_escapes_to_two_byte_text_split_nothing_under_jis_x_0201() -> None:
    kanji = b"\x1b$B0|0^\x1b(B"
    payload = b"MSH|^~\\&|A|B|C|D|2026||ADT|7|P|2.5||||||ISO IR14~ISO IR87\rPID|1||" + kanji + b"^b\r"
    assert field(payload, scan(payload), "PID-3.1") == kanji


def test_the_charset_counts_for_other_segments_though_the_header_is_ascii() -> None:
    payload = b"MSH|^|A|B|C|D|2026||ADT|7|P|2.5||||||SJIS\rPID|1||" + PIPE + b"^b\r"
    header = scan(payload)
    assert header.by_characters == "shift_jis"
    assert field(payload, header, "PID-3.1") == PIPE


# Several headers, batches, other fields.


@pytest.mark.parametrize(
    ("behind", "several"),
    [
        (b"\rMSH|^~\\&|", True),
        (b"\nMSH|", True),
        (b"\r\nMSH|", True),
        (b"\rMSH#", False),
        (b"\rOBX|1|TX|MSH|x", False),
        (b"\rOBX|1|TX|MSH|x\rOBX|MSH|\rMSH|x", True),
        (b"\rXMSH|", False),
        (b"", False),
    ],
)
def test_a_second_header_in_one_frame_is_seen(behind: bytes, several: bool) -> None:
    payload = b"\xef\xbb\xbf" + FULL + behind
    assert is_several(payload, scan(payload)) is several


@pytest.mark.parametrize(
    ("payload", "batch"),
    [(b"FHS|", True), (b"BHS|", True), (b"\xef\xbb\xbf\r\n BHS|", True), (FULL, False), (b"xFHS", False), (b"", False)],
)
def test_a_batch_is_known_by_its_first_segment(payload: bytes, batch: bool) -> None:
    assert is_batch(payload) is batch


PID = b"PID|1||10&x&y^^^H~20^b|alt|ANNA^TEST\r"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("PID-1", b"1"),
        ("PID-3", b"10&x&y^^^H"),
        ("PID-3.1", b"10&x&y"),
        ("PID-3.1.2", b"x"),
        ("PID-3.1.4", b""),
        ("PID-3.4", b"H"),
        ("PID-3.5", b""),
        ("PID-4.1", b"alt"),
        ("PID-5.1", b"ANNA"),
        ("PID-99", b""),
        ("PID-2", b""),
        ("MSH-1", b"|"),
        ("MSH-2", b"^~\\&"),
        ("MSH-3", b"SA"),
        ("MSH-9.2", b"A01"),
        ("MSH-18", b"8859/1"),
        ("PV1-2", b"first"),
        ("ZZZ-1", b""),
        ("NTE-1", b""),
        ("OBX-1", b""),
    ],
)
@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
def test_a_field_is_found_by_its_path(path: str, value: bytes, end: bytes) -> None:
    segments = [FULL, b"EVN|PID|7", b"OBX", PID.rstrip(), b"PV1|1|first", b"PV1|2|second", b"NTE"]
    payload = b"\n" + end.join(segments)
    assert field(payload, scan(payload), path) == value


def test_without_a_subcomponent_separator_the_component_is_its_own_first_part() -> None:
    payload = b"MSH|^~|A\rPID|1||a&b^c"
    assert field(payload, scan(payload), "PID-3.1.1") == b"a&b"


@pytest.mark.parametrize("path", ["", "PID", "PID-", "PID-0", "pid-3", "PID-3.", "PID-3.0", "PIDX-3", "PID-3.1.1.1"])
def test_what_is_no_path_is_refused(path: str) -> None:
    assert not is_path(path)
    with pytest.raises(ValueError, match="field path"):
        field(FULL, scan(FULL), path)


def test_a_path_is_known() -> None:
    assert is_path("PID-3.1")
    assert is_path("Z01-12.3.4")


# The `hl7` package as an independent reader.

values = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="|^~\\&"), max_size=12)


@given(st.lists(values, min_size=10, max_size=16), st.sampled_from(["\r", "\n", "\r\n"]))
def test_the_scan_reads_what_hl7_reads(fields: list[str], end: str) -> None:
    text = f"MSH|^~\\&|{'|'.join(fields)}{end}PID|1{end}"
    oracle = hl7.parse(text.replace(end, "\r"))[0]
    read = scan(text.encode())
    wanted = {
        3: read.sending_application,
        4: read.sending_facility,
        5: read.receiving_application,
        6: read.receiving_facility,
        7: read.timestamp,
        9: read.message_type,
        10: read.control_id,
        11: read.processing_id,
        12: read.version,
        13: read.sequence,
        15: read.accept_ack,
        16: read.application_ack,
        18: read.charset,
    }
    for number, value in wanted.items():
        assert value.decode() == (str(oracle[number]) if number < len(oracle) else "")


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(tail: bytes) -> None:
    try:
        header = scan(b"MSH" + tail)
    except HeaderUnreadable:
        return
    assert not any(end in value for value in header[1:16] for end in (b"\r", b"\n"))
    assert is_several(message(), scan(message())) is False
