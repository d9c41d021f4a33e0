"""Bytes between frames, by kind."""

import pytest

from gateway.wire.noise import SHOWN, count, foreign, is_maybe_foreign, is_showable, undecided


def counted(stretch: bytes, *, after_frame: bool = False) -> list[tuple[str, int, int]]:
    return [(kind.value, first, number) for kind, first, number in count(stretch, after_frame=after_frame)]


@pytest.mark.parametrize(
    ("stretch", "told"),
    [
        (b"", []),
        (b"\n\n", [("stray-lf", 0, 2)]),
        (b"\r\n\0 ", [("stray-cr", 0, 1), ("stray-lf", 1, 1), ("stray-nul", 2, 1), ("stray-space", 3, 1)]),
        (b"\xef\xbb\xbf\xef\xbb\xbf", [("bom", 0, 6)]),
        (b"\nab \n\xef\xbb\xbfc", [("stray-lf", 0, 2), ("noise", 1, 3), ("stray-space", 3, 1), ("bom", 5, 3)]),
        (b"\x1c\r", [("noise", 0, 1), ("stray-cr", 1, 1)]),
    ],
)
def test_every_byte_is_counted_once_under_its_kind(stretch: bytes, told: list[tuple[str, int, int]]) -> None:
    assert counted(stretch) == told


@pytest.mark.parametrize(
    ("stretch", "told"),
    [
        (b"\x1c\r", [("doubled-trailer", 0, 2)]),
        (b"\x1c\r\x1c\r\x1c", [("doubled-trailer", 0, 5)]),
        (b"\n\x1c\r\r", [("stray-lf", 0, 1), ("doubled-trailer", 1, 2), ("stray-cr", 3, 1)]),
        (b"\xef\xbb\xbf\x1c\r", [("bom", 0, 3), ("doubled-trailer", 3, 2)]),
        (b"x\x1c\r", [("noise", 0, 2), ("stray-cr", 2, 1)]),
        (b"\x1cx\x1c", [("doubled-trailer", 0, 1), ("noise", 1, 2)]),
    ],
)
def test_a_trailer_right_after_a_frame_is_a_doubled_one(stretch: bytes, told: list[tuple[str, int, int]]) -> None:
    assert counted(stretch, after_frame=True) == told


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\x16\x03\x01", "looks-like-tls"),
        (b"GET /", "looks-like-http"),
        (b"CONNECT x", "looks-like-http"),
        (b"GETX", None),
        (b"MSH|", None),
        (b"", None),
    ],
)
def test_another_protocol_is_known_by_its_first_bytes(head: bytes, name: str | None) -> None:
    found = foreign(head)
    assert (found.value if found else None) == name


@pytest.mark.parametrize(
    ("head", "maybe"), [(b"G", True), (b"\x16", True), (b"OPTIONS", True), (b"GET ", False), (b"X", False)]
)
def test_too_few_bytes_are_not_decided(head: bytes, maybe: bool) -> None:
    assert is_maybe_foreign(head) is maybe


@pytest.mark.parametrize(
    ("stretch", "after_frame", "number"),
    [
        (b"x\xef", False, 1),
        (b"x\xef\xbb", False, 2),
        (b"x\xef\xbb\xbf", False, 0),
        (b"\x1c", True, 1),
        (b"\x1c", False, 0),
        (b"x", True, 0),
        (b"", True, 0),
    ],
)
def test_what_the_next_byte_decides_is_held_back(stretch: bytes, after_frame: bool, number: int) -> None:
    assert undecided(stretch, after_frame=after_frame) == number


@pytest.mark.parametrize(
    ("noise", "may"),
    [(b"[2007", True), (b"PROXY TCP4", True), (b"PID|", False), (b"Z1a#x", False), (b"ZZZ", False), (b"1ID|", True)],
)
def test_what_may_be_a_segment_is_not_shown(noise: bytes, may: bool) -> None:
    assert is_showable(noise) is may


def test_what_is_shown_of_a_stray_is_the_stray_itself() -> None:
    assert {kind.value: token for kind, token in SHOWN.items()} == {
        "stray-lf": b"\n",
        "stray-cr": b"\r",
        "stray-nul": b"\0",
        "stray-space": b" ",
        "bom": b"\xef\xbb\xbf",
        "doubled-trailer": b"\x1c\r",
    }
