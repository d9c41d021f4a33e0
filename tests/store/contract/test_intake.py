"""Admission, numbers, replays, collisions, refusals: every rule of intake that a sender can notice."""

import asyncio

import pytest

from gateway.errors import BugError
from gateway.model.ids import ChannelName, RowId
from gateway.model.intake import Admission
from gateway.model.policy import OnCollision
from gateway.model.review import RowFilter
from gateway.model.states import AnswerState, ErrorCode, State
from tests.store.contract.conftest import Leader, OpenStore, Store, findings
from tests.store.samples import ADT, LAB, REFUSE, ManualClock, offer, refusal, seal, settled

DAY = 86_400_000


async def _rows(store: Store) -> list[tuple[int, State]]:
    return [(row.row, row.state) async for row in store.desk.rows(RowFilter())]


async def test_a_new_message_is_queued_with_every_field_it_came_with(store: Store) -> None:
    given = offer("A1", partition="77", barrier=True, stamped=True, answer=AnswerState.PENDING)
    receipt = await store.intake.accept(given, seal)
    assert (receipt.admission, receipt.state, receipt.sequence) == (Admission.NEW, State.QUEUED, 1)
    assert receipt.answer == b"MSA|new|1"
    assert receipt.application_answer is None
    row = await store.desk.row(receipt.row)
    stored = await store.desk.stored(receipt.row)
    assert row is not None
    assert stored is not None
    assert stored.original == given.original
    assert stored.commit_answer == b"MSA|new|1"
    for name in ("control_id", "message_type", "sender", "version", "inbound_sequence", "declared_charset", "encoding"):
        assert getattr(row, name) == getattr(given, name), name
    assert (row.flags, row.partition, row.barrier, row.remote) == (given.flags, "77", True, given.remote)
    assert (row.sha256, row.size, row.received_at) == (given.sha256, len(given.original), given.received_at)
    assert (row.channel, row.sequence, row.answer_state) == (ADT, 1, AnswerState.PENDING)
    assert (row.sends, row.attempts, row.generation, row.repeats) == (0, 0, 0, 0)
    assert (row.epoch, row.settled_at, row.error_code, row.due) == (None, None, None, None)


async def test_a_retransmit_gets_the_stored_answer_byte_for_byte_and_makes_no_row(store: Store) -> None:
    first = await store.intake.accept(offer("A1", stamped=True), seal)
    again = await store.intake.accept(offer("A1", stamped=True), lambda *_: pytest.fail("sealed twice"))
    assert again.replayed
    assert (again.row, again.answer, again.sequence) == (first.row, first.answer, 1)
    assert len(await _rows(store)) == 1
    row = await store.desk.row(first.row)
    assert row is not None
    assert row.repeats == 1


async def test_twenty_copies_at_one_instant_give_one_row_and_twenty_equal_answers(store: Store) -> None:
    receipts = await asyncio.gather(*(store.intake.accept(offer("A1", stamped=True), seal) for _ in range(20)))
    assert {receipt.answer for receipt in receipts} == {b"MSA|new|1"}
    assert [receipt.admission for receipt in receipts].count(Admission.NEW) == 1
    assert len(await _rows(store)) == 1


async def test_copies_over_two_stores_on_one_file_give_one_row(store_factory: OpenStore) -> None:
    one, two = await store_factory(), await store_factory()
    stores = [one, two] * 10
    receipts = await asyncio.gather(*(each.intake.accept(offer("A1", stamped=True), seal) for each in stores))
    assert {receipt.answer for receipt in receipts} == {b"MSA|new|1"}
    assert {receipt.row for receipt in receipts} == {receipts[0].row}
    assert len(await _rows(two)) == 1


async def test_offers_are_stored_in_the_order_of_the_calls(store: Store) -> None:
    waiting = [store.intake.accept(offer(f"S{number:03}", stamped=True), seal) for number in range(200)]
    receipts = await asyncio.gather(*waiting)
    assert [receipt.sequence for receipt in receipts] == list(range(1, 201))
    rows = [receipt.row for receipt in receipts]
    assert rows == sorted(rows)


async def test_numbers_have_no_gap_over_duplicates_collisions_and_a_seal_that_breaks(store: Store) -> None:
    def broken(*_: object) -> bytes:
        raise RuntimeError("the builder broke")

    assert (await store.intake.accept(offer("A1", stamped=True), seal)).sequence == 1
    await store.intake.accept(offer("A1", stamped=True), seal)
    await store.intake.accept(offer("A1", text="other", stamped=True), seal)
    with pytest.raises(RuntimeError):
        await store.intake.accept(offer("A2", stamped=True), broken)
    await store.intake.accept(offer("A3"), seal)
    assert (await store.intake.accept(offer("A4", stamped=True), seal)).sequence == 2
    assert await findings(store) == []


async def test_every_channel_counts_for_itself_and_dedupes_for_itself(store: Store) -> None:
    one = await store.intake.accept(offer("A1", stamped=True), seal)
    other = offer("A1", stamped=True, channel=LAB)
    two = await store.intake.accept(other, seal)
    assert (one.sequence, two.sequence) == (1, 1)
    assert one.row != two.row


