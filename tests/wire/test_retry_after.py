"""How long a server may ask us to wait."""

import calendar
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.retry_after import retry_after

AT = 784_111_777  # Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (0, 0.0),
        (5, 5.0),
        (1.5, 1.5),
        (-3, 0.0),
        (300, 300.0),
        (301, 300.0),
        (10**18, 300.0),
        (1e300, 300.0),
        ("5", 5.0),
        (" 5.25 ", 5.25),
        ("3600", 300.0),
        (None, None),
        (True, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("\u0665", None),
        ([5], None),
        ({}, None),
    ],
)
def test_a_number_is_bounded_and_the_rest_is_absent(value: object, seconds: float | None) -> None:
    assert retry_after(value, now=0) == seconds


@pytest.mark.parametrize(
    "date", ["Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", " Sun, 06 Nov 1994 08:49:37 GMT "]
)
def test_a_date_is_counted_from_now(date: str) -> None:
    assert retry_after(date, now=AT - 20) == 20.0
    assert retry_after(date, now=AT - 0.5) == 0.5
    assert retry_after(date, now=AT + 1) == 0.0
    assert retry_after(date, now=AT - 10_000) == 300.0
    assert retry_after(date, now=None) is None


def test_a_date_with_two_digits_of_the_year_is_of_this_century() -> None:
    at = calendar.timegm((2026, 3, 1, 0, 0, 10))
    assert retry_after("Sunday, 01-Mar-26 00:00:10 GMT", now=at - 7) == 7.0


@pytest.mark.parametrize(
    "date", ["Sun, 06 Nox 1994 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 +0100"]
)
def test_what_is_no_http_date_is_absent(date: str) -> None:
    assert retry_after(date, now=0) is None


@given(st.integers(0, 4_102_444_800), st.integers(0, 300))
def test_every_date_is_counted_as_the_calendar_has_it(at: int, ahead: int) -> None:
    assert retry_after(formatdate(at, usegmt=True), now=at - ahead) == float(ahead)
    assert retry_after(time.asctime(time.gmtime(at)), now=at - ahead) == float(ahead)
