"""Oddities are kept in order and bounded; captures end by themselves; both are on the record."""

import pytest

from gateway.errors import OperatorError
from gateway.model.anomalies import CaptureEnd, Oddity, Tally
from gateway.model.clock import Now
from gateway.model.ids import ChannelName
from gateway.store.sqlite import anomalies as sqlite
from tests.store.contract.conftest import OpenStore, Store
from tests.store.samples import ADT, LAB, ManualClock

WHO = {"who": "ann", "why": "the sender's people ask"}
HOUR = 3_600_000


def oddity(offset: int, *, channel: ChannelName = ADT, kind: str = "stray-lf") -> Oddity:
    return Oddity(
        channel=channel, at=1_000 + offset, peer="10.0.0.1:5", kind=kind, offset=offset, count=2, bytes_hex="0a0a"
    )


def tally(times: int, *, channel: ChannelName = ADT, kind: str = "stray-lf", at: int = 5) -> Tally:
    return Tally(channel=channel, kind=kind, times=times, size=2 * times, last_at=at)


async def offsets(store: Store, channel: ChannelName = ADT, *, after: int = 0, limit: int = 100) -> list[int]:
    return [each.oddity.offset for each in await store.desk.anomalies(channel, after=after, limit=limit)]


async def ended(store: Store) -> list[tuple[str | None, str | None]]:
    events = await store.desk.events(row=None, after=0, limit=100)
    return [(event.code, event.reason) for event in events if event.kind == "capture-ended"]


async def test_oddities_come_back_as_they_went_in_newest_first_and_by_channel(store: Store) -> None:
    await store.anomalies.note([oddity(1), oddity(2, channel=LAB), oddity(3)], [])
    found = await store.desk.anomalies(ADT, after=0, limit=100)
    assert [each.oddity for each in found] == [oddity(3), oddity(1)]
    assert await offsets(store, LAB) == [2]
    assert await offsets(store, after=found[1].id) == [3]
    assert await offsets(store, limit=1) == [3]


async def test_only_the_newest_of_each_channel_are_kept_and_ids_go_on_growing(
    store_factory: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await store_factory()
    monkeypatch.setattr(store.anomalies, "_kept", 3)
    await store.anomalies.note([oddity(9, channel=LAB)], [])
    for batch in ([1, 2], [3, 4], [5, 6, 7, 8]):
        await store.anomalies.note([oddity(offset) for offset in batch], [])
    found = await store.desk.anomalies(ADT, after=0, limit=100)
    assert [each.oddity.offset for each in found] == [8, 7, 6]
    assert [each.id for each in found] == [9, 8, 7]
    assert await offsets(store, LAB) == [9]


async def test_tallies_add_up_over_batches_and_openings(store_factory: OpenStore) -> None:
    first = await store_factory()
    await first.anomalies.note([], [tally(2), tally(1, kind="bom"), tally(4, channel=LAB)])
    second = await store_factory()
    await second.anomalies.note([], [tally(3)])
    counts = {each.channel: each.anomalies for each in await first.desk.summaries()}
    assert counts == {ADT: {"bom": 1, "stray-lf": 5}, LAB: {"stray-lf": 4}}


async def test_anomalies_of_a_channel_nobody_knows_are_refused_in_words(store: Store) -> None:
    with pytest.raises(OperatorError, match="there is no channel nowhere"):
        await store.desk.anomalies(ChannelName("nowhere"), after=0, limit=1)


async def test_a_capture_is_asked_for_by_one_process_and_seen_by_another(
    store_factory: OpenStore, clock: ManualClock
) -> None:
    gateway, desk = await store_factory(), await store_factory()
    assert await gateway.anomalies.captures() == []
    asked = await desk.desk.ask_capture(ADT, frames=2, until=clock().wall + HOUR, **WHO, now=clock())
    assert await gateway.anomalies.captures() == [asked]
    [event] = await desk.desk.events(row=None, after=0, limit=100)
    assert (event.kind, event.actor, event.reason, event.channel) == ("capture-asked", "ann", WHO["why"], ADT)


async def test_a_capture_takes_its_frames_and_no_more_and_says_so(store: Store, clock: ManualClock) -> None:
    asked = await store.desk.ask_capture(ADT, frames=2, until=clock().wall + HOUR, **WHO, now=clock())
    assert [await store.anomalies.take_frame(asked.id, size=10, now=clock()) for _ in range(3)] == [1, 2, None]
    assert await store.anomalies.captures() == []
    assert await ended(store) == [("complete", f"capture {asked.id}: 2 frames")]


async def test_a_capture_ends_before_a_frame_it_has_no_room_for(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CAPTURE_BYTES", 15)
    asked = await store.desk.ask_capture(ADT, frames=9, until=clock().wall + HOUR, **WHO, now=clock())
    assert await store.anomalies.take_frame(asked.id, size=10, now=clock()) == 1
    assert await store.anomalies.take_frame(asked.id, size=6, now=clock()) is None
    assert await store.anomalies.take_frame(asked.id, size=1, now=clock()) is None
    assert await ended(store) == [("too-large", f"capture {asked.id}: 1 frame")]


def at(clock: ManualClock, wall: int) -> Now:
    now = clock()
    return Now(wall=wall, boot_id=now.boot_id, ms=now.ms)


async def test_a_capture_ends_when_its_time_is_over(store: Store, clock: ManualClock) -> None:
    until = clock().wall + HOUR
    asked = await store.desk.ask_capture(ADT, frames=9, until=until, **WHO, now=clock())
    assert await store.anomalies.take_frame(asked.id, size=1, now=at(clock, until - 1)) == 1
    assert await store.anomalies.take_frame(asked.id, size=1, now=at(clock, until)) is None
    assert await ended(store) == [("expired", f"capture {asked.id}: 1 frame")]


async def test_a_channel_has_one_open_capture_and_an_overdue_one_makes_room(store: Store, clock: ManualClock) -> None:
    until = clock().wall + HOUR
    asked = await store.desk.ask_capture(ADT, frames=1, until=until, **WHO, now=clock())
    with pytest.raises(OperatorError, match="open already, asked for by ann"):
        await store.desk.ask_capture(ADT, frames=1, until=until, **WHO, now=clock())
    await store.desk.ask_capture(LAB, frames=1, until=until, **WHO, now=clock())
    again = await store.desk.ask_capture(ADT, frames=1, until=until + HOUR, **WHO, now=at(clock, until))
    assert again.id != asked.id
    assert await ended(store) == [("expired", f"capture {asked.id}: 0 frames")]


async def test_a_capture_is_ended_once(store: Store, clock: ManualClock) -> None:
    asked = await store.desk.ask_capture(ADT, frames=1, until=clock().wall + HOUR, **WHO, now=clock())
    for why in (CaptureEnd.CANNOT_WRITE, CaptureEnd.EXPIRED):
        await store.anomalies.end_capture(asked.id, why, clock())
    assert await ended(store) == [("cannot-write", f"capture {asked.id}: 0 frames")]
