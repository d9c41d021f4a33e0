"""Sequence numbers of senders, in the transaction of the message: taken, asked, cleared, refused, set by a person."""

import asyncio

import pytest

from gateway.errors import OperatorError
from gateway.model.ids import ChannelName
from gateway.model.intake import NO_ROW, Admission, Receipt
from gateway.model.policy import OnCollision
from gateway.model.review import Counter, RowFilter
from gateway.model.states import ErrorCode, State
from tests.store.contract.conftest import OpenStore, Store, findings
from tests.store.samples import ADT, LAB, ManualClock, offer, seal


async def _say(store: Store, control_id: str, number: str, **more: object) -> Receipt:
    return await store.intake.accept(offer(control_id, number=number, **more), seal)  # type: ignore[arg-type]  # passed on


async def _rows(store: Store) -> list[tuple[bytes, State, int | None, str]]:
    return [
        (row.control_id, row.state, row.sequence, row.inbound_sequence) async for row in store.desk.rows(RowFilter())
    ]


async def test_the_first_number_may_be_any_and_every_next_is_one_more(store: Store) -> None:
    for number in ("41", "42", "43"):
        receipt = await _say(store, f"A{number}", number)
        assert (receipt.admission, receipt.state) == (Admission.NEW, State.QUEUED)
        assert (receipt.sequence, receipt.answer) == (None, f"MSA|new|{number}".encode())
    assert [(row[2], row[3]) for row in await _rows(store)] == [(None, "41"), (None, "42"), (None, "43")]
    assert await store.desk.counters(ADT) == [Counter(sender="SNDAPP", last=43)]
    assert await findings(store) == []


async def test_a_gap_is_refused_kept_for_review_and_uses_no_number(store: Store) -> None:
    await _say(store, "A1", "5")
    for control_id, number in (("A2", "7"), ("A3", "5"), ("A4", "4"), ("A5", ""), ("A6", "x"), ("A7", "-2")):
        receipt = await _say(store, control_id, number)
        assert (receipt.admission, receipt.state, receipt.answer) == (Admission.GAP, State.NACKED, b"MSA|gap|6")
        row = await store.desk.row(receipt.row)
        assert row is not None
        assert row.error_code == ErrorCode.OUT_OF_SEQUENCE
    assert (await _say(store, "A8", "6")).answer == b"MSA|new|6"
    later = await _say(store, "A2", "7")
    assert later.admission is Admission.NEW, "what was refused for its number is no duplicate when its turn has come"
    assert await findings(store) == []


async def test_a_message_without_a_number_is_no_start(store: Store) -> None:
    assert (await _say(store, "A1", "")).answer == b"MSA|gap|-1"


async def test_link_messages_leave_an_event_and_nothing_else(store: Store) -> None:
    assert (await _say(store, "L1", "0")).answer == b"MSA|link|-1"
    await _say(store, "A1", "7")
    asked = await _say(store, "L2", "0")
    assert (asked.admission, asked.row, asked.answer) == (Admission.LINK, NO_ROW, b"MSA|link|8")
    assert (await _say(store, "L2", "0")).answer == b"MSA|link|8", "no fingerprint: the same bytes ask again"
    assert await store.desk.counters(ADT) == [Counter(sender="SNDAPP", last=7)]
    cleared = await _say(store, "L3", "-1")
    assert (cleared.admission, cleared.answer) == (Admission.LINK, b"MSA|link|-1")
    assert await store.desk.counters(ADT) == []
    assert (await _say(store, "A2", "3")).answer == b"MSA|new|3"
    assert [row[0] for row in await _rows(store)] == [b"A1", b"A2"]
    events = await store.desk.events(row=None, after=0, limit=99)
    links = [(each.row, each.channel, each.reason) for each in events if each.kind == "sequence-link"]
    assert links == [
        (None, ADT, "SNDAPP: asked, told -1"),
        (None, ADT, "SNDAPP: asked, told 8"),
        (None, ADT, "SNDAPP: asked, told 8"),
        (None, ADT, "SNDAPP: cleared, told -1"),
    ]
    assert await findings(store) == []


async def test_a_known_copy_is_a_replay_whatever_number_is_expected(store: Store) -> None:
    first = await _say(store, "A1", "1")
    await _say(store, "A2", "2")
    assert (await _say(store, "A1", "1")).answer == first.answer
    await _say(store, "L1", "-1")
    again = await _say(store, "A1", "1")
    assert (again.admission, again.answer) == (Admission.REPLAY, first.answer)
    assert await store.desk.counters(ADT) == [], "a replay counts nothing"


