from itertools import count

import pytest

from fixtures.make import ALL
from fixtures.shape import Fixture
from gateway.sender.control_ids import read, renew


def fresh() -> str:
    return "FRESH"


@pytest.mark.parametrize("fixture", ALL, ids=lambda fixture: fixture.name)
def test_msh_10_is_read_from_every_fixture(fixture: Fixture) -> None:
    assert read(fixture.payload) == (fixture.control_id,)


@pytest.mark.parametrize("fixture", [one for one in ALL if one.control_id], ids=lambda fixture: fixture.name)
def test_renewing_changes_msh_10_and_no_other_byte(fixture: Fixture) -> None:
    renewed = renew(fixture.payload, fresh)
    assert fixture.payload.count(fixture.control_id) >= 1
    assert read(renewed) == (b"FRESH",)
    at = renewed.index(b"FRESH")
    assert renewed[:at] + fixture.control_id + renewed[at + 5 :] == fixture.payload


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"no header",
        b"MSH|^~\\&|A|B|C|D|2026||ADT^A01||P|2.5\r",
        b"MSH|^~\\&|A|B|C|D|2026||ADT^A01",
        b"MSH|^~\\&|A\r",
    ],
    ids=["nothing", "no-msh", "empty", "ends-before", "short"],
)
def test_a_message_without_an_id_keeps_having_none(payload: bytes) -> None:
    assert read(payload) == (b"",)
    assert renew(payload, fresh) == payload


def test_an_id_equal_to_other_fields_is_the_only_one_renewed() -> None:
    payload = b"MSH|^~\\&|X|X|X|X|X|X|X|X|X|X|X\rZZZ|X|X|X\r"
    assert renew(payload, fresh) == b"MSH|^~\\&|X|X|X|X|X|X|X|FRESH|X|X|X\rZZZ|X|X|X\r"


def test_a_security_field_before_the_type_does_not_mislead() -> None:
    payload = b"MSH|^~\\&|A|B|C|D|2026|SECRET|ADT^A01|77|P|2.5\r"
    assert renew(payload, fresh) == payload.replace(b"|77|", b"|FRESH|")


def test_an_id_that_begins_a_longer_one_is_not_cut() -> None:
    payload = b"MSH|^~\\&|A|B|C|D|2026||ADT|7"
    assert renew(payload, fresh) == b"MSH|^~\\&|A|B|C|D|2026||ADT|FRESH"


def test_every_message_of_a_batch_has_its_own_id() -> None:
    one = "MSH|^~\\&|A|B|C|D|2026||ADT^A01|{}|P|2.5\rEVN|A01\r"
    broken = "MSHX no header\r"
    batch = "FHS|^~\\&|A\rBHS|^~\\&|A\r" + one.format("B1") + broken + one.format("B2") + "BTS|2\rFTS|1\r"
    numbers = count(1)
    assert read(batch.encode()) == (b"B1", b"B2")
    renewed = renew(batch.encode(), lambda: f"N{next(numbers)}")
    assert renewed == batch.replace("|B1|", "|N1|").replace("|B2|", "|N2|").encode()


def test_an_unreadable_header_inside_a_batch_is_passed_over() -> None:
    batch = b"BHS|^~\\&|A\rMSH||A|B|C|D|2026||ADT^A01|B1|P|2.5\rMSH|^~\\&|A|B|C|D|2026||ADT^A01|B2|P|2.5\rBTS|2"
    assert read(batch) == (b"B2",)
