"""Setting MSH-13: no other character of the message changes, whatever the message is."""

import re
from collections.abc import Iterable

from fixtures.make import ALL
from gateway.errors import HeaderUnreadable
from gateway.wire.header import scan
from gateway.wire.stamp import body_of, stamp
from tests.fuzz.target import Choices, Target

_CODECS = ("utf-8", "iso8859-1", "windows-1252", "shift_jis", "gb18030", "ascii", "no such codec")


def one(data: bytes) -> None:
    """Stamp one message."""
    choices = Choices(data)
    codec, number = choices.one_of(_CODECS), choices.one_of((1, 9, 1 << 40))
    payload = choices.rest()
    try:
        header = scan(payload, encoding=codec if codec in {"shift_jis", "gb18030"} else None)
    except HeaderUnreadable:
        return
    text = body_of(payload, header.start, codec=codec, sequence=None)
    stamped = body_of(payload, header.start, codec=codec, sequence=number)
    assert stamped == stamp(text, number)
    _hold(text, stamped, number)
    assert stamp(stamped, number) == stamped
    assert stamp(stamp(text, 7), number) == stamped


def _hold(text: str, stamped: str, number: int) -> None:
    head, _, tail = _split(text)
    new_head, end, new_tail = _split(stamped)
    assert tail == new_tail
    separator = head[3]
    old, new = head.split(separator), new_head.split(separator)
    assert new[12] == str(number)
    if len(old) > 12:
        assert (old[:12], old[13:]) == (new[:12], new[13:])
    else:
        assert new == [*old, *[""] * (12 - len(old)), str(number)]
    assert end == _split(text)[1]


def _split(text: str) -> tuple[str, str, str]:
    """Give the first segment, its end, and the rest."""
    found = re.search(r"[\r\n]", text)
    return (text[: found.start()], found[0], text[found.end() :]) if found else (text, "", "")


def _seeds() -> Iterable[bytes]:
    for place, fixture in enumerate(ALL):
        if len(fixture.payload) < 2_000:
            yield bytes([place % len(_CODECS), place % 3]) + fixture.payload


TARGET = Target(
    name="stamps",
    one=one,
    seeds=_seeds,
    tokens=(b"MSH|^~\\&", b"|", b"||||", b"\r", b"\n", b"\xe2\x80\xa8", b"\x85", b"\x0c", b"\x83|", b"\x8a|", b"5"),
)