async def test_two_channels_with_one_key_do_not_meet(store: Store) -> None:
    # The digest of a key holds the channel already; the store does not lean on that.
    one, other = offer("A1"), offer("A1", channel=LAB)
    object.__setattr__(other, "key", one.key)
    await store.intake.accept(one, seal)
    assert (await store.intake.accept(other, seal)).admission is Admission.NEW


async def test_other_bytes_under_a_known_key_are_refused_and_audited(store: Store) -> None:
    first = await store.intake.accept(offer("A1"), seal)
    receipt = await store.intake.accept(offer("A1", text="other", stamped=True), seal)
    assert (receipt.admission, receipt.state, receipt.sequence) == (Admission.COLLISION, State.NACKED, None)
    assert receipt.answer == b"MSA|collision|None"
    row = await store.desk.row(receipt.row)
    assert row is not None
    assert (row.state, row.error_code) == (State.NACKED, ErrorCode.DUPLICATE_REJECTED)
    assert (row.answer_state, row.settled_at) == (AnswerState.NOT_OWED, None)
    untouched = await store.desk.row(first.row)
    assert untouched is not None
    assert (untouched.state, untouched.repeats) == (State.QUEUED, 0)


async def test_repeats_of_a_collision_coalesce_and_the_first_message_still_replays(store: Store) -> None:
    first = await store.intake.accept(offer("A1"), seal)
    other = [await store.intake.accept(offer("A1", text="other"), seal) for _ in range(5)]
    assert len({receipt.row for receipt in other}) == 1
    row = await store.desk.row(other[0].row)
    assert row is not None
    assert row.repeats == 4
    assert (await store.intake.accept(offer("A1"), seal)).row == first.row
    kinds = [event.kind for event in await store.desk.events(row=other[0].row, after=0, limit=10)]
    assert kinds == ["refused", "repeat-refused", "repeat-refused", "repeat-refused"], "the 1st, 2nd and 4th repeat"


async def test_accept_takes_other_bytes_as_new_and_knows_both_afterwards(store: Store) -> None:
    one = await store.intake.accept(offer("A1", on_collision=OnCollision.ACCEPT), seal)
    two = await store.intake.accept(offer("A1", text="other", on_collision=OnCollision.ACCEPT), seal)
    assert (two.admission, two.state) == (Admission.NEW, State.QUEUED)
    assert (await store.intake.accept(offer("A1"), seal)).row == one.row
    assert (await store.intake.accept(offer("A1", text="other"), seal)).row == two.row


async def test_quarantine_answers_yes_keeps_the_number_and_waits_for_a_person(leader: Leader) -> None:
    store = leader.store
    await store.intake.accept(offer("A1", stamped=True), seal)
    quarantined = offer("A1", text="other", stamped=True, on_collision=OnCollision.QUARANTINE)
    receipt = await store.intake.accept(quarantined, seal)
    assert (receipt.admission, receipt.state, receipt.sequence) == (Admission.QUARANTINED, State.FAILED, 2)
    again = await store.intake.accept(quarantined, seal)
    assert (again.replayed, again.row, again.answer) == (True, receipt.row, b"MSA|quarantined|2")
    row = await store.desk.row(receipt.row)
    assert row is not None
    assert (row.error_code, row.settled_at) == (ErrorCode.QUARANTINED, quarantined.received_at)
    assert "retransmitted" in row.flags
    after = await store.intake.accept(offer("A2"), seal)
    await leader.fly(RowId(1))
    await store.outbox.advance(leader.term, settled(RowId(1)), None, leader.clock())
    assert await leader.fly(after.row) == 1, "a quarantined row holds nobody"
    assert await findings(store) == []


@pytest.mark.parametrize("end", ["failed", "rejected", "discarded"])
async def test_a_retransmit_of_a_row_in_review_is_flagged_once_and_noted(leader: Leader, end: str) -> None:
    [row] = await leader.accept("A1")
    if end == "discarded":
        await leader.store.desk.discard(row, who="ann", why="test", forget=False, now=leader.clock())
    else:
        await leader.fly(row)
        from tests.store.samples import HOLD

        decision = HOLD if end == "failed" else REFUSE
        await leader.store.outbox.advance(leader.term, settled(row, decision), None, leader.clock())
    for _ in range(3):
        assert (await leader.store.intake.accept(offer("A1"), seal)).state == end
    found = await leader.store.desk.row(row)
    assert found is not None
    assert found.flags == ("unknown-charset", "retransmitted")
    assert found.repeats == 3
    assert (await leader.kinds(row)).count("retransmitted") == 1


async def test_a_retransmit_of_a_delivered_row_is_counted_and_not_flagged(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row), None, leader.clock())
    assert (await leader.store.intake.accept(offer("A1"), seal)).state is State.PROCESSED
    found = await leader.store.desk.row(row)
    assert found is not None
    assert (found.flags, found.repeats) == (("unknown-charset",), 1)


