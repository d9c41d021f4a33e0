"""Splitting batches: every message comes out, whole, in order and once; the answer has one ACK for each."""

import re
from collections.abc import Iterable

from gateway.errors import HeaderUnreadable
from gateway.wire.batch import Batch, answer, split
from gateway.wire.header import is_batch
from tests.fuzz.metered import assert_linear
from tests.fuzz.target import Choices, Target, fixed_phrase

_MSH = re.compile(rb"(?:\A|(?<=[\r\n]))MSH(?![A-Za-z0-9])")
_HEADERS = re.compile(rb"(?:\A|(?<=[\r]))(?:FHS|BHS)(?![A-Za-z0-9])")
_ACK = b"MSH|^~\\&|||||20260101||ACK|G|P|2.5\rMSA|AA|1\r"
_ENCODINGS = (None, None, None, "Shift_JIS", "GB 18030-2000")
_LONG = 1 << 12


def one(data: bytes) -> None:
    """Split one frame and answer it."""
    choices = Choices(data)
    encoding, owed, weighs = choices.one_of(_ENCODINGS), choices.number(256), choices.number(32) == 1
    payload = choices.rest()
    if weighs:
        _weigh(payload, encoding)
    try:
        batch = split(payload, encoding=encoding)
    except HeaderUnreadable as why:
        fixed_phrase(why.reason)
        return
    _hold(batch, payload)
    acks = [_ACK if owed >> (place % 8) & 1 else b"" for place in range(len(batch.messages))]
    ids = [f"B{place}" for place in range(batch.headers)]
    built = answer(batch, acks, ids=ids, timestamp="20260101120000+0000")
    assert built.count(_ACK) == sum(map(bool, acks))
    if batch.headers:
        assert is_batch(built)
        assert len(_HEADERS.findall(built)) == batch.headers
        assert built.endswith(b"\r")


def _hold(batch: Batch, payload: bytes) -> None:
    at = 0
    for message in batch.messages:
        assert _MSH.match(message)
        found = payload.find(message, at)
        assert found >= 0
        at = found + len(message)
    assert len(batch.messages) == len(_MSH.findall(payload))
    for group in batch.groups:
        assert group.declared is None or group.declared >= 0


def _weigh(unit: bytes, encoding: str | None) -> None:
    once = b"FHS|^~\\&|\r" + unit * (_LONG // max(1, len(unit)) + 1)

    def read(data: bytes) -> None:
        try:
            split(data, encoding=encoding)
        except HeaderUnreadable:
            return

    assert_linear(read, once, once + once[10:])


def _seeds() -> Iterable[bytes]:
    message = b"MSH|^~\\&|A|B|C|D|20260101||ADT^A01|1|P|2.5\rPID|1\r"
    for place, text in enumerate(
        (
            b"FHS|^~\\&|A|B|C|D|2026||||F1\rBHS|^~\\&|A|B|C|D|2026||||B1\r" + message * 2 + b"BTS|2\rFTS|1\r",
            b"BHS|^~\\&|A\r" + message + b"BTS|1\r",
            b"BHS|^~\\&|\rBTS|0\r",
            b"FHS|^~\\&|\r" + message + b"BHS|^~\\&|\n" + message + b"BTS|9\nBHS#*~!$#\r" + message + b"FTS\r",
            b"\xef\xbb\xbf\r\n FHS|^~\\&|\rPID|1\r" + message,
            b"FHS|^~\\&\rFHS|^~\\&\r",
            b"BHS\r" + message,
        )
    ):
        yield bytes([place % 5, 85 + place, place % 8]) + text


TARGET = Target(
    name="batches",
    one=one,
    seeds=_seeds,
    tokens=(
        b"FHS|^~\\&|",
        b"BHS|^~\\&|",
        b"MSH|^~\\&|",
        b"BTS|2",
        b"FTS|1",
        b"\r",
        b"\n",
        b"|",
        b"\x1c",
        b"\x0b",
        b" ",
        b"PID|",
    ),
)
