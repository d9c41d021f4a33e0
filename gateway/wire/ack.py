"""Building and reading acknowledgements (INTAKE, section 4). Pure: same inputs, same bytes."""

from dataclasses import dataclass
from enum import StrEnum

from gateway.model.upstream import Msa
from gateway.wire.header import Header


class AckCode(StrEnum):
    """Table 0008."""

    AA = "AA"
    AE = "AE"
    AR = "AR"
    CA = "CA"
    CE = "CE"
    CR = "CR"


class Condition(StrEnum):
    """Table 0357, the codes we use."""

    SEGMENT_SEQUENCE = "100"
    REQUIRED_FIELD = "101"
    DATA_TYPE = "102"
    TABLE_VALUE = "103"
    VALUE_TOO_LONG = "104"
    UNSUPPORTED_TYPE = "200"
    UNSUPPORTED_EVENT = "201"
    UNSUPPORTED_PROCESSING_ID = "202"
    UNSUPPORTED_VERSION = "203"
    DUPLICATE_KEY = "205"
    RECORD_LOCKED = "206"
    INTERNAL_ERROR = "207"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why an answer is negative: condition, the MSH field it is about (None: the whole message), our own words
    (<= 80 ASCII characters, never content).
    """

    condition: Condition
    field: int | None
    text: str


def build(
    header: Header | None,
    code: AckCode,
    *,
    message_id: str,
    timestamp: str,
    problem: Problem | None = None,
    expected_sequence: int | None = None,
    codec: str = "utf-8",
) -> bytes:
    """Build an ACK; `header` None: the sender's header could not be read. `message_id` is MSH-10 of the answer
    (<= 20 ASCII), `timestamp` MSH-7 (`YYYYMMDDHHMMSS+ZZZZ`), `expected_sequence` MSA-4, `codec` what the header's
    bytes are in (echoed bytes stay as they are).
    """


def read_msa(body: str) -> Msa | None:
    """Read MSA-1, MSA-2 and every ERR code of an answer body; None when there is no readable MSA."""
