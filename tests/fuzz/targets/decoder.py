"""MLLP framing: any cut gives the same items, nothing is glued or invented, and the cost is linear."""

from collections.abc import Iterable, Sequence

from gateway.model.policy import Framing
from gateway.wire.mllp import Anomaly, AnomalyKind, BadFrame, Close, Decoder, Frame, Item
from tests.fuzz.metered import Metered, assert_linear
from tests.fuzz.target import Choices, Target, cut
from tests.wire.streams import CR, FS, VT, bytewise, decode, frame, merged, message

BOM = b"\xef\xbb\xbf"
_CAPS = (1 << 20, 64, 8, 1)
_OPENINGS = tuple(VT + mark + name for mark in (b"", BOM) for name in (b"MSH", b"FHS", b"BHS"))
_LONG = 1 << 8


def one(data: bytes) -> None:
    """Decode one stream in many ways."""
    choices = Choices(data)
    framing, cap = choices.one_of(tuple(Framing)), choices.one_of(_CAPS)
    last_word, weighs = choices.number(4), choices.number(32) == 1
    places = choices.take(choices.number(6))
    stream = choices.rest()
    pieces = cut(stream, places)
    together = decode(*pieces, framing=framing, cap=cap, ends=True)
    _hold(together, stream, cap)
    apart = decode(*bytewise(stream), framing=framing, cap=cap, ends=True)
    _hold(apart, stream, cap)
    _compare(together, apart)
    _end(pieces, framing, cap, last_word)
    if weighs and stream:
        _weigh(stream, framing, cap)


def _hold(items: Sequence[Item], stream: bytes, cap: int) -> None:
    """Hold what is true of any stream."""
    offsets = [item.offset for item in items if isinstance(item, Frame | BadFrame)]
    assert offsets == sorted(set(offsets))
    for item in items:
        if isinstance(item, Frame):
            assert len(item.payload) <= cap
            assert item.payload.strip(b"\r\n \0\t\xef\xbb\xbf")
            assert stream[item.offset : item.offset + 1] == VT
            behind = stream[item.offset :].lstrip(VT)
            assert behind.startswith(item.payload.lstrip(VT) + FS)
            assert not any(opening in item.payload for opening in _OPENINGS)
        if isinstance(item, Anomaly):
            assert item.count > 0 or item.kind is AnomalyKind.TRUNCATED
            assert len(item.bytes_hex) <= 32
    closes = [place for place, item in enumerate(items) if isinstance(item, Close)]
    assert closes in ([], [len(items) - 1])


def _compare(together: Sequence[Item], apart: Sequence[Item]) -> None:
    if any(isinstance(item, BadFrame) and item.kind is AnomalyKind.TERMINATOR_INSIDE for item in together):
        # Seen only when its continuation was read with it: that is the one thing a cut decides.
        given = {item.offset: item for item in apart if isinstance(item, Frame)}
        for item in together:
            if isinstance(item, Frame):
                assert given[item.offset] == item
            elif isinstance(item, BadFrame) and item.kind is AnomalyKind.TERMINATOR_INSIDE:
                assert item.offset in given
        return
    assert _normal(together) == _normal(apart)


def _normal(items: Sequence[Item]) -> list[object]:
    """Leave out what a cut decides: how much was read before a closing."""
    seen = merged(items)
    close = next((item for item in items if isinstance(item, Close)), None)
    if close is None or close.reason is AnomalyKind.OVERSIZE:
        return seen
    return [item for item in seen if not (isinstance(item, tuple) and isinstance(item[0], str))]


def _end(pieces: Sequence[bytes], framing: Framing, cap: int, last_word: int) -> None:
    """Let the session do what it may at any time; nothing comes after a closing."""
    decoder = Decoder(framing=framing, max_message_bytes=cap)
    items: list[Item] = []
    for place, piece in enumerate(pieces):
        items += decoder.feed(piece)
        assert decoder.frame_size >= 0
        assert decoder.frame_size <= cap + len(piece) + 8
        if place % 4 == last_word:
            items += decoder.silence()
    items += decoder.give_up() if last_word == 3 else decoder.end()
    if any(isinstance(item, Close) for item in items):
        assert isinstance(items[-1], Close)
        assert decoder.feed(frame(message())) == []
        assert decoder.end() == []


def _weigh(unit: bytes, framing: Framing, cap: int) -> None:
    once = unit * (_LONG // len(unit) + 1)

    def whole(data: bytes) -> None:
        Decoder(framing=framing, max_message_bytes=cap).feed(Metered(data))

    def in_bits(data: bytes) -> None:
        decoder = Decoder(framing=framing, max_message_bytes=cap)
        for at in range(0, len(data), 7):
            decoder.feed(Metered(data[at : at + 7]))

    for work in (whole, in_bits):
        assert_linear(work, once, once + once)


_SOUP = (VT, FS, CR, b"\n", b"\0", b" ", BOM, b"\xef", b"\xbb", b"\x16\x03", b"GET ", b"MSH|", b"FHS", b"PID|")


def _seeds() -> Iterable[bytes]:
    one, two = message("A1"), message("A2")
    streams = (
        frame(one) + frame(two),
        frame(one) + b"\n" + frame(two),
        BOM + frame(one) + BOM + FS + CR,
        VT + one[:40] + frame(two),
        VT + one + FS + frame(two),
        frame(one) + b"OBX|1\r" + FS + CR,
        VT + VT + one + FS + CR + FS + CR,
        frame(b"") + frame(b"\r\n") + frame(VT),
        b"\x16\x03\x01\x02",
        b"GET / HTTP/1.1\r\n" + frame(one),
        b"[a line of a log]\r\n" + frame(one),
        VT + b"x" * 70 + VT + b"MS",
        b"".join(_SOUP),
    )
    for place, stream in enumerate(streams):
        yield bytes([place % 2, place % 4, place % 4, place % 2, 3, 40, 90, 200]) + stream


TARGET = Target(
    name="decoder",
    one=one,
    seeds=_seeds,
    tokens=(*_SOUP, frame(message("T"))),
    longest=300,  # each is decoded byte by byte, too
)
