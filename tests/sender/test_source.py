import io
from pathlib import Path

import pytest

from fixtures.make import ALL, FOLDER
from fixtures.shape import Fixture
from gateway.sender.source import SourceUnusable, read, split
from tests.sender.listening import framed, message


def payloads(data: bytes) -> list[bytes]:
    return [one.payload for one in split(data, name="f")]


@pytest.mark.parametrize("fixture", ALL, ids=lambda fixture: fixture.name)
def test_a_file_with_one_message_is_sent_byte_for_byte(fixture: Fixture) -> None:
    assert payloads(fixture.payload) == [fixture.payload]


def test_the_folder_of_fixtures_is_read_in_name_order_without_its_readme() -> None:
    messages = read([FOLDER])
    assert [one.origin for one in messages] == sorted(str(FOLDER / fixture.file_name) for fixture in ALL)


def test_frames_are_unwrapped_and_bytes_between_them_are_not_sent() -> None:
    data = b"\r\n" + framed(message("A")) + b"\n\n" + framed(message("B")) + b"log line\r\n" + framed(message("C"))
    assert payloads(data) == [message("A"), message("B"), message("C")]


def test_a_last_frame_without_its_cr_is_a_frame() -> None:
    assert payloads(framed(message("A")) + framed(message("B"))[:-1]) == [message("A"), message("B")]


def test_a_frame_that_was_cut_off_is_refused() -> None:
    with pytest.raises(SourceUnusable, match="f: ends in the middle of an MLLP frame"):
        split(framed(message("A")) + framed(message("B"))[:-4], name="f")


def test_a_broken_frame_is_refused_and_named() -> None:
    with pytest.raises(SourceUnusable, match=r"f: holds a broken MLLP frame \(empty\)"):
        split(framed(message("A")) + framed(b"") + framed(message("B")), name="f")


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n", b"\r\n\r\n"], ids=["cr", "lf", "crlf", "blank"])
def test_messages_are_separated_by_their_headers(end: bytes) -> None:
    first, second = (message(one).replace(b"\r", end) for one in "AB")
    assert payloads(first + second) == [first, second]
    assert b"".join(payloads(first + second)) == first + second


def test_each_header_may_have_its_own_separator() -> None:
    other = message("B").replace(b"|", b"#")
    assert payloads(message("A") + other) == [message("A"), other]


def test_what_stands_before_the_first_header_belongs_to_it() -> None:
    assert payloads(b"\xef\xbb\xbf\r\n " + message("A") + message("B")) == [
        b"\xef\xbb\xbf\r\n " + message("A"),
        message("B"),
    ]


def test_a_segment_whose_name_only_begins_like_a_header_does_not_cut() -> None:
    data = message("A") + b"MSHX|1\rZZZ|MSH|x\rMSH2|2\r"
    assert payloads(data) == [data]


@pytest.mark.parametrize("head", [b"FHS|^~\\&|A\r", b"BHS|^~\\&|A\r", b"\r\n\xef\xbb\xbfBHS|^~\\&|A\r"])
def test_a_batch_is_one_frame(head: bytes) -> None:
    data = head + message("A") + message("B") + b"BTS|2\r"
    assert payloads(data) == [data]


def test_bytes_that_are_no_message_are_sent_as_they_are() -> None:
    assert payloads(b"hello") == [b"hello"]


@pytest.mark.parametrize("data", [b"", b"\r\n \r", b"\xef\xbb\xbf"], ids=["empty", "blank", "bom"])
def test_a_file_without_anything_to_send_is_refused(data: bytes) -> None:
    with pytest.raises(SourceUnusable, match="f: holds no message"):
        split(data, name="f")


def test_the_origin_says_which_message_of_which_file() -> None:
    assert [one.origin for one in split(message("A") + message("B"), name="day.hl7")] == ["day.hl7#1", "day.hl7#2"]
    assert [one.origin for one in split(message("A"), name="day.hl7")] == ["day.hl7"]


def test_files_folders_and_standard_input_are_read_in_the_order_given(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.HL7").write_bytes(message("B"))
    (tmp_path / "sub" / "notes.txt").write_bytes(b"not a message")
    (tmp_path / "sub" / "dir.hl7").mkdir()
    (tmp_path / "one.anything").write_bytes(message("A"))
    messages = read([tmp_path / "one.anything", "-", tmp_path / "sub"], stdin=io.BytesIO(message("S")))
    assert [one.payload for one in messages] == [message("A"), message("S"), message("B")]
    assert messages[1].origin == "stdin"


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnusable, match=r"holds no file that ends in .*\.hl7"):
        read([tmp_path])


def test_a_missing_file_is_refused_with_the_systems_reason(tmp_path: Path) -> None:
    with pytest.raises(SourceUnusable, match="No such file") as caught:
        read([tmp_path / "none.hl7"])
    assert caught.value.name == str(tmp_path / "none.hl7")


def test_standard_input_that_is_closed_is_refused() -> None:
    with pytest.raises(SourceUnusable, match="standard input: is not open"):
        read(["-"])