async def test_a_fingerprint_lives_for_its_window_after_the_settling(leader: Leader, clock: ManualClock) -> None:
    [row] = await leader.accept("A1")
    clock.forward(20 * DAY)
    late = await leader.store.intake.accept(offer("A1", received_at=clock.wall), seal)
    assert late.replayed, "an unsettled row is known for ever"
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row), None, clock())
    clock.forward(14 * DAY - 1)
    assert (await leader.store.intake.accept(offer("A1", received_at=clock.wall), seal)).replayed
    clock.forward(1)
    fresh = await leader.store.intake.accept(offer("A1", received_at=clock.wall), seal)
    assert (fresh.admission, fresh.row != row) == (Admission.NEW, True)
    assert (await leader.store.intake.accept(offer("A1", received_at=clock.wall), seal)).row == fresh.row
    assert await findings(leader.store) == []


async def test_every_channel_keeps_to_its_own_window(leader: Leader, clock: ManualClock) -> None:
    for channel, window in ((ADT, DAY), (LAB, 3 * DAY)):
        row = (await leader.store.intake.accept(offer("A1", channel=channel, window=window), seal)).row
        await leader.store.desk.discard(row, who="ann", why="test", forget=False, now=clock())
    clock.forward(2 * DAY)
    again = {
        channel: await leader.store.intake.accept(
            offer("A1", channel=channel, window=window, received_at=clock.wall), seal
        )
        for channel, window in ((ADT, DAY), (LAB, 3 * DAY))
    }
    assert (again[ADT].admission, again[LAB].admission) == (Admission.NEW, Admission.REPLAY)


async def test_a_key_whose_window_ended_collides_with_nothing(leader: Leader, clock: ManualClock) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row), None, clock())
    clock.forward(14 * DAY)
    other = await leader.store.intake.accept(offer("A1", text="other", received_at=clock.wall), seal)
    assert other.admission is Admission.NEW


async def test_a_refused_frame_leaves_an_audit_row_that_nobody_dispatches(leader: Leader) -> None:
    row = await leader.store.intake.refuse(refusal())
    found = await leader.store.desk.row(row)
    stored = await leader.store.desk.stored(row)
    assert found is not None
    assert stored is not None
    assert (found.state, found.error_code) == (State.NACKED, ErrorCode.BAD_HEADER)
    assert (stored.original, stored.commit_answer) == (b"broken", b"MSA|AE")
    assert await leader.store.outbox.heads(ADT, after=RowId(0), limit=10) == []
    assert await findings(leader.store) == []


async def test_equal_refusals_coalesce_and_others_do_not(store: Store) -> None:
    first = await store.intake.refuse(refusal())
    assert await store.intake.refuse(refusal()) == first
    assert await store.intake.refuse(refusal(code=ErrorCode.BAD_ENCODING)) != first
    assert await store.intake.refuse(refusal("other")) != first
    assert await store.intake.refuse(refusal(channel=LAB)) != first
    row = await store.desk.row(first)
    assert row is not None
    assert row.repeats == 1


async def test_bytes_that_must_not_be_kept_are_not_kept(store: Store) -> None:
    row = await store.intake.refuse(refusal("too long", keep=False))
    stored = await store.desk.stored(row)
    assert stored is not None
    assert stored.original is None
    assert await findings(store) == []


async def test_a_refused_frame_does_not_make_the_good_one_a_duplicate(store: Store) -> None:
    good = offer("A1")
    bad = refusal(good.original.decode())
    assert bad.sha256 == good.sha256
    await store.intake.refuse(bad)
    assert (await store.intake.accept(good, seal)).admission is Admission.NEW


async def test_a_message_of_two_megabytes_comes_back_byte_for_byte(store: Store) -> None:
    given = offer("BIG", size=2_000_000)
    receipt = await store.intake.accept(given, seal)
    stored = await store.desk.stored(receipt.row)
    content = await store.outbox.content(receipt.row)
    assert stored is not None
    assert content is not None
    assert stored.original == given.original == content.original


async def test_a_channel_nobody_registered_is_a_bug(store: Store) -> None:
    with pytest.raises(BugError, match="never registered"):
        await store.intake.accept(offer(channel=ChannelName("ghost")), seal)


async def test_registering_again_changes_nothing(store: Store) -> None:
    await store.intake.accept(offer("A1", stamped=True), seal)
    await store.register({ADT: "main"})
    assert (await store.intake.accept(offer("A2", stamped=True), seal)).sequence == 2
    assert len(await store.desk.summaries()) == 2


async def test_everything_is_there_after_reopening(store_factory: OpenStore) -> None:
    first = await store_factory()
    receipt = await first.intake.accept(offer("A1", stamped=True), seal)
    await first.close()
    second = await store_factory()
    again = await second.intake.accept(offer("A1", stamped=True), seal)
    assert (again.replayed, again.row, again.answer) == (True, receipt.row, receipt.answer)
    assert (await second.intake.accept(offer("A2", stamped=True), seal)).sequence == 2
    assert second.desk.store_id == first.desk.store_id
