"""Captured frames are the bytes of the wire, cut where frames end, with the anomalies among them."""

import asyncio

from gateway.listener.options import ChannelOptions
from gateway.listener.server import Listener
from gateway.listener.trace import Trace
from gateway.model.anomalies import Caught
from gateway.model.ids import ChannelName
from gateway.wire.mllp import Decoder
from tests.listener.stage import ADT, Clock, Ids, Notes, SmallStore, dial, f, m


class Wanting:
    """A tap that wants a number of frames and has room for so many bytes."""

    def __init__(self, wanted: int, *, room: int = 1 << 20) -> None:
        self.wanted = wanted
        self.room = room
        self.caught: list[Caught] = []
        self.news = asyncio.Event()

    def wants(self, channel: ChannelName) -> bool:
        return channel == ADT and self.wanted > 0

    def hold(self, size: int) -> bool:
        if size > self.room:
            return False
        self.room -= size
        return True

    def release(self, size: int) -> None:
        self.room += size

    def take(self, caught: Caught) -> None:
        self.wanted -= 1
        self.caught.append(caught)
        self.news.set()


def traced(tap: Wanting, *pieces: bytes, ends: bool = True) -> list[Caught]:
    decoder, trace = Decoder(), Trace(tap, channel=ADT, wall=lambda: 5)
    trace.number, trace.peer = 3, "10.0.0.1:5"
    for piece in pieces:
        trace.saw(piece, decoder.feed(piece))
    if ends:
        trace.end(decoder.end())
    return tap.caught


def kinds(caught: Caught) -> list[tuple[str, int]]:
    return [(each.kind, each.offset) for each in caught.oddities]


STREAM = b"\n\n" + f(m("A1")) + b"\xef\xbb\xbf\x0b" + f(m("A2")) + b"\x0b" + m("A3") + b"\x1c" + f(m("A4")) + b"\nrest"


def test_frames_are_cut_so_that_nothing_of_the_wire_is_missing_or_doubled() -> None:
    caught = traced(Wanting(9), STREAM)
    assert b"".join(each.raw for each in caught) == STREAM
    assert [each.kind for each in caught] == ["frame", "frame", "frame", "frame", "unfinished"]
    assert [each.raw[-2:] for each in caught] == [b"\x1c\r", b"\x1c\r", b"\r\x1c", b"\x1c\r", b"st"]
    assert caught[0].raw == b"\n\n" + f(m("A1"))
    assert [kinds(each) for each in caught[:2]] == [
        [("stray-lf", 0)],
        [("bom", len(caught[0].raw)), ("doubled-vt", len(caught[0].raw) + 4)],
    ]
    assert [kind for kind, _ in kinds(caught[2])] == ["missing-cr"]
    assert {(each.peer, each.connection, each.lost) for each in caught} == {("10.0.0.1:5", 3, 0)}


def test_the_cuts_do_not_depend_on_how_the_bytes_came() -> None:
    whole = traced(Wanting(9), STREAM)
    for size in (1, 7, 100):
        pieces = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
        cut = traced(Wanting(9), *pieces)
        assert [each.raw for each in cut] == [each.raw for each in whole]
        assert [each.offset for each in cut] == [each.offset for each in whole]


def test_a_frame_that_began_before_anybody_asked_is_not_given() -> None:
    tap = Wanting(0)
    decoder, trace = Decoder(), Trace(tap, channel=ADT, wall=lambda: 5)
    first = f(m("A1"))
    trace.saw(first[:40], decoder.feed(first[:40]))
    tap.wanted = 9
    for piece in (first[40:], f(m("A2"))):
        trace.saw(piece, decoder.feed(piece))
    assert [each.raw for each in tap.caught] == [f(m("A2"))]
    assert tap.caught[0].offset == len(first)


def test_no_more_frames_are_given_than_wanted_and_all_room_comes_back() -> None:
    tap = Wanting(1)
    assert [each.raw for each in traced(tap, f(m("A1")) + f(m("A2")), f(m("A3")))] == [f(m("A1"))]
    assert tap.room == 1 << 20


def test_a_refused_frame_is_given_whole_under_its_kind() -> None:
    cut = b"\x0b" + m("A1") + b"\x1c\rOBX|1\r\x1c\r"
    caught = traced(Wanting(9), cut + f(m("A2")))
    assert caught[0].kind == "terminator-inside"
    assert caught[0].raw == b"\x0b" + m("A1") + b"\x1c\r"
    assert caught[1].raw == b"OBX|1\r\x1c\r" + f(m("A2"))


def test_what_a_connection_left_behind_is_given_too() -> None:
    (caught,) = traced(Wanting(9), b"GET / HTTP/1.1\r\n")
    assert (caught.kind, caught.raw) == ("unfinished", b"GET / HTTP/1.1\r\n")
    assert [kind for kind, _ in kinds(caught)] == ["looks-like-http"]


def test_bytes_without_room_are_counted_and_the_next_frame_is_whole_again() -> None:
    first, second = f(m("A1")), f(m("A2"))
    tap = Wanting(9, room=len(first) - 1)
    caught = traced(tap, first[:10], first[10:], second[:5], second[5:], ends=False)
    assert [(each.raw, each.lost) for each in caught] == [(first[:10], len(first) - 10), (second[:5], len(second) - 5)]
    tap = Wanting(9, room=len(first))
    assert [(each.raw, each.lost) for each in traced(tap, first, second)] == [(first, 0), (second, 0)]


def test_blanks_behind_the_last_frame_are_no_frame() -> None:
    tap = Wanting(9)
    assert [each.kind for each in traced(tap, f(m("A1")) + b"\r\n\0 ")] == ["frame"]
    assert tap.room == 1 << 20


async def test_a_listener_shows_its_frames_to_the_tap_and_answers_as_ever() -> None:
    tap, notes = Wanting(2), Notes()
    listener = Listener(
        ChannelOptions(name=ADT), store=SmallStore(), observer=notes, clock=Clock(), new_id=Ids(), tap=tap
    )
    await listener.start()
    sender = await dial(listener.address)
    assert b"MSA|AA|A1" in await sender.ask(m("A1"))
    sender.say(b"\x0b" + m("A2") + b"\x1c")  # its end comes with the end of the input
    assert [b"MSA|AA|A2" in answer for answer in await sender.finish()] == [True]
    async with asyncio.timeout(5):
        await tap.news.wait()
    assert [each.raw for each in tap.caught] == [f(m("A1")), b"\x0b" + m("A2") + b"\x1c"]
    assert kinds(tap.caught[1]) == [("missing-cr", len(f(m("A1"))) + len(m("A2")) + 1)]
    assert {each.connection for each in tap.caught} == {1}
    sender.close()
    await listener.stop(grace=1.0)


async def test_a_frame_in_utf_16_is_named_and_refused_in_words() -> None:
    notes = Notes()
    listener = Listener(ChannelOptions(name=ADT), store=SmallStore(), observer=notes, clock=Clock(), new_id=Ids())
    await listener.start()
    for encoding in ("utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-32-be"):
        sender = await dial(listener.address)
        answer = await sender.ask(m("A1").decode().encode(encoding))
        assert b"MSA|AE|" in answer
        assert b"UTF-16 and UTF-32 cannot be carried by MLLP" in answer
        sender.close()
    assert [(found["kind"], found["offset"], found["bytes_hex"]) for found in notes.anomalies].count(
        ("looks-like-utf-16", 0, "")
    ) == 5
    sender = await dial(listener.address)
    assert b"no MSH segment at the start" in await sender.ask(b"M\0X")
    sender.close()
    await listener.stop(grace=1.0)
