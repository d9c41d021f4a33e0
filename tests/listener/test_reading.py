"""What the store is offered: keys nobody can forge by shifting bytes, partitions, barriers, flags."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.listener.answers import timestamp
from gateway.listener.door import is_within
from gateway.listener.kinds import join
from gateway.listener.lines import Lines
from gateway.listener.options import BARRIERS, ChannelOptions
from gateway.listener.rate import Rate
from gateway.listener.reading import Message, Reader
from gateway.listener.slots import Peer, peer_at
from gateway.model.ids import ChannelName
from gateway.model.intake import Offer
from tests.listener.stage import ADT, m

PLAIN = ChannelOptions(name=ADT)


def offer(payload: bytes, options: ChannelOptions = PLAIN, *, identity: str = "") -> Offer:
    found = Reader(options).read(payload, remote="10.0.0.1:5", identity=identity, received_at=7)
    assert isinstance(found, Message)
    return found.offer


def addressed(application: bytes, facility: bytes, control_id: bytes) -> bytes:
    return b"MSH|^~\\&|" + application + b"|" + facility + b"|||||ADT^A01|" + control_id + b"|P|2.5\r"


def test_keys_differ_by_every_part() -> None:
    others = [
        offer(m("A1")),
        offer(m("A2")),
        offer(m("A1").replace(b"SNDAPP", b"X")),
        offer(m("A1").replace(b"SNDFAC", b"X")),
        offer(m("A1"), replace(PLAIN, name=ChannelName("lab"))),
        offer(m("A1"), identity="ward"),
        offer(m("A1"), identity="lab"),
    ]
    assert all(one.key != other.key for one, other in combinations(others, 2))
    assert {len(one.key) for one in others} == {16}


def test_the_key_ignores_what_it_does_not_name() -> None:
    assert offer(m("A1")).key == offer(m("A1", patient="EVA")).key
    alone = replace(PLAIN, dedupe_key=("MSH-10",))
    assert offer(m("A1"), alone).key == offer(m("A1").replace(b"SNDAPP", b"X"), alone).key


def test_a_key_may_name_a_component() -> None:
    options = replace(PLAIN, dedupe_key=("MSH-3.1", "MSH-10"))
    same, other = addressed(b"APP^1", b"", b"A1"), addressed(b"APP^2", b"", b"A1")
    assert offer(same, options).key == offer(other, options).key
    assert offer(same).key != offer(other).key


words = st.binary(max_size=6).filter(lambda word: not set(word) & set(b"|\r\n\x1b^~\\&") and word.isascii())


@given(st.tuples(words, words, words), st.tuples(words, words, words))
def test_no_two_senders_share_a_key(one: tuple[bytes, bytes, bytes], other: tuple[bytes, bytes, bytes]) -> None:
    options = replace(PLAIN, require_control_id=False)
    is_same = one == other
    assert (offer(addressed(*one), options).key == offer(addressed(*other), options).key) == is_same


@given(
    st.lists(st.text(alphabet="a|\\", max_size=4), max_size=3),
    st.lists(st.text(alphabet="a|\\", max_size=4), max_size=3),
)
def test_joined_texts_are_equal_only_for_equal_lists(one: list[str], other: list[str]) -> None:
    if len(one) == len(other):
        assert (join(*one) == join(*other)) == (one == other)


@pytest.mark.parametrize(
    ("order_by", "expected"),
    [
        (None, ""),
        ((), ""),
        (("PID-3.1",), "1001"),
        (("PID-3.1", "PID-3.4"), "1001|HOSP"),
        (("PV1-19",), ""),
        (("PV1-19", "PID-3.1"), "|1001"),
        (("MSH-4",), "SNDFAC"),
    ],
)
def test_the_partition_is_the_value_of_the_fields(order_by: tuple[str, ...] | None, expected: str) -> None:
    assert offer(m("A1"), replace(PLAIN, order_by=order_by)).partition == expected


@pytest.mark.parametrize(
    ("kind", "is_barrier"),
    [(b"ADT^A40^ADT_A39", True), (b"ADT^A17", True), (b"ADT^A01", False), (b"ORU^A40", False), (b"ADT", False)],
)
def test_merges_and_moves_are_barriers(kind: bytes, is_barrier: bool) -> None:
    assert offer(m("A1").replace(b"ADT^A01^ADT_A01", kind)).barrier is is_barrier


def test_the_barriers_are_those_of_the_patient_merging_events() -> None:
    numbers = {17, 18, 24, 30, 34, 35, 36, 37, *range(39, 52)}
    assert {f"ADT^A{number}" for number in numbers} == BARRIERS
    mine = replace(PLAIN, order_barrier=frozenset({"ORU^R01"}))
    assert not offer(m("A1").replace(b"ADT^A01^ADT_A01", b"ADT^A40"), mine).barrier
    assert offer(m("A1").replace(b"ADT^A01^ADT_A01", b"ORU^R01"), mine).barrier


def test_the_rest_of_the_offer_is_what_was_received() -> None:
    found = offer(m("A1").replace(b"|2.5.1", b"|2.5.1|12|||||8859/1"))
    assert (found.remote, found.received_at, found.inbound_sequence) == ("10.0.0.1:5", 7, "12")
    assert (found.declared_charset, found.version, found.message_type) == ("8859/1", "2.5.1", "ADT^A01")
    assert not found.stamped


def test_a_fixed_encoding_wins_over_msh_18() -> None:
    message = m("A1").replace(b"|2.5.1", b"|2.5.1||||||UNICODE UTF-8") + b"NTE|1||\xe9\r"
    found = offer(message, replace(PLAIN, encoding="8859/1"))
    assert "encoding-mismatch" not in found.flags
    assert b"\xe9".decode(found.encoding) == "é"


def test_the_default_encoding_is_for_messages_that_name_none() -> None:
    message = m("A1") + b"NTE|1||\xe9\r"
    assert offer(message).flags == ("encoding-mismatch",)
    assert offer(message, replace(PLAIN, default_encoding="8859/1")).flags == ()


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC0", "20260101110000+0000"),
        ("CET-1", "20260101120000+0100"),
        ("IST-5:30", "20260101163000+0530"),
        ("NST3:30", "20260101073000-0330"),
    ],
)
def test_times_are_local_with_their_offset(monkeypatch: pytest.MonkeyPatch, zone: str, expected: str) -> None:
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert timestamp(1_767_265_200) == expected
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_rate_lets_a_second_of_messages_through_and_then_spaces_them() -> None:
    rate = Rate(4)
    waits = [rate.reserve(100.0, longest=5) for _ in range(7)]
    assert waits == [0, 0, 0, 0, 0.25, 0.5, 0.75]
    assert rate.reserve(100.0, longest=0.5) is None
    assert rate.reserve(101.0, longest=5) == 0
    assert [rate.reserve(200.0, longest=5) for _ in range(5)] == [0, 0, 0, 0, 0.25]


def test_no_rate_means_no_wait() -> None:
    rate = Rate(0)
    assert [rate.reserve(0.0, longest=0) for _ in range(100)] == [0.0] * 100


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("11.0.0.1", False),
        ("fd00::1", True),
        ("fe80::1", False),
        ("", False),
    ],
)
def test_an_address_is_looked_up_in_every_network(host: str, inside: bool) -> None:
    from ipaddress import ip_network

    assert is_within(host, (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))) is inside


class Stub:
    """A line as `Lines` sees it."""

    def __init__(self, number: int, host: str = "h", *, is_open: bool = True) -> None:
        self.number = number
        self.peer = peer_at(host, number)
        self.is_open = is_open

    def push(self, answer: bytes) -> bool:
        raise AssertionError


def test_lines_finds_the_newest_open_one_and_forgets() -> None:
    lines = Lines()
    one, two, closed, elsewhere = Stub(1), Stub(2), Stub(3, is_open=False), Stub(4, "other")
    for line in (two, one, closed, elsewhere):
        assert lines.note(line, "S")
    assert not lines.note(one, "S")
    assert lines.newest("h", "S") is two
    lines.forget(two)
    assert lines.newest("h", "S") is one
    lines.forget(one)
    assert lines.newest("h", "S") is None
    assert lines.newest("h", "T") is None


def test_lines_remembers_a_bounded_number_of_senders_per_connection() -> None:
    lines, line = Lines(), Stub(1)
    for number in range(300):
        lines.note(line, f"S{number}")
    assert lines.newest("h", "S0") is None
    assert lines.newest("h", "S299") is line
    lines.forget(line)
    assert lines._open == {}


def test_a_peer_is_named_by_its_certificate_else_by_its_address() -> None:
    assert peer_at("10.0.0.1", 5).name == "10.0.0.1"
    assert Peer(host="10.0.0.1", text="10.0.0.1:5", identity="ward").name == "ward"
    assert peer_at("::1", 5).text == "[::1]:5"
