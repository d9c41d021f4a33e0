"""The synthetic messages of a bench: an admission of a chosen size with a place for its control id. No sockets."""

from dataclasses import dataclass

from gateway.wire.mllp import encode

ADMISSION = 1_100
"""Bytes of the ordinary message."""

_PLACE = b"@CONTROL-ID@"
_HEAD = (
    b"MSH|^~\\&|BENCH|WARD|GATEWAY|HOSPITAL|20260105083000||ADT^A01^ADT_A01|"
    + _PLACE
    + b"|P|2.5.1|||||||UNICODE UTF-8\r"
    b"EVN|A01|20260105083000|||NURSE^TEST\r"
    b"PID|1||100200300^^^HOSP^MR||BENCH^ANNA^B||19700101|F|||1 MAIN STREET^^TOWN^^12345||555-0100|||S\r"
    b"PV1|1|I|WARD^101^A^HOSP||||1234^DOCTOR^TEST|||MED||||A0||||100200301^^^HOSP^VN|||||||||||||||||||HOSP\r"
)
_NOTE = b"NTE|%d|L|" + b"observed and noted without any finding; " * 4 + b"\r"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A frame around the place of its control id."""

    before: bytes
    after: bytes

    def frame(self, control_id: bytes) -> bytes:
        """Give one frame, ready for the socket."""
        return self.before + control_id + self.after


def template(size: int = ADMISSION) -> Template:
    """Make a message of about `size` bytes; an ordinary one is never cut below its header."""
    before, _, after = encode(payload(_PLACE, size)).partition(_PLACE)
    return Template(before=before, after=after)


def payload(control_id: bytes, size: int = ADMISSION) -> bytes:
    """Make one message of about `size` bytes, notes filling it up."""
    missing = max(0, size - len(_HEAD))
    notes = b"".join(_NOTE % number for number in range(1, -(-missing // len(_NOTE)) + 1))
    return _HEAD.replace(_PLACE, control_id) + notes[:missing].rstrip(b"\r") + b"\r"
