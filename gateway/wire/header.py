"""Reading MSH by a byte scan whose cost does not depend on the message's length (INTAKE, section 2)."""

from dataclasses import dataclass

from gateway.model.ids import ControlId


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """MSH as received; every field is its raw bytes, empty when absent.

    `start` is the offset of `MSH` in the payload; `separator` one byte (MSH-1); `encoding_characters` MSH-2.
    """

    start: int
    separator: bytes
    encoding_characters: bytes
    sending_application: bytes
    sending_facility: bytes
    receiving_application: bytes
    receiving_facility: bytes
    timestamp: bytes
    message_type: bytes
    control_id: ControlId
    processing_id: bytes
    version: bytes
    sequence: bytes
    accept_ack: bytes
    application_ack: bytes
    charset: bytes

    @property
    def component_separator(self) -> bytes:
        """First byte of MSH-2."""

    def type_parts(self) -> tuple[bytes, bytes]:
        """MSH-9.1 and MSH-9.2."""


def scan(payload: bytes, *, encoding: str | None = None) -> Header:
    """Read MSH. `encoding`: the channel's fixed codec name, if any; a codec whose trail bytes can look like
    separators (GB18030, Big5, Shift_JIS, ISO-2022-JP), given or found in MSH-18, makes it scan by characters.

    Raises HeaderUnreadable (no MSH after BOM/CR/LF/space; MSH-1 a letter, digit, space, control byte or equal to
    the first byte of MSH-2; MSH-2 empty or longer than 16).
    """


def is_several(payload: bytes, header: Header) -> bool:
    """True when another segment of the frame begins `MSH` + MSH-1, though no batch header leads (one pass)."""


def is_batch(payload: bytes) -> bool:
    """True when the frame begins, after BOM/CR/LF/space, with FHS or BHS."""


def field(payload: bytes, header: Header, path: str) -> bytes:
    """Give the bytes at a path such as `PID-3.1` or `MSH-4` (first segment of that name, first repetition);
    b"" when absent.
    """
