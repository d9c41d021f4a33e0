"""Batches: every message found, every byte of content kept, one answer in order."""

import hl7
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import HeaderUnreadable
from gateway.wire.batch import Batch, answer, split
from tests.wire.streams import message

FHS = b"FHS|^~\\&|FA|FF|RA|RF|20260101||name|comment|F1|\r"
BHS = b"BHS|^~\\&|SA|SF|RA|RF|20260101||||B1\r"
BHS2 = b"BHS#*~!$#SA2#SF2#RA#RF#20260101####B2\r"
A, B, C = message("A1"), message("B1"), message("C1")
NOW = "20260101120000+0100"


def shape(batch: Batch) -> list[tuple[bytes | None, tuple[bytes, ...], int | None]]:
    return [(group.header and group.header.control_id, group.messages, group.declared) for group in batch.groups]


def test_a_whole_file_is_split_into_its_groups() -> None:
    batch = split(FHS + BHS + A + B + b"BTS|2\r" + BHS2 + C + b"BTS#1#x\r" + b"FTS|2\r")
    assert batch.header is not None
    assert batch.header.control_id == b"F1"
    assert shape(batch) == [(b"B1", (A, B), 2), (b"B2", (C,), 1)]
    assert batch.messages == (A, B, C)
    assert batch.headers == 3
    assert not any(group.is_miscounted for group in batch.groups)


@pytest.mark.parametrize("lead", [b"", b"\xef\xbb\xbf", b"\r\n ", b" \n"])
def test_blanks_before_the_batch_are_tolerated(lead: bytes) -> None:
    assert split(lead + BHS + A).messages == (A,)


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n", b"\r\r\n"])
def test_any_segment_end_is_understood(end: bytes) -> None:
    batch = split((FHS + BHS + A + B + b"BTS|2\rFTS|1\r").replace(b"\r", end))
    assert batch.messages == (A.replace(b"\r", end), B.replace(b"\r", end))
    assert batch.groups[0].declared == 2


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (BHS + A + B, [(b"B1", (A, B), None)]),
        (BHS + A[:-1], [(b"B1", (A[:-1],), None)]),
        (BHS, [(b"B1", (), None)]),
        (BHS + b"BTS|0\r", [(b"B1", (), 0)]),
        (FHS, []),
        (FHS + b"FTS|0", []),
        (FHS + b"BTS|0\rFTS", []),
        (FHS + A + B + b"FTS|1\r", [(None, (A, B), None)]),
        (BHS + A + b"BTS|1\r" + B, [(b"B1", (A,), 1), (None, (B,), None)]),
        (BHS + A + b"BTS|1\rBTS|9\r", [(b"B1", (A,), 1)]),
        (BHS + A + b"BTS|1\rFTS|1\r" + B, [(b"B1", (A,), 1), (None, (B,), None)]),
        (BHS + A + BHS2 + B, [(b"B1", (A,), None), (b"B2", (B,), None)]),
        (BHS + A + b"BTS\r" + B, [(b"B1", (A,), None), (None, (B,), None)]),
    ],
)
def test_missing_and_odd_trailers_lose_nothing(payload: bytes, expected: object) -> None:
    assert shape(split(payload)) == expected


@pytest.mark.parametrize(
    ("trailer", "declared"),
    [(b"BTS|3\r", 3), (b"BTS| 3 |x\r", 3), (b"BTS|\r", None), (b"BTS\r", None), (b"BTS|x\r", None), (b"BTS|-1", None)],
)
def test_a_wrong_count_is_accepted_and_told(trailer: bytes, declared: int | None) -> None:
    [group] = split(BHS + A + trailer).groups
    assert group.declared == declared
    assert group.is_miscounted is (declared is not None)


def test_segment_names_inside_the_text_split_nothing() -> None:
    odd = A + b"OBX|1|TX|MSH|BHS|\rMSHX|1\rBTS1|\rNTE|1||x MSH|\r"
    assert split(BHS + odd + B).messages == (odd, B)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (A, "no batch header"),
        (b"", "no batch header"),
        (b"BHS", "cannot be read"),
        (b"BHS||^~\\&|", "cannot be read"),
        (b"FHSx", "cannot be read"),
        (b"BHSx|1\r" + BHS + A, "cannot be read"),
        (b"FHS|\r" + BHS + A, "cannot be read"),
        (BHS + A + b"BTS|1\rBHS|\r" + B, "cannot be read"),
        (BHS + b"PID|1\r" + A, "outside of every message"),
        (BHS + A + b"BTS|1\rPID|1\r", "outside of every message"),
        (FHS + b"NTE|1\r" + BHS + A, "outside of every message"),
        (FHS + BHS + A + FHS + B, "more than one file header"),
        (BHS + A + FHS, "more than one file header"),
    ],
)
def test_what_cannot_be_split_without_loss_is_refused_whole(payload: bytes, reason: str) -> None:
    with pytest.raises(HeaderUnreadable, match=reason):
        split(payload)


