"""When certificates end, read from their files. Verifies nothing: that is OpenSSL's."""

import base64
import binascii
import re
from datetime import UTC, datetime

_CERTIFICATE = re.compile(
    rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----(.*?)-----END (?:X509 |TRUSTED )?CERTIFICATE-----", re.DOTALL
)
_CONSTRUCTED_0, _INTEGER, _SEQUENCE, _UTC_TIME, _GENERALIZED_TIME = 0xA0, 0x02, 0x30, 0x17, 0x18


def earliest_end(pem: bytes) -> int | None:
    """Give the Unix time in ms at which the first of a file's certificates ends; None if none can be read.

    A chain is as good as its first certificate to end.
    """
    ends = [end for found in _CERTIFICATE.findall(pem) if (end := _end_in(found)) is not None]
    return min(ends, default=None)


def _end_in(block: bytes) -> int | None:
    try:
        return _not_after(base64.b64decode(block))
    except (binascii.Error, ValueError, IndexError):
        return None


def _not_after(der: bytes) -> int:
    """Walk to validity.notAfter (RFC 5280, 4.1)."""
    certificate = _value(der, 0, _SEQUENCE)
    at = _value(der, certificate[0], _SEQUENCE)[0]
    if der[at] == _CONSTRUCTED_0:  # version, absent in version 1
        at = sum(_value(der, at, _CONSTRUCTED_0))
    at = sum(_value(der, at, _INTEGER))  # serialNumber
    at = sum(_value(der, at, _SEQUENCE))  # signature
    at = sum(_value(der, at, _SEQUENCE))  # issuer
    validity = _value(der, at, _SEQUENCE)[0]
    not_after = sum(_value(der, validity, der[validity]))  # behind notBefore
    return _time(der[not_after], der[slice(*_span(der, not_after))])


def _value(der: bytes, at: int, tag: int) -> tuple[int, int]:
    """Give where a value begins and how long it is. Raises ValueError if another tag stands there."""
    if der[at] != tag:
        raise ValueError("not the structure of a certificate")
    length, start = der[at + 1], at + 2
    if length >= 0x80:
        size = length & 0x7F
        length, start = int.from_bytes(der[start : start + size], "big"), start + size
    return start, length


def _span(der: bytes, at: int) -> tuple[int, int]:
    start, length = _value(der, at, der[at])
    return start, start + length


def _time(tag: int, value: bytes) -> int:
    text = value.decode("ascii")
    if tag == _UTC_TIME:
        # Two digits of the year stand for 1950 to 2049 (RFC 5280, 4.1.2.5.1).
        text = ("19" if text[:2] >= "50" else "20") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("not a time")
    return round(datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp() * 1000)
