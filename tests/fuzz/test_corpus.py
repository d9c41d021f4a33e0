"""The fuzz targets without a fuzzer: the seeds and the kept corpus replayed, and a short walk around them."""

from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import corpus, run
from tests.fuzz.catalogue import TARGETS
from tests.fuzz.metered import Metered, assert_linear, cost_of
from tests.fuzz.reach import reached
from tests.fuzz.target import Choices, Target, cut

every_target = pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])


@cache
def seeds_of(target: Target) -> tuple[bytes, ...]:
    return tuple(target.seeds())


@every_target
def test_the_seeds_do_no_harm(target: Target) -> None:
    assert seeds_of(target)
    for data in seeds_of(target):
        target.one(data)


@every_target
def test_the_kept_corpus_does_no_harm(target: Target) -> None:
    for data in corpus.kept(target.name):
        target.one(data)


@st.composite
def inputs(draw: st.DrawFn, target: Target) -> bytes:
    """Give choices before a row of tokens, or a known input with a few edits."""
    token = st.sampled_from(target.tokens) | st.binary(max_size=3)
    if draw(st.booleans()):
        return draw(st.binary(max_size=10)) + b"".join(draw(st.lists(token, max_size=14)))
    data = bytearray(draw(st.sampled_from([each for each in seeds_of(target) if len(each) < 2_000])))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 12))] = draw(token)
    return bytes(data)


@every_target
def test_a_short_walk_around_the_seeds_does_no_harm(target: Target) -> None:
    @settings(
        max_examples=120,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(inputs(target))
    def walk(data: bytes) -> None:
        target.one(data)

    walk()


# The tools themselves.


def test_every_target_can_be_run_by_its_name() -> None:
    assert tuple(target.name for target in TARGETS) == run.NAMES
    assert {file.stem for file in corpus.FOLDER.glob("*.txt")} <= set(run.NAMES)


def test_a_corpus_is_read_as_it_was_written(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "FOLDER", tmp_path)
    assert corpus.kept("x") == []
    everything = [bytes(range(256)), b"", b"'\"\n"]
    corpus.keep("x", [*everything, b""])
    assert sorted(corpus.kept("x")) == sorted(everything)


def test_choices_come_from_the_front_and_end_in_zeros() -> None:
    choices = Choices(b"\x05\x01abcd")
    assert (choices.number(3), choices.one_of("xy"), choices.take(2), choices.rest()) == (2, "y", b"ab", b"cd")
    used_up = Choices(b"")
    assert (used_up.number(9), used_up.one_of("xy"), used_up.take(3), used_up.rest()) == (0, "x", b"", b"")


def test_a_cut_loses_nothing() -> None:
    assert cut(b"abcd", [128, 64, 128]) == [b"a", b"b", b"cd"]
    assert b"".join(cut(b"abcd", range(256))) == b"abcd"
    assert cut(b"", [1]) == [b""]


def _quadratic(data: bytes) -> None:
    for at in range(len(data)):
        data.find(b"\xff", at)


def _chatty(data: bytes) -> None:
    for _ in range(len(data)):
        for _ in range(len(data)):
            len(data)


def _linear(data: bytes) -> None:
    at = data.find(b"x")
    while at >= 0:
        assert data[at : at + 1] == b"x"
        at = data.find(b"x", at + 1)


def test_quadratic_work_is_seen_and_linear_work_is_not() -> None:
    once, twice = Metered(b"x" * 100), Metered(b"x" * 200)
    assert_linear(_linear, once, twice)
    with pytest.raises(AssertionError, match="bytes, then"):
        assert_linear(_quadratic, once, twice)
    with pytest.raises(AssertionError, match="calls, then"):
        assert_linear(_chatty, once, twice)


def test_metered_bytes_are_the_same_bytes_and_count_what_is_looked_at() -> None:
    def operations() -> Iterator[object]:
        data = Metered(b"abcabc")
        yield data.find(b"c") == 2
        yield data.find(b"z", 2, 4) == -1
        yield data[1:3] == b"bc"
        yield data[0] == 97
        yield data + b"d" == b"abcabcd"
        yield b"d" + data == b"dabcabc"
        yield data.split(b"b", 1) == [b"a", b"cabc"]
        yield data.count(b"a") == 2
        yield data.replace(b"a", b"") == b"bcbc"
        yield data.__contains__(b"ca")
        buffer = bytearray(b"x")
        buffer += data
        yield type(buffer) is bytearray and buffer == b"xabcabc"

    assert cost_of(lambda: all(operations())).touched == 3 + 2 + 2 + 7 + 7 + 1 + 6 + 6 + 6
    assert all(operations())


def test_what_a_call_reaches_is_seen() -> None:
    target = TARGETS[1]
    short, long = (reached(lambda data=data: target.one(data)) for data in (b"", b"\0\0\0MSH|^~\\&|A\r"))  # type: ignore[misc]  # the default binds the loop's value
    assert short < long | short
    assert long - short
