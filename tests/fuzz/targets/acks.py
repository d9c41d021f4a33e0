"""Building an ACK for any header that can come out of a frame, read back by our own readers and by `hl7`."""

import re
from collections.abc import Iterable

import hl7

from fixtures.make import ALL
from gateway.errors import CharsetUnusable, HeaderUnreadable
from gateway.wire.ack import AckCode, Condition, Problem, build, read_msa
from gateway.wire.charset import decode_stored, resolve
from gateway.wire.header import Header, scan
from gateway.wire.mllp import Anomaly, Decoder, Frame, encode
from tests.fuzz.target import Choices, Target

_ID, _AT = "G0000000000000000001", "20260101120000+0100"
_TEXTS = ("why", "MSH-10 is required", "a|b^c~d\\e&f#g*h", "x" * 200, "é€")
_USUAL = re.compile(rb"[!-/:-@\[-`{-~]{4}")  # `hl7` splits the names of segments at letters, too


def one(data: bytes) -> None:
    """Build one answer and read it back."""
    choices = Choices(data)
    code, condition = choices.one_of(tuple(AckCode)), choices.one_of(tuple(Condition))
    about, text = choices.one_of((None, 9, 10, 12)), choices.one_of(_TEXTS)
    has_problem, expected = choices.number(2), choices.one_of((None, -1, 0, 5))
    header = _header(choices.rest())
    problem = Problem(condition=condition, field=about, text=text) if has_problem else None
    codec = _codec(header)
    answer = build(
        header,
        code,
        message_id=_ID,
        timestamp=_AT,
        problem=problem,
        expected_sequence=expected,
        codec=codec,
    )
    _frame(answer, segments=3 if problem else 2)
    _read_back(answer, header, code, codec)


def _header(payload: bytes) -> Header | None:
    """Read the header as a channel would: of what framing gives."""
    frames = [item for item in Decoder().feed(encode(payload)) if isinstance(item, Frame)]
    try:
        return scan(frames[0].payload) if frames else None
    except HeaderUnreadable:
        return None


def _codec(header: Header | None) -> str:
    if header is None:
        return "utf-8"
    try:
        found = resolve(
            header.charset, separator=header.repetition_separator, configured=None, default="utf-8", payload=b""
        )
    except CharsetUnusable:
        return "utf-8"
    return found.codec


def _frame(answer: bytes, *, segments: int) -> None:
    """Hold that no value became structure: one frame, as many segments as were written, each with its end."""
    items = [item for item in Decoder().feed(encode(answer)) if not isinstance(item, Anomaly)]
    assert items == [Frame(answer, 0)]  # MSH-2 comes back untouched, and may hold VT
    assert answer.endswith(b"\r")
    assert answer.count(b"\r") == segments
    assert b"\n" not in answer


def _read_back(answer: bytes, header: Header | None, code: AckCode, codec: str) -> None:
    read = scan(answer)
    assert read.control_id == _ID.encode()
    if header is None:
        assert read.separator == b"|"
        return
    assert (read.separator, read.encoding_characters) == (header.separator, header.encoding_characters)
    if not _is_plain(header):
        return
    assert read.receiving_application == header.sending_application
    assert read.receiving_facility == header.sending_facility
    assert (read.processing_id, read.version) == (header.processing_id, header.version)
    text = decode_stored(answer, codec)
    msa = read_msa(text)
    assert msa is not None
    assert msa.code == code.value
    assert msa.control_id == decode_stored(header.control_id, codec)
    if _USUAL.fullmatch(header.encoding_characters) and len({*header.encoding_characters, *header.separator}) == 5:
        # `hl7` strips the end of a message, and a control id may end in a space.
        found = hl7.parse(text + "ZZZ" + header.separator.decode("latin-1") + ".").segment("MSA")
        assert str(found[1]) == code.value
        assert str(found[2]) == msa.control_id


def _is_plain(header: Header) -> bool:
    """Tell whether every value can be echoed as it is, and means the same to a reader of bytes."""
    values = b"".join(value for value in header if isinstance(value, bytes))
    return (
        header.by_characters is None and header.separator.isascii() and not re.search(rb"[\x00-\x1f\x7f-\xff]", values)
    )


def _seeds() -> Iterable[bytes]:
    for place, fixture in enumerate(ALL):
        if len(fixture.payload) < 2_000:
            yield bytes([place % 6, place % 12, place % 4, place % 5, place % 2, place % 4]) + fixture.payload
    yield bytes(6) + b"MSH#*~!$#A#B*2.16#C#D#20260101##ADT*A01#77#P#2.5\r"
    yield bytes([1, 8, 1, 2, 1, 1]) + b"MSH|^~|||||||ADT^A01|1|P|2.2\r"


TARGET = Target(
    name="acks",
    one=one,
    seeds=_seeds,
    tokens=(
        b"MSH|^~\\&|",
        b"MSH#*~!$#",
        b"|",
        b"^",
        b"~",
        b"\\",
        b"&",
        b"#",
        b"\r",
        b"\x0b",
        b"\x1c",
        b"\x1b",
        b"2.5.1",
        b"2.7",
        b"2.2",
        b"UNICODE UTF-16",
        b"Shift_JIS",
        b"ISO IR87",
        b"ADT^A01^ADT_A01",
    ),
)
