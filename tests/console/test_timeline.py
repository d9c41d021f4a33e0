"""Events are read in order, page by page, to the end or for ever; the newest is found without reading them all."""

from collections.abc import AsyncIterator, Sequence
from typing import cast

import pytest

from gateway.console.timeline import Timeline
from gateway.model.ids import RowId
from gateway.model.review import EventRow
from gateway.ports.store import Desk
from tests.console.rows import event


class _Record:
    """Only the events of a desk, with gaps where retention took some."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.events_there = [event(number) for number in numbers]
        self.reads = 0

    async def events(self, *, row: RowId | None, after: int, limit: int) -> Sequence[EventRow]:
        self.reads += 1
        return [each for each in self.events_there if each.id > after and row in (None, each.row)][:limit]


def _timeline(record: _Record) -> Timeline:
    return Timeline(cast("Desk", record))


async def _numbers(events: AsyncIterator[EventRow]) -> list[int]:
    return [each.id async for each in events]


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 1_700])
async def test_every_event_comes_once_in_order_over_all_pages(count: int) -> None:
    numbers = list(range(1, count + 1))
    assert await _numbers(_timeline(_Record(numbers)).events()) == numbers


async def test_events_begin_behind_the_number_given() -> None:
    assert await _numbers(_timeline(_Record([1, 2, 3, 4])).events(after=2)) == [3, 4]


async def test_events_of_another_row_are_left_out() -> None:
    assert await _numbers(_timeline(_Record([1, 2])).events(row=RowId(8))) == []


@pytest.mark.parametrize("numbers", [[], [1], [2], [3], [5, 9, 1_000], list(range(1, 40)), [1_000_003], [2**40 + 7]])
async def test_the_newest_event_is_found_in_few_reads(numbers: list[int]) -> None:
    record = _Record(numbers)
    assert await _timeline(record).newest() == max(numbers, default=0)
    assert record.reads < 90


async def test_following_gives_what_comes_later_and_pauses_only_when_there_is_nothing_new() -> None:
    record = _Record([1, 2])
    pauses = 0

    async def pause() -> None:
        nonlocal pauses
        pauses += 1
        record.events_there.append(event(2 + pauses))

    seen: list[int] = []
    async for each in _timeline(record).follow(after=1, pause=pause):
        seen.append(each.id)
        if len(seen) == 4:
            break
    assert seen == [2, 3, 4, 5]
    assert pauses == 3
