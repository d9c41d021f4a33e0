"""The decoder, row by row of the framing table: whole, byte by byte, cut anywhere, and with a tail."""

import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.policy import Framing
from gateway.wire.mllp import Anomaly, AnomalyKind, BadFrame, Close, Decoder, Frame, Item, encode
from tests.wire.streams import (
    CR,
    FS,
    LF,
    VT,
    bytewise,
    closed,
    cuts,
    decode,
    frame,
    kinds,
    merged,
    message,
    payloads,
    refused,
)

A, B = message("A1"), message("A2")
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row of the framing table. `depends`: the decision may use what was read in the same piece."""

    stream: bytes
    frames: tuple[bytes, ...]
    odd: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    strict_frames: tuple[bytes, ...] | None = None
    strict_refused: tuple[str, ...] | None = None
    strict_closed: str | None = None
    depends: bool = False


CASES = {
    "two frames back to back": Case(stream=frame(A) + frame(B), frames=(A, B)),
    "LF after a frame": Case(
        stream=frame(A) + LF + frame(B), frames=(A, B), odd=("stray-lf",), strict_frames=(A,), strict_closed="stray-lf"
    ),
    "CR after a frame": Case(
        stream=frame(A) + CR + frame(B), frames=(A, B), odd=("stray-cr",), strict_frames=(A,), strict_closed="stray-cr"
    ),
    "NUL before a frame": Case(
        stream=b"\0" + frame(A), frames=(A,), odd=("stray-nul",), strict_frames=(), strict_closed="stray-nul"
    ),
    "space before a frame": Case(
        stream=b"  " + frame(A), frames=(A,), odd=("stray-space",), strict_frames=(), strict_closed="stray-space"
    ),
    "BOM before a frame": Case(stream=BOM + frame(A), frames=(A,), odd=("bom",), strict_frames=(), strict_closed="bom"),
    "a log line before a frame": Case(
        stream=b"[2007-07-12 14:40:53.897 Thread-89_39466 host.dom]\r\n" + frame(A),
        frames=(A,),
        odd=("noise", "stray-space", "stray-cr", "stray-lf"),
        strict_frames=(),
        strict_closed="noise",
    ),
    "part of a BOM before a frame": Case(
        stream=b"\xef\xbb" + frame(A), frames=(A,), odd=("noise",), strict_frames=(), strict_closed="noise"
    ),
    "noise right after a frame": Case(
        stream=frame(A) + b"* and more" + frame(B),
        frames=(A, B),
        odd=("trailing-data", "stray-space"),
        strict_frames=(A,),
        strict_closed="trailing-data",
    ),
    "a message without VT after a frame": Case(
        stream=frame(A) + B + FS + CR + frame(B),
        frames=(A, B),
        odd=("trailing-data", "stray-cr"),
        strict_frames=(A,),
        strict_closed="trailing-data",
    ),
    "doubled trailer": Case(stream=frame(A) + FS + CR + frame(B), frames=(A, B), odd=("doubled-trailer",)),
    "tripled trailer": Case(stream=frame(A) + FS + CR + FS + CR + frame(B), frames=(A, B), odd=("doubled-trailer",)),
    "doubled trailer behind LF": Case(
        stream=frame(A) + LF + FS + CR + frame(B),
        frames=(A, B),
        odd=("stray-lf", "doubled-trailer"),
        strict_frames=(A,),
        strict_closed="stray-lf",
    ),
    "doubled FS behind a frame": Case(stream=frame(A) + FS + frame(B), frames=(A, B), odd=("doubled-trailer",)),
    "FS then VT": Case(
        stream=VT + A + FS + frame(B),
        frames=(A, B),
        odd=("missing-cr",),
        strict_frames=(),
        strict_refused=("missing-cr",),
        strict_closed="missing-cr",
    ),
    "FS then LF": Case(
        stream=VT + A + FS + LF + frame(B),
        frames=(A, B),
        odd=("missing-cr", "stray-lf"),
        strict_frames=(),
        strict_refused=("missing-cr",),
        strict_closed="missing-cr",
    ),
    "FS then NUL": Case(
        stream=VT + A + FS + b"\0" + frame(B),
        frames=(A, B),
        odd=("missing-cr", "stray-nul"),
        strict_frames=(),
        strict_refused=("missing-cr",),
        strict_closed="missing-cr",
    ),
    "FS inside the text": Case(
        stream=frame(A + b"OBX|1|TX|N^note||abc\x1cdef\r"),
        frames=(A + b"OBX|1|TX|N^note||abc\x1cdef\r",),
        odd=("fs-in-payload",),
        strict_frames=(),
        strict_refused=("fs-in-payload",),
        strict_closed="fs-in-payload",
    ),
    "FS FS CR": Case(
        stream=VT + A + FS + FS + CR,
        frames=(A + FS,),
        odd=("fs-in-payload",),
        strict_frames=(),
        strict_refused=("fs-in-payload",),
        strict_closed="fs-in-payload",
    ),
    "CR FF in place of the trailer, then the next message": Case(
        stream=VT + A + b"\r\x0c" + frame(B),
        frames=(B,),
        odd=("truncated",),
        strict_closed="truncated",
    ),
    "VT VT": Case(
        stream=VT + frame(A),
        frames=(A,),
        odd=("doubled-vt",),
        strict_frames=(),
        strict_refused=("doubled-vt",),
        strict_closed="doubled-vt",
    ),
    "VT and a header inside an open frame": Case(
        stream=VT + A + frame(B), frames=(B,), odd=("truncated",), strict_closed="truncated"
    ),
    "VT, BOM and a header inside an open frame": Case(
        stream=VT + A + frame(BOM + B),
        frames=(BOM + B,),
        odd=("truncated",),
        strict_closed="truncated",
    ),
    "VT and a batch header inside an open frame": Case(
        stream=VT + A + frame(b"FHS|^~\\&|\r" + B),
        frames=(b"FHS|^~\\&|\r" + B,),
        odd=("truncated",),
        strict_closed="truncated",
    ),
    "VT and BHS inside an open frame, twice": Case(
        stream=VT + A + VT + b"BHS|^~\\&|\r" + frame(B),
        frames=(B,),
        odd=("truncated", "truncated"),
        strict_closed="truncated",
    ),
    "VT in the text": Case(
        stream=frame(A + b"OBX|1|TX|||a\x0bb\x0bMS\x0b\x0b"),
        frames=(A + b"OBX|1|TX|||a\x0bb\x0bMS\x0b\x0b",),
        odd=("vt-in-payload",),
    ),
    "VT then VT and a header": Case(
        stream=VT + A + VT + frame(B),
        frames=(B,),
        odd=("vt-in-payload", "truncated"),
        strict_closed="truncated",
    ),
    "an empty frame": Case(stream=frame(b"") + frame(A), frames=(A,), refused=("empty",)),
    "a blank frame": Case(stream=frame(b" \r\n\0\t" + BOM) + frame(A), frames=(A,), refused=("empty",)),
    "an empty frame with a doubled trailer": Case(
        stream=frame(b"") + FS + CR + frame(A), frames=(A,), refused=("empty",), odd=("doubled-trailer",)
    ),
    "a frame without a header": Case(stream=frame(b"hello") + frame(A), frames=(b"hello", A)),
    "a terminator inside the message": Case(
        stream=frame(A) + b"OBX|1|TX|rest\r" + FS + CR + frame(B),
        frames=(B,),
        refused=("terminator-inside",),
        odd=("noise", "stray-cr"),
        strict_frames=(),
        strict_closed="terminator-inside",
        depends=True,
    ),
    "a terminator and LF inside the message": Case(
        stream=frame(A) + LF + b"Z01|rest\r" + FS + CR + frame(B),
        frames=(B,),
        refused=("terminator-inside",),
        odd=("stray-lf", "noise", "stray-cr"),
        strict_frames=(),
        strict_closed="terminator-inside",
        depends=True,
    ),
    "FS LF inside the message": Case(
        stream=VT + A + FS + LF + b"NTE|1\r" + FS + CR + frame(B),
        frames=(B,),
        refused=("terminator-inside",),
        odd=("missing-cr", "stray-lf", "noise", "stray-cr"),
        strict_frames=(),
        strict_refused=("missing-cr",),
        strict_closed="missing-cr",
        depends=True,
    ),
    "a terminator inside a message with other separators": Case(
        stream=frame(BOM + b"\r\n MSH#*~!$#A\r") + b"PV1#1#\r" + frame(B),
        frames=(B,),
        refused=("terminator-inside",),
        odd=("noise", "stray-cr"),
        strict_frames=(),
        strict_closed="terminator-inside",
        depends=True,
    ),
    "a terminator inside a batch": Case(
        stream=frame(b"BHS|^~\\&|\r" + A) + b"EVN|x\r" + frame(B),
        frames=(B,),
        refused=("terminator-inside",),
        odd=("noise", "stray-cr"),
        strict_frames=(),
        strict_closed="terminator-inside",
        depends=True,
    ),
}
TOLERANT = {name: case for name, case in CASES.items() if not case.depends}


def named(cases: dict[str, Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", list(cases.values()), ids=list(cases))


@named(CASES)
def test_tolerant_framing_decodes_the_row_whole(case: Case) -> None:
    items = decode(case.stream)
    assert payloads(items) == list(case.frames)
    assert sorted(kinds(items)) == sorted(case.odd)
    assert refused(items) == list(case.refused)
    assert closed(items) == []


@named(CASES)
def test_strict_framing_decodes_the_row_whole(case: Case) -> None:
    items = decode(case.stream, framing=Framing.STRICT)
    assert payloads(items) == list(case.frames if case.strict_frames is None else case.strict_frames)
    assert refused(items) == list(case.refused if case.strict_refused is None else case.strict_refused)
    assert closed(items) == ([] if case.strict_closed is None else [case.strict_closed])
    if case.strict_closed:
        assert isinstance(items[-1], Close)


@pytest.mark.parametrize("framing", list(Framing))
@named(TOLERANT)
def test_byte_by_byte_tells_the_same(case: Case, framing: Framing) -> None:
    assert _until_close(decode(*bytewise(case.stream), framing=framing)) == _until_close(
        decode(case.stream, framing=framing)
    )


@pytest.mark.parametrize("framing", list(Framing))
@named(TOLERANT)
def test_a_cut_anywhere_tells_the_same(case: Case, framing: Framing) -> None:
    whole = _until_close(decode(case.stream, framing=framing))
    for before, behind in cuts(case.stream):
        assert _until_close(decode(before, behind, framing=framing)) == whole


def _until_close(items: Sequence[Item]) -> list[object]:
    """Strict framing closes at the first stray byte, so how many strays it counted before depends on the cut."""
    seen = merged(items)
    if not any(isinstance(item, Close) for item in seen):
        return seen
    return [item for item in seen if not (isinstance(item, tuple) and isinstance(item[0], str) and len(item) == 2)]


@named(CASES)
def test_a_tail_in_the_same_read_changes_nothing_before_it(case: Case) -> None:
    tail = message("TAIL")
    items = decode(case.stream + frame(tail))
    assert payloads(items) == [*case.frames, tail]


@named(CASES)
def test_a_tail_in_the_next_read_changes_nothing_before_it(case: Case) -> None:
    tail = message("TAIL")
    items = decode(case.stream, frame(tail))
    assert payloads(items) == [*case.frames, tail]


def test_a_terminator_inside_is_refused_wherever_the_start_is_cut() -> None:
    stream = frame(A)
    for before, behind in cuts(stream):
        items = decode(before, behind + b"OBX|1|rest\r" + FS + CR + frame(B))
        assert refused(items) == ["terminator-inside"]
        assert payloads(items) == [B]


def test_an_abandoned_frame_and_a_terminator_inside_the_next_close_once() -> None:
    items = decode(VT + A + frame(B) + b"NTE|1\r", framing=Framing.STRICT)
    assert refused(items) == ["terminator-inside"]
    assert closed(items) == ["terminator-inside"]


def test_a_segment_that_arrives_later_marks_the_answered_frame() -> None:
    items = decode(LF + frame(A), b"OBX|1|rest\r" + FS + CR)
    marks = [item for item in items if isinstance(item, Anomaly) and item.kind is AnomalyKind.TRAILING_DATA]
    assert payloads(items) == [A]
    assert [(mark.frame, mark.bytes_hex) for mark in marks] == [(1, "")]


@pytest.mark.parametrize("behind", [b"P", b"PI", b"PID", b"PID#", b"1ID|", b"P-D|", b"MSH|", b"FHS|", b"BHS|", b"\0"])
def test_what_begins_no_segment_of_the_message_refuses_nothing(behind: bytes) -> None:
    assert payloads(decode(frame(A) + behind)) == [A]


def test_a_refused_frame_keeps_its_head_and_its_size_only() -> None:
    payload = A + b"X" * 10_000
    [bad, *_] = decode(frame(payload) + b"NTE|1")
    assert bad == BadFrame(AnomalyKind.TERMINATOR_INSIDE, payload[:4096], len(payload), 0)


def test_noise_after_a_refused_frame_marks_no_row() -> None:
    items = decode(frame(b"") + b"xyz", b"more")
    assert kinds(items) == ["noise", "noise"]


def test_a_frame_is_given_with_its_last_byte() -> None:
    decoder = Decoder()
    assert decoder.feed(VT + A + FS) == []
    assert decoder.feed(CR) == [Frame(A, 0)]


def test_a_whole_frame_is_given_though_more_has_begun() -> None:
    items = decode(frame(A) + VT + B[:10])
    assert items == [Frame(A, 0)]


def test_offsets_count_from_the_start_of_the_connection() -> None:
    items = decode(LF, frame(A) + LF, b"\0" + frame(B))
    begin = 1 + len(frame(A)) + 2
    assert [item.offset for item in items if isinstance(item, Frame)] == [1, begin]
    assert [item.offset for item in items if isinstance(item, Anomaly)] == [0, begin - 2, begin - 1]


@pytest.mark.parametrize("behind", [b"x", LF])
def test_an_fs_without_its_cr_is_found_where_it_stands(behind: bytes) -> None:
    for pieces in ([LF + VT + A + FS + behind], [LF + VT + A, FS, behind]):
        [first, odd, *_] = decode(*pieces)
        assert isinstance(first, Anomaly)
        assert isinstance(odd, Anomaly)
        assert (first.offset, odd.offset) == (0, 2 + len(A))


def test_the_offset_survives_the_quick_way() -> None:
    items = decode(frame(A), frame(B), LF)
    assert items[1:] == [Frame(B, len(frame(A))), Anomaly(AnomalyKind.STRAY_LF, 2 * len(frame(A)), "0a", 1)]


def test_many_frames_in_one_write_come_out_in_order() -> None:
    wanted = [message(f"S{number:03}") for number in range(1, 201)]
    assert payloads(decode(b"".join(map(frame, wanted)))) == wanted


# Silence, the end of input, and giving up.


@pytest.mark.parametrize("end", [CR, LF])
def test_silence_after_a_segment_end_and_fs_ends_the_frame(end: bytes) -> None:
    decoder = Decoder()
    decoder.feed(VT + A.rstrip() + end + FS)
    assert decoder.awaits_silence
    items = decoder.silence()
    assert payloads(items) == [A.rstrip() + end]
    assert kinds(items) == ["missing-cr"]
    assert [decoder.awaits_silence, decoder.in_frame] == [False, False]
    assert kinds(decoder.feed(CR)) == ["stray-cr"]


def test_silence_is_awaited_byte_by_byte_too() -> None:
    decoder = Decoder()
    awaited = []
    for byte in bytewise(VT + A + FS):
        decoder.feed(byte)
        awaited.append(decoder.awaits_silence)
    assert awaited == [False] * (len(A) + 1) + [True]


def test_silence_after_fs_in_the_middle_of_a_line_ends_nothing() -> None:
    decoder = Decoder()
    decoder.feed(VT + A.rstrip() + FS)
    assert not decoder.awaits_silence
    assert decoder.silence() == []
    assert decoder.in_frame


def test_strict_framing_awaits_no_silence() -> None:
    decoder = Decoder(framing=Framing.STRICT)
    decoder.feed(VT + A + FS)
    assert not decoder.awaits_silence


def test_no_silence_is_awaited_inside_a_payload() -> None:
    decoder = Decoder()
    decoder.feed(VT + A)
    assert not decoder.awaits_silence


def test_end_of_input_after_fs_ends_the_frame() -> None:
    items = decode(VT + A.rstrip() + FS, ends=True)
    assert items == [Anomaly(AnomalyKind.MISSING_CR, len(A), ""), Frame(A.rstrip(), 0)]


def test_strict_framing_refuses_fs_at_the_end_of_input() -> None:
    items = decode(VT + A + FS, framing=Framing.STRICT, ends=True)
    assert refused(items) == ["missing-cr"]
    assert closed(items) == ["missing-cr"]


@pytest.mark.parametrize("open_frame", [VT, VT + A, VT + A + VT, VT + A + VT + b"MS"])
def test_end_of_input_inside_a_frame_is_a_truncation(open_frame: bytes) -> None:
    items = decode(open_frame, ends=True)
    assert items == [Anomaly(AnomalyKind.TRUNCATED, 0, "", len(open_frame) - 1)]


def test_end_of_input_settles_what_was_held_back() -> None:
    assert kinds(decode(LF, b"\xef", ends=True)) == ["stray-lf", "noise"]
    assert kinds(decode(frame(A), FS, ends=True)) == ["doubled-trailer"]
    assert kinds(decode(b"GE", ends=True)) == ["noise"]
    assert decode(frame(A), ends=True) == [Frame(A, 0)]
    assert decode(ends=True) == []


def test_giving_up_abandons_the_open_frame_and_closes() -> None:
    decoder = Decoder()
    decoder.feed(VT + A + b"\r\x0c")
    assert decoder.give_up() == [Anomaly(AnomalyKind.TRUNCATED, 0, "", len(A) + 2), Close(AnomalyKind.TRUNCATED)]


def test_giving_up_between_frames_does_nothing() -> None:
    assert Decoder().give_up() == []


def test_nothing_comes_after_a_close() -> None:
    decoder = Decoder(framing=Framing.STRICT)
    assert closed(decoder.feed(b"x")) == ["noise"]
    assert decoder.feed(frame(A)) == []
    assert decoder.silence() == []
    assert decoder.end() == []
    assert decoder.give_up() == []


# Sizes.


def test_the_open_frame_tells_its_size() -> None:
    decoder = Decoder()
    told = []
    for fed in (b"", VT, b"MSH", b"|a" + VT, b"MS", b"x" + FS, b"y", FS + CR + b"\xef"):
        decoder.feed(fed)
        told.append((decoder.in_frame, decoder.frame_size))
    sizes = [0, 3, 6, 8, 9, 11]
    assert told == [(False, 0), *((True, size) for size in sizes), (False, 0)]


CAP = len(A)


@pytest.mark.parametrize("framing", list(Framing))
def test_a_frame_as_long_as_the_cap_is_taken(framing: Framing) -> None:
    assert payloads(decode(frame(A), cap=CAP, framing=framing)) == [A]
    assert payloads(decode(*bytewise(frame(A)), cap=CAP, framing=framing)) == [A]


@pytest.mark.parametrize("framing", list(Framing))
@pytest.mark.parametrize("pieces", [[frame(A + b"x")], list(bytewise(frame(A + b"x"))), [VT + A + b"x", FS + CR]])
def test_a_frame_longer_than_the_cap_is_refused_and_the_connection_closed(
    framing: Framing, pieces: list[bytes]
) -> None:
    items = decode(*pieces, cap=CAP, framing=framing)
    assert items == [BadFrame(AnomalyKind.OVERSIZE, A + b"x", CAP + 1, 0), Close(AnomalyKind.OVERSIZE)]


def test_fs_in_the_payload_counts_against_the_cap() -> None:
    assert refused(decode(VT + A + FS + b"x", cap=CAP)) == ["oversize"]


def test_a_trailer_behind_a_byte_order_mark_is_a_doubled_one_wherever_it_is_cut() -> None:
    stream = frame(A) + BOM + FS + CR
    for pieces in ((stream,), *cuts(stream), tuple(bytewise(stream))):
        assert kinds(decode(*pieces)) == ["bom", "doubled-trailer"]


@pytest.mark.parametrize("odd", [VT, VT + VT, VT + b"MSX", VT + b"x" + VT])
@pytest.mark.parametrize("size", [62, 63, 64, 65, 66])
def test_nothing_is_told_of_what_came_behind_the_cap(odd: bytes, size: int) -> None:
    stream = VT + b"x" * size + odd + b"x" * 8
    whole = decode(stream, cap=64)
    assert merged(whole) == merged(decode(*bytewise(stream), cap=64))
    assert refused(whole) == ["oversize"]
    assert kinds(whole) == (["vt-in-payload"] if size <= 64 else [])


def test_an_abandoned_frame_longer_than_the_cap_is_refused() -> None:
    assert refused(decode(VT + A + b"x" + frame(B), cap=CAP)) == ["oversize"]


def test_an_endless_frame_takes_no_more_memory_than_about_the_cap() -> None:
    cap = 1 << 20
    decoder = Decoder(max_message_bytes=cap)
    decoder.feed(VT + b"MSH|")
    tracemalloc.start()
    try:
        for _ in range(4 * cap // 1024):
            decoder.feed(b"A" * 1024)
        assert tracemalloc.get_traced_memory()[1] < 2.5 * cap
        assert tracemalloc.get_traced_memory()[0] < 0.1 * cap
    finally:
        tracemalloc.stop()


def test_a_frame_in_tiny_writes_is_kept_without_an_object_for_each() -> None:
    size = 1 << 14
    decoder = Decoder()
    decoder.feed(VT)
    tracemalloc.start()
    try:
        for _ in range(size):
            decoder.feed(b"A")
        assert tracemalloc.get_traced_memory()[1] < 1.5 * size
    finally:
        tracemalloc.stop()


class Counted(bytes):
    """Bytes that add up how far the decoder looked for FS and VT in them."""

    looked = 0

    def find(self, sub: object, start: object = 0, end: object = None) -> int:
        stop = len(self) if end is None else int(str(end))
        found = bytes(self).find(bytes([int(str(sub))]), int(str(start)), stop)
        Counted.looked += (found if found >= 0 else stop) - int(str(start))
        return found


@pytest.mark.parametrize(
    "unit", [b"\x0bMSH|x", b"x\x0by", b"x\x1cy", b"\x0b", b"\x0bMSH|\x1c\r", b"\x1c\r\x0b", b"\n", b"\x1c"]
)
def test_no_flood_of_framing_bytes_is_searched_more_than_a_few_times(unit: bytes) -> None:
    stream = Counted(VT + b"MSH|" + unit * 2_000)
    Counted.looked = 0
    Decoder().feed(stream)
    assert Counted.looked <= 4 * len(stream)


@pytest.mark.parametrize("unit", [b"\x0b", b"x\x0by", b"x\x1cy", b"\x1c\x1c"])
def test_a_flood_of_one_kind_of_oddness_is_one_item(unit: bytes) -> None:
    assert len(decode(VT + unit * 5_000)) == 1


# Other protocols on the port.


@pytest.mark.parametrize("framing", list(Framing))
@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", "looks-like-tls"),
        (b"GET / HTTP/1.1\r\n", "looks-like-http"),
        (b"POST /x HTTP/1.1\r\n", "looks-like-http"),
        (b"OPTIONS * HTTP/1.1\r\n", "looks-like-http"),
        (b"PRI * HTTP/2.0\r\n", "looks-like-http"),
    ],
)
def test_another_protocol_is_named_and_closed_at_once(framing: Framing, hello: bytes, reason: str) -> None:
    for pieces in ([hello], list(bytewise(hello)), *map(list, cuts(hello))):
        items = decode(*pieces, framing=framing)
        assert closed(items) == [reason]
        assert kinds(items) == [reason]


def test_an_http_verb_later_in_the_connection_is_noise() -> None:
    assert closed(decode(frame(A) + b"GET / HTTP/1.1\r\n" + frame(B))) == []


def test_the_beginning_of_a_verb_is_noise_when_it_ends_otherwise() -> None:
    for stream in (b"GEX" + frame(A), b"GE" + frame(A), b"\x16" + frame(A)):
        for pieces in ([stream], list(bytewise(stream))):
            items = decode(*pieces)
            assert payloads(items) == [A]
            assert set(kinds(items)) == {"noise"}


# What a person is shown.


def test_noise_before_the_first_frame_is_shown_up_to_16_bytes() -> None:
    [anomaly] = decode(b"[2007-07-12_14:40:53.897_Thread]")
    assert isinstance(anomaly, Anomaly)
    assert bytes.fromhex(anomaly.bytes_hex) == b"[2007-07-12_14:4"


def test_stray_bytes_are_shown_as_themselves() -> None:
    shown = {item.kind.value: item.bytes_hex for item in decode(BOM + b"\r\n\0 ") if isinstance(item, Anomaly)}
    assert shown == {"bom": "efbbbf", "stray-cr": "0d", "stray-lf": "0a", "stray-nul": "00", "stray-space": "20"}


@pytest.mark.parametrize(
    "pieces",
    [
        [b"MSH|^~\\&|SECRET\rPID|SECRET"],
        [frame(A), b"SECRET^SECRET"],
        [frame(A) + b"SECRET^SECRET" + frame(B) + b"SECRET"],
        [frame(A) + b"PID|1|SECRET\r", b"SECRET\r"],
        list(bytewise(b"PID|SECRET")),
        [b"[log", b"SECRET-SECRET"],
        [frame(b"") + b"SECRET", b"SECRET", FS + b"SECRET"],
        [VT + A + b"SEC\x1cRET\x0bSECRET" + frame(B)],
        [VT + VT + b"SECRET"],
    ],
)
@pytest.mark.parametrize("framing", list(Framing))
def test_nothing_that_may_be_payload_is_ever_shown(pieces: list[bytes], framing: Framing) -> None:
    for item in decode(*pieces, framing=framing, ends=True):
        if isinstance(item, Anomaly):
            assert len(item.bytes_hex) <= 32
            assert not set(b"SECRET") & set(bytes.fromhex(item.bytes_hex))


def test_encode_wraps_a_payload() -> None:
    assert encode(b"MSH|x\r") == b"\x0bMSH|x\r\x1c\r"


# Properties.

messages = st.binary(max_size=60).map(lambda tail: b"MSH|^~\\&|" + tail.translate(None, VT + FS) + CR)
soup = st.lists(
    st.sampled_from(
        [VT, FS, CR, LF, b"\0", b" ", BOM, b"\xef", b"\xbb", b"MSH", b"FHS", b"PID", b"|", b"x", A, frame(B)]
    )
).map(b"".join)


@st.composite
def pieces_of(draw: st.DrawFn, streams: st.SearchStrategy[bytes]) -> list[bytes]:
    stream = draw(streams)
    places = sorted(draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    return [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]


@given(st.lists(messages), st.sampled_from(Framing))
def test_what_was_encoded_is_decoded(sent: list[bytes], framing: Framing) -> None:
    stream = b"".join(map(encode, sent))
    assert payloads(decode(stream, framing=framing)) == sent
    assert payloads(decode(*bytewise(stream), framing=framing)) == sent


@given(pieces_of(soup), st.sampled_from([64, 16 << 20]))
def test_no_cut_changes_what_the_bytes_mean(pieces: list[bytes], cap: int) -> None:
    # A terminator inside is seen only when its continuation was read with it: that is the one thing a cut decides.
    byte_by_byte = decode(*bytewise(b"".join(pieces)), cap=cap, ends=True)
    together = decode(*pieces, cap=cap, ends=True)
    if "terminator-inside" not in refused(together):
        assert merged(together) == merged(byte_by_byte)


@given(pieces_of(soup), st.sampled_from(Framing))
def test_every_byte_is_accounted_for_and_no_two_messages_are_glued(pieces: list[bytes], framing: Framing) -> None:
    stream = b"".join(pieces)
    for item in decode(*pieces, framing=framing, ends=True):
        if isinstance(item, Frame):
            assert item.payload in stream
            assert stream[item.offset : item.offset + 1] == VT
            assert not any(VT + begin in item.payload[1:] for begin in (b"MSH", b"FHS", b"BHS", BOM + b"MSH"))


@given(pieces_of(soup))
def test_the_quick_way_tells_what_the_slow_way_tells(pieces: list[bytes]) -> None:
    slow = Decoder()
    slow._whole = lambda data: None  # type: ignore[method-assign]  # the slow way only
    assert [item for piece in pieces for item in slow.feed(piece)] == decode(*pieces)