async def test_other_bytes_under_a_known_key_are_refused_and_tell_what_is_expected(store: Store) -> None:
    await _say(store, "A1", "1")
    receipt = await _say(store, "A1", "2", text="other")
    assert (receipt.admission, receipt.answer) == (Admission.COLLISION, b"MSA|collision|2")
    assert (await _say(store, "A2", "2")).admission is Admission.NEW


@pytest.mark.parametrize(
    ("policy", "admission"),
    [(OnCollision.ACCEPT, Admission.NEW), (OnCollision.QUARANTINE, Admission.QUARANTINED)],
)
async def test_other_bytes_that_are_answered_yes_need_the_next_number_too(
    store: Store, policy: OnCollision, admission: Admission
) -> None:
    await _say(store, "A1", "1")
    assert (await _say(store, "A1", "3", text="other", on_collision=policy)).admission is Admission.GAP
    assert (await _say(store, "A1", "2", text="other", on_collision=policy)).admission is admission
    assert await store.desk.counters(ADT) == [Counter(sender="SNDAPP", last=2)]


async def test_senders_and_channels_count_apart_and_from_the_stamped_numbers(store: Store) -> None:
    await store.intake.accept(offer("S1", stamped=True), seal)
    await _say(store, "A1", "10", sender="X|1")
    await _say(store, "A2", "20", sender="X|2")
    await _say(store, "A1", "30", sender="X|1", channel=LAB)
    assert (await _say(store, "A3", "11", sender="X|1")).admission is Admission.NEW
    assert (await _say(store, "A4", "12", sender="X|2")).admission is Admission.GAP
    assert (await store.intake.accept(offer("S2", stamped=True), seal)).sequence == 2
    expected = [Counter(sender=None, last=2), Counter(sender="X|1", last=11), Counter(sender="X|2", last=20)]
    assert await store.desk.counters(ADT) == expected
    assert await store.desk.counters(LAB) == [Counter(sender="X|1", last=30)]
    assert await findings(store) == []


async def test_two_stores_on_one_file_share_the_numbers(store_factory: OpenStore) -> None:
    one, two = await store_factory(), await store_factory()
    for number in range(1, 9):
        store = (one, two)[number % 2]
        assert (await _say(store, f"A{number}", str(number))).admission is Admission.NEW


async def test_twenty_copies_of_the_next_number_at_one_instant_take_it_once(store: Store) -> None:
    receipts = await asyncio.gather(*(_say(store, "A1", "1") for _ in range(20)))
    assert {receipt.answer for receipt in receipts} == {b"MSA|new|1"}
    assert await store.desk.counters(ADT) == [Counter(sender="SNDAPP", last=1)]
    others = await asyncio.gather(*(_say(store, f"B{number}", "2") for number in range(20)))
    assert sorted(receipt.admission for receipt in others) == [Admission.GAP] * 19 + [Admission.NEW]


async def test_a_seal_that_breaks_takes_its_number_back(store: Store) -> None:
    def broken(*_: object) -> bytes:
        raise RuntimeError("the builder broke")

    with pytest.raises(RuntimeError):
        await store.intake.accept(offer("A1", number="1"), broken)
    with pytest.raises(RuntimeError):
        await store.intake.accept(offer("L1", number="-1"), broken)
    assert await store.desk.counters(ADT) == []
    assert (await _say(store, "A1", "1")).admission is Admission.NEW


async def test_a_person_sets_and_forgets_a_number_on_record(store: Store, clock: ManualClock) -> None:
    await _say(store, "A1", "1")
    now = clock()
    assert await store.desk.set_counter(ADT, "SNDAPP", 41, who="ann", why="agreed", now=now) == 1
    assert (await _say(store, "A2", "2")).answer == b"MSA|gap|42"
    assert (await _say(store, "A3", "42")).admission is Admission.NEW
    assert await store.desk.set_counter(ADT, "SNDAPP", None, who="ann", why="replaced", now=now) == 42
    assert await store.desk.set_counter(ADT, "NEW|ONE", 4, who="bob", why="moved", now=now) is None
    assert await store.desk.counters(ADT) == [Counter(sender="NEW|ONE", last=4)]
    events = await store.desk.events(row=None, after=0, limit=99)
    assert [(each.actor, each.channel, each.reason) for each in events if each.kind == "sequence-set"] == [
        ("ann", ADT, "SNDAPP: 1 -> 41: agreed"),
        ("ann", ADT, "SNDAPP: 42 -> none: replaced"),
        ("bob", ADT, "NEW|ONE: none -> 4: moved"),
    ]
    with pytest.raises(OperatorError, match="no channel ghost"):
        await store.desk.set_counter(ChannelName("ghost"), "X|", 1, who="ann", why="x", now=now)
