"""Anomalies reach the store in batches; a flood is bounded in memory and counted whole; a store in trouble waits."""

from collections.abc import Sequence

import pytest

from gateway.app.oddities import BATCH, MOST, Oddities
from gateway.errors import GatewayError, StoreFailed, Unavailable
from gateway.model.anomalies import Capture, CaptureEnd, Oddity, Tally
from gateway.model.clock import Now
from tests.listener.stage import Clock, Notes


class Book:
    """Implements ports.store.Anomalies as far as noting goes."""

    def __init__(self) -> None:
        self.trouble: GatewayError | None = None
        self.batches: list[list[int]] = []
        self.times: dict[str, int] = {}

    async def note(self, oddities: Sequence[Oddity], tallies: Sequence[Tally]) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.batches.append([each.offset for each in oddities])
        for each in tallies:
            self.times[each.kind] = self.times.get(each.kind, 0) + each.times

    async def captures(self) -> Sequence[Capture]:
        return []

    async def take_frame(self, capture: int, *, size: int, now: Now) -> int | None:
        raise NotImplementedError

    async def end_capture(self, capture: int, why: CaptureEnd, now: Now) -> None:
        raise NotImplementedError


def noted(oddities: Oddities, count: int, *, first: int = 0) -> None:
    for offset in range(first, first + count):
        oddities.anomaly(channel="adt", peer="p:1", kind="bom", offset=offset, bytes_hex="efbbbf", count=3)


async def test_everything_is_passed_on_and_written_once() -> None:
    notes, book = Notes(), Book()
    oddities = Oddities(notes, clock=Clock())
    oddities.event("connected", channel="adt")
    noted(oddities, 2)
    assert [name for name, _ in notes.events] == ["connected"]
    assert [found["offset"] for found in notes.anomalies] == [0, 1]
    for _ in range(2):
        await oddities.flush(book)
    assert book.batches == [[0, 1]]
    assert book.times == {"bom": 2}


async def test_a_flood_keeps_its_newest_and_is_counted_whole_in_short_batches() -> None:
    book, oddities = Book(), Oddities(Notes(), clock=Clock())
    noted(oddities, MOST + 10)
    for _ in range(MOST // BATCH + 1):
        await oddities.flush(book)
    assert [len(batch) for batch in book.batches] == [BATCH] * (MOST // BATCH)
    assert [offset for batch in book.batches for offset in batch] == list(range(10, MOST + 10))
    assert book.times == {"bom": MOST + 10}


async def test_what_cannot_be_written_now_waits_and_newer_ones_go_before_it() -> None:
    book, oddities = Book(), Oddities(Notes(), clock=Clock())
    book.trouble = Unavailable(reason="full")
    noted(oddities, 3)
    await oddities.flush(book)
    noted(oddities, MOST - 2, first=3)
    await oddities.flush(book)
    book.trouble = None
    await oddities.flush(book, limit=MOST)
    assert book.batches == [list(range(1, MOST + 1))]
    assert book.times == {"bom": MOST + 1}


async def test_a_failed_store_ends_the_writing() -> None:
    book, oddities = Book(), Oddities(Notes(), clock=Clock())
    book.trouble = StoreFailed(reason="IOError")
    noted(oddities, 1)
    with pytest.raises(StoreFailed):
        await oddities.flush(book)
