"""Two parsers that are not ours read every acknowledgement we can make, to the same values."""

import json
from collections.abc import Iterable
from functools import cache

import hl7
import pytest

from tests.interop.acks import Said, every
from tests.interop.senders import MEDPLUM_PARSER, medplum_reads, require

pytestmark = pytest.mark.interop

acks = cache(every)


def test_there_is_one_for_each_code_version_separators_condition_and_field() -> None:
    assert len(acks()) == 6 * 14 * 4 * (1 + 12 * 5) + 6 * 12
    assert len({said.answer for said in acks()}) > len(acks()) // 2


def test_the_hl7_package_reads_every_acknowledgement_to_what_was_meant() -> None:
    for said in acks():
        message = hl7.parse(said.answer)
        names = [str(segment[0]) for segment in message]
        assert names == (["MSH", "MSA"] if said.err is None else ["MSH", "MSA", "ERR"]), said
        msh = message.segment("MSH")
        assert {number: str(msh[number]) for number in said.msh} == said.msh, said
        assert str(msh[1]) == said.separators[0]
        assert [str(field) for field in message.segment("MSA")[1:]] == said.msa, said
        if said.err is not None:
            fields = message.segment("ERR")[1:]
            assert [_components(field) for field in fields] == said.err, said


async def test_medplum_reads_every_acknowledgement_to_what_was_meant() -> None:
    require(MEDPLUM_PARSER)
    asked = json.dumps([said.answer for said in acks()]).encode()
    parsed = json.loads(await medplum_reads(asked))
    assert len(parsed) == len(acks())
    for said, segments in zip(acks(), parsed, strict=True):
        _check(said, [segment for segment in segments if segment[0]["text"]])


def _check(said: Said, segments: list[list[dict[str, object]]]) -> None:
    names = [segment[0]["text"] for segment in segments]
    assert names == (["MSH", "MSA"] if said.err is None else ["MSH", "MSA", "ERR"]), said
    # This parser counts MSH-2 as the first field.
    assert {number: segments[0][number - 1]["text"] for number in said.msh} == said.msh, said
    assert [field["text"] for field in segments[1][1:]] == said.msa, said
    if said.err is not None:
        assert [field["components"] for field in segments[2][1:]] == [[components] for components in said.err], said


def _components(field: Iterable[object]) -> list[str]:
    """Give the components of a field's only repetition."""
    [only] = field
    return [str(component) for component in only] if isinstance(only, hl7.Repetition) else [str(only)]
