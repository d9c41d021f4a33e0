"""The kinds of value a key may have, with their bounds and plain-language refusals. Reads no file."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic.functional_validators import AfterValidator

from gateway.config.address import Address, parse
from gateway.wire import charset

DAY = 86_400.0
YEAR = 365 * DAY

_NAME = re.compile(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)*")
_MSH_PATH = re.compile(r"MSH-[1-9][0-9]?(\.[1-9][0-9]?)?")
_FIELD_PATH = re.compile(r"[A-Z][A-Z0-9]{2}-[1-9][0-9]{0,2}(\.[1-9][0-9]?)?")
_EVENT = re.compile(r"[A-Z0-9]{3}(\^[A-Z0-9]{3})?")
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_WORD = re.compile(r"[!-~]+")


class Table(BaseModel):
    """One table of the file: frozen, and a key it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def _matching(pattern: re.Pattern[str], refusal: str, longest: int = 64) -> AfterValidator:
    def check(text: str) -> str:
        if len(text) > longest or not pattern.fullmatch(text):
            raise ValueError(refusal)
        return text

    return AfterValidator(check)


def _address(value: object) -> Address:
    if isinstance(value, Address):
        return value
    if not isinstance(value, str):
        raise ValueError("must be HOST:PORT in quotes")  # noqa: TRY004 - pydantic reports ValueError, not TypeError
    return parse(value)


def _network(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be an address or a network in quotes")  # noqa: TRY004 - see _address
    try:
        return str(ipaddress.ip_network(value))
    except ValueError:
        raise ValueError("must be an IP address or a network such as 10.1.0.0/16, without host bits") from None


def _fingerprint(text: str) -> str:
    """Read what tools print (`9F:86:...`, with or without `sha256:`) as plain lower-case hex."""
    digits = text.lower().removeprefix("sha256:").replace(":", "")
    if not _FINGERPRINT.fullmatch(digits):
        raise ValueError("must be the SHA-256 of a certificate: 64 hexadecimal digits, with or without colons")
    return digits


def _encoding(name: str) -> str:
    if not charset.is_known(name):
        raise ValueError("is no encoding this gateway can read; use a name of table 0211 or a Python codec name")
    return name


def _path(value: object) -> object:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value.strip() or "\x00" in value:
        raise ValueError("must name a file or folder, in quotes")
    return value


Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True)]
Seconds = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Rate = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Location = Annotated[Path, BeforeValidator(_path)]
Name = Annotated[str, _matching(_NAME, "must be letters and digits, joined by single . _ or -, at most 63", 63)]
MshPath = Annotated[str, _matching(_MSH_PATH, "must be a field of MSH such as MSH-3 or MSH-3.1")]
FieldPath = Annotated[str, _matching(_FIELD_PATH, "must be a field such as PID-3 or PID-3.1")]
EventName = Annotated[str, _matching(_EVENT, "must be a message type such as ADT, or a type and event such as ADT^A01")]
Word = Annotated[str, _matching(_WORD, "must be visible ASCII characters, 1 to 64")]
Encoding = Annotated[str, AfterValidator(_encoding)]
Fingerprint = Annotated[str, AfterValidator(_fingerprint)]
Network = Annotated[str, BeforeValidator(_network)]
Listen = Annotated[
    Address,
    BeforeValidator(_address),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^.+:[0-9]{1,5}$"}),
]
