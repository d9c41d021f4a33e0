"""A row's number and its public UUID turn into each other."""

from uuid import RFC_4122, UUID

from hypothesis import given
from hypothesis import strategies as st

from gateway.model.ids import RowId, new_store_id, row_of, row_uuid

rows = st.integers(1, (1 << 48) - 1).map(RowId)
entropy = st.binary(min_size=16, max_size=16)


@given(entropy, rows)
def test_a_row_is_read_back_from_its_uuid(random: bytes, row: RowId) -> None:
    assert row_of(new_store_id(random), row_uuid(new_store_id(random), row)) == row


@given(entropy, rows)
def test_a_public_id_is_a_valid_uuid_of_version_8(random: bytes, row: RowId) -> None:
    public = row_uuid(new_store_id(random), row)
    assert public.version == 8
    assert public.variant == RFC_4122


def test_a_uuid_of_another_store_names_no_row() -> None:
    one, other = new_store_id(b"1" * 16), new_store_id(b"2" * 16)
    assert row_of(one, row_uuid(other, RowId(1))) is None


def test_the_row_number_can_be_read_by_a_person() -> None:
    assert row_uuid(new_store_id(bytes(16)), RowId(42)) == UUID("00000000-0000-8000-8000-00000000002a")