def test_a_batch_header_is_scanned_by_characters_where_the_channel_says_so() -> None:
    payload = b"BHS|^~\\&|\x83||SF|RA|RF|2026||||B1\r" + A
    [group] = split(payload, encoding="shift_jis").groups
    assert group.header is not None
    assert (group.header.sending_application, group.header.control_id) == (b"\x83|", b"B1")


def test_the_answer_mirrors_the_headers_and_counts_the_acks() -> None:
    batch = split(FHS + BHS + A + B + b"BTS|2\r" + BHS2 + C + b"BTS#1\rFTS|2\r")
    acks = [b"MSH|1\rMSA|AA|A1\r", b"MSH|2\rMSA|AA|B1\r", b"MSH|3\rMSA|AR|C1\r"]
    assert answer(batch, acks, ids=["N1", "N2", "N3"], timestamp=NOW) == (
        b"FHS|^~\\&|RA|RF|FA|FF|20260101120000+0100||||N1|F1\r"
        b"BHS|^~\\&|RA|RF|SA|SF|20260101120000+0100||||N2|B1\r"
        b"MSH|1\rMSA|AA|A1\r"
        b"MSH|2\rMSA|AA|B1\r"
        b"BTS|2\r"
        b"BHS#*~!$#RA#RF#SA2#SF2#20260101120000+0100####N3#B2\r"
        b"MSH|3\rMSA|AR|C1\r"
        b"BTS#1\r"
        b"FTS|2\r"
    )


def test_only_the_headers_that_were_sent_are_mirrored() -> None:
    acks = [b"MSH|1\r", b"MSH|2\r"]
    assert answer(split(FHS + A + B), acks, ids=["N1"], timestamp=NOW).split(b"\r")[1:] == [
        b"MSH|1",
        b"MSH|2",
        b"FTS|0",
        b"",
    ]
    assert answer(split(BHS + A + B), acks, ids=["N1"], timestamp=NOW).endswith(b"MSH|2\rBTS|2\r")


def test_a_filtered_batch_is_answered_by_an_empty_one() -> None:
    data = answer(split(BHS + A + B), [b"", b""], ids=["N1"], timestamp=NOW)
    assert data == b"BHS|^~\\&|RA|RF|SA|SF|20260101120000+0100||||N1|B1\rBTS|0\r"


@pytest.mark.parametrize(("acks", "ids"), [([], ["N1"]), ([b"x"], []), ([b"x", b"y"], ["N1"]), ([b"x"], ["N1", "N2"])])
def test_no_answer_is_built_of_the_wrong_number_of_parts(acks: list[bytes], ids: list[str]) -> None:
    with pytest.raises(ValueError, match="as many"):
        answer(split(BHS + A), acks, ids=ids, timestamp=NOW)


groups = st.lists(st.lists(st.text("abc123", min_size=1, max_size=8), max_size=4), min_size=1, max_size=4)


@given(groups, st.booleans(), st.booleans())
def test_every_message_comes_out_as_it_went_in_and_is_answered_in_order(
    ids: list[list[str]], has_file: bool, has_trailers: bool
) -> None:
    body = b"".join(
        BHS + b"".join(map(message, group)) + (b"BTS|%d\r" % len(group) if has_trailers else b"") for group in ids
    )
    batch = split((FHS if has_file else b"") + body + (b"FTS|1\r" if has_trailers else b""))
    flat = [one for group in ids for one in group]
    assert list(batch.messages) == [message(one) for one in flat]
    acks = [f"MSH|^~\\&|X\rMSA|AA|{one}\r".encode() for one in flat]
    data = answer(batch, acks, ids=["N"] * batch.headers, timestamp=NOW)
    read = hl7.parse(data.decode().replace("FHS|", "MSH|", 1) if has_file else "MSH|^~\\&|\r" + data.decode())
    assert [str(segment[2]) for segment in read if str(segment[0]) == "MSA"] == flat
    assert [int(str(segment[1])) for segment in read if str(segment[0]) == "BTS"] == [len(group) for group in ids]
