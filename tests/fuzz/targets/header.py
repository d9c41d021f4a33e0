"""Reading MSH and fields by path: only HeaderUnreadable leaves, and no byte behind the segment has a say."""

from collections.abc import Iterable

from fixtures.make import ALL
from gateway.errors import HeaderUnreadable
from gateway.wire.header import Header, field, is_batch, is_path, is_several, scan
from tests.fuzz.metered import Metered, assert_linear
from tests.fuzz.target import Choices, Target, fixed_phrase

_ENCODINGS = (None, None, "utf-8", "GB 18030-2000", "BIG-5", "Shift_JIS", "ISO IR87", "cp949", "no such set")
_PATHS = ("MSH-1", "MSH-2", "MSH-3", "MSH-9.2", "MSH-10", "PID-3.1", "PID-3.1.1", "PID-5.2", "ZZZ-99", "MSH-99.99.99")
_BEHIND = b"\rMSH|^~\\&|other\rPID|9|\xff\x00\x1b$B"
_LONG = 1 << 12


def one(data: bytes) -> None:
    """Read one header in several ways."""
    choices = Choices(data)
    encoding, path = choices.one_of(_ENCODINGS), choices.one_of(_PATHS)
    weighs, payload = choices.number(32) == 1, choices.rest()
    is_path(payload.decode("latin-1"))
    is_batch(payload)
    if weighs:
        _weigh(payload, encoding, path)
    try:
        header = scan(payload, encoding=encoding)
    except HeaderUnreadable as why:
        fixed_phrase(why.reason)
        return
    _hold(payload, header)
    assert scan(payload + _BEHIND, encoding=encoding) == header
    for each in (path, "MSH-3", "MSH-10"):
        value = field(payload, header, each)
        assert value in payload
        assert not set(value) & set(b"\r\n")
    assert header.control_id.startswith(field(payload, header, "MSH-10"))
    assert header.sending_application.startswith(field(payload, header, "MSH-3"))
    assert field(payload, header, "MSH-2") == header.encoding_characters
    assert is_several(payload + b"\rMSH" + header.separator, header)


def _hold(payload: bytes, header: Header) -> None:
    assert payload.startswith(b"MSH" + header.separator + header.encoding_characters, header.start)
    assert not payload[: header.start].strip(b"\xef\xbb\xbf\r\n ")
    assert len(header.separator) == 1
    assert 1 <= len(header.encoding_characters) <= 16
    for value in header:
        if isinstance(value, bytes):
            assert value in payload
            assert not set(value) & set(b"\r\n")
            assert header.by_characters or value == header.separator or header.separator not in value
    kind, trigger = header.type_parts()
    assert header.message_type.startswith(kind)
    assert trigger in header.message_type


def _weigh(unit: bytes, encoding: str | None, path: str) -> None:
    # So many that the few dozen fields in which MSH-18 is looked for are there once already.
    once = unit * max(_LONG // max(1, len(unit)) + 1, 100)

    def read(data: bytes) -> None:
        metered = Metered(data)
        try:
            header = scan(metered, encoding=encoding)
        except HeaderUnreadable:
            return
        is_several(metered, header)
        field(metered, header, path)

    assert_linear(read, once, once + once)


def _seeds() -> Iterable[bytes]:
    for place, fixture in enumerate(ALL):
        if len(fixture.payload) < 2_000:
            yield bytes([place % len(_ENCODINGS), place % len(_PATHS), place % 8]) + fixture.payload
    yield b"\0\0\1MSH|" + b"|" * 40
    yield b"\0\0\1" + b"\xef\xbb\xbf \r\n" * 9 + b"MSH|x"


TARGET = Target(
    name="header",
    one=one,
    seeds=_seeds,
    tokens=(
        b"MSH",
        b"|",
        b"^",
        b"~",
        b"\\",
        b"&",
        b"\r",
        b"\n",
        b" ",
        b"\xef\xbb\xbf",
        b"\rMSH|",
        b"\rPID|",
        b"GB 18030-2000",
        b"BIG-5",
        b"Shift_JIS",
        b"ISO IR87",
        b"\x1b$B",
        b"\x1b(B",
        b"\x8a|",
        b"\x83\\",
    ),
)
