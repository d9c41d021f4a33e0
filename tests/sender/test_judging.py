import pytest

from gateway.sender.judging import read
from gateway.sender.options import Judgement
from tests.sender.listening import ack

HEAD = b"MSH|^~\\&|GW|F|A|B|20260105083001||ACK^A01^ACK|G1|P|2.5.1"


@pytest.mark.parametrize("code", ["AA", "CA"])
def test_a_yes_with_the_messages_id_is_positive(code: str) -> None:
    reading = read(ack(b"77", code))
    assert reading is not None
    assert (reading.code, reading.judgement) == (code, Judgement.POSITIVE)
    assert reading.is_for((b"77",))


@pytest.mark.parametrize("code", ["AE", "AR", "CE", "CR"])
def test_a_no_is_negative(code: str) -> None:
    reading = read(ack(b"77", code, text="not today"))
    assert reading is not None
    assert (reading.code, reading.judgement, reading.text) == (code, Judgement.NEGATIVE, "not today")


@pytest.mark.parametrize("code", ["", "aa", "AB", "OK", "AAA"])
def test_a_code_outside_table_0008_is_unreadable(code: str) -> None:
    reading = read(ack(b"77", code))
    assert reading is not None
    assert reading.judgement is Judgement.UNREADABLE


@pytest.mark.parametrize("other", [b"7", b"777", b"", b"077", b"77 ", b"77^1"])
def test_an_id_that_is_not_exactly_the_messages_is_not_for_it(other: bytes) -> None:
    reading = read(ack(other))
    assert reading is not None
    assert not reading.is_for((b"77",))


@pytest.mark.parametrize("own", [b"7^7", b"7&7", b"7~7", b"\\T\\", "ÄÖ".encode(), b" 7", b"7 "])
def test_an_id_with_separators_escapes_or_letters_is_compared_as_it_is(own: bytes) -> None:
    reading = read(ack(own))
    assert reading is not None
    assert reading.is_for((own,))


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"hello",
        b"MSH",
        b"MSH|^~\\&|GW",
        HEAD + b"\r",
        HEAD + b"\rERR|1\r",
        b"MSA|AA|77\r",
        b"BHS|^~\\&|GW\rBTS|0\r",
        HEAD + b"||||||UNICODE UTF-16\rMSA|AA|77\r",
    ],
    ids=["nothing", "words", "three", "no-end", "no-msa", "err-only", "no-msh", "empty-batch", "utf-16"],
)
def test_what_holds_no_acknowledgement_is_not_read(answer: bytes) -> None:
    assert read(answer) is None


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n", b"\r\r", b""], ids=["cr", "lf", "crlf", "double", "none-last"])
def test_any_segment_end_is_read(end: bytes) -> None:
    reading = read(HEAD + (end or b"\r") + b"MSA|AA|77" + end)
    assert reading is not None
    assert reading.is_for((b"77",))


@pytest.mark.parametrize("lead", [b"\xef\xbb\xbf", b"\r\n", b" "], ids=["bom", "blank", "space"])
def test_what_stands_before_msh_does_not_matter(lead: bytes) -> None:
    reading = read(lead + ack(b"77"))
    assert reading is not None
    assert reading.is_for((b"77",))


def test_other_separators_are_read_from_the_answer_itself() -> None:
    reading = read(b"MSH#*~!$#GW#F#A#B#20260105##ACK#G1#P#2.5\rMSA#AE#7|7#no\r")
    assert reading is not None
    assert (reading.code, reading.text) == ("AE", "no")
    assert reading.is_for((b"7|7",))


def test_the_id_is_compared_in_the_answers_character_set() -> None:
    own = "ソポ".encode("shift_jis")  # its second bytes are 5C and 7C
    reading = read(HEAD.replace(b"|P|2.5.1", b"|P|2.5.1||||||Shift_JIS") + b"\rMSA|AA|" + own + b"\r")
    assert reading is not None
    assert reading.is_for((own,))
    latin = HEAD.replace(b"|P|2.5.1", b"|P|2.5.1||||||8859/1") + b"\rMSA|AA|\xc4\r"
    reading = read(latin)
    assert reading is not None
    assert reading.is_for((b"\xc4",))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (b"ERR||MSH^1^10|101^Required field missing|E||||MSH-10 is empty", "MSH-10 is empty"),
        (b"ERR||MSH^1^10|101^Required field missing|E", "101^Required field missing"),
        (b"ERR|MSH^1^10^101&Required field missing", "MSH^1^10^101&Required field missing"),
        (b"ERR|", None),
        (b"ZZZ|1", None),
    ],
    ids=["err-8", "err-3", "err-1", "empty", "none"],
)
def test_the_reason_is_taken_from_where_the_version_puts_it(error: bytes, text: str | None) -> None:
    reading = read(HEAD + b"\rMSA|AE|77\r" + error + b"\r")
    assert reading is not None
    assert reading.text == text


def batch(*answers: bytes) -> bytes:
    return b"FHS|^~\\&|GW\rBHS|^~\\&|GW\r" + b"".join(answers) + b"BTS|2\rFTS|1\r"


def test_a_batch_is_positive_when_every_acknowledgement_is_for_its_message_in_order() -> None:
    reading = read(batch(ack(b"1"), ack(b"2")))
    assert reading is not None
    assert reading.judgement is Judgement.POSITIVE
    assert reading.is_for((b"1", b"2"))
    assert not reading.is_for((b"2", b"1"))
    assert not reading.is_for((b"1",))


def test_one_refusal_makes_a_batch_negative_and_gives_its_code_and_reason() -> None:
    reading = read(batch(ack(b"1"), ack(b"2", "AR", text="twice")))
    assert reading is not None
    assert (reading.judgement, reading.code, reading.text) == (Judgement.NEGATIVE, "AR", "twice")
