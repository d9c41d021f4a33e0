"""Questions and acts on a real store: what operators are told and what their acts leave behind."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.console import inquiry
from gateway.console.actions import Actions
from gateway.console.values import ContentGone, NotFound, ReasonMissing, Waiting
from gateway.errors import OperatorError
from gateway.model.ids import ChannelName, RowId
from gateway.model.review import RowFilter
from gateway.model.states import State
from tests.console.shop import ADT, LAB, TTL, Hands, Shop, message, opened


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
async def shop(tmp_path: Path, clock: Hands) -> AsyncIterator[Shop]:
    async with opened(tmp_path / "var" / "queue.db", clock) as found:
        yield found


async def _waits(shop: Shop, subject: object) -> Waiting:
    return (await shop.actions.why(str(subject))).reason.waits_for


async def _acts(shop: Shop, row: RowId) -> list[tuple[str, str, str | None]]:
    return [
        (event.kind, event.actor, event.reason)
        async for event in shop.actions.timeline.events(row=row)
        if event.actor != "system"
    ]


# --- finding ---------------------------------------------------------------------------------------------------------


async def test_a_row_is_found_by_its_number_and_by_its_public_id(shop: Shop) -> None:
    row = await shop.accept("A1")
    by_number = await shop.actions.show(str(row))
    by_id = await shop.actions.show(str(by_number.row.id))
    assert by_number.row == by_id.row
    assert await shop.actions.row_id(str(by_number.row.id)) == row


@pytest.mark.parametrize(
    "text", ["99", "0", "-1", "", "A1", "x" * 400, "00010203-0405-8607-8809-000000000063", "9" * 40]
)
async def test_a_name_of_nothing_is_not_found(shop: Shop, text: str) -> None:
    await shop.accept("A1")
    with pytest.raises(NotFound):
        await shop.actions.show(text)
    with pytest.raises(NotFound):
        await shop.actions.requeue(text, why="x")
    with pytest.raises(NotFound):
        await shop.actions.why(text)
    with pytest.raises(NotFound):
        await shop.actions.raw(text)
    with pytest.raises(NotFound):
        await shop.actions.halt(text, why="x")


async def test_rows_are_listed_in_store_order_and_by_channel_state_and_control_id(shop: Shop) -> None:
    first, lab, second = await shop.accept("A1"), await shop.accept("L1", channel=LAB), await shop.accept("A2")
    await shop.lead()
    await shop.deliver(first)

    async def listed(which: RowFilter) -> list[RowId]:
        return [row.row async for row in shop.actions.list(which)]

    assert await listed(RowFilter()) == [first, lab, second]
    assert await listed(RowFilter(channel=ADT)) == [first, second]
    assert await listed(RowFilter(states=(State.PROCESSED,))) == [first]
    assert await listed(RowFilter(control_id=b"A2")) == [second]
    assert await listed(RowFilter(limit=2)) == [first, lab]


async def test_an_unknown_channel_is_not_an_empty_list(shop: Shop) -> None:
    with pytest.raises(NotFound):
        [row async for row in shop.actions.list(RowFilter(channel=ChannelName("adt2")))]


async def test_raw_bytes_are_those_received(shop: Shop) -> None:
    payload = b"\xef\xbb\xbf" + message("A1") + b"OBX|1|TX|||\x00\x1b\xff\r\n"
    row = await shop.accept("A1", payload=payload)
    assert await shop.actions.raw(str(row)) == payload


async def test_bytes_that_were_never_kept_are_not_made_up(shop: Shop) -> None:
    row = await shop.refuse(b"A" * 100, kept=False)
    with pytest.raises(ContentGone):
        await shop.actions.raw(str(row))
    assert (await shop.actions.show(str(row))).outline is None


async def test_show_masks_content_and_tells_answers_by_code_and_size(shop: Shop) -> None:
    row = await shop.accept("A1")
    await shop.lead()
    await shop.deliver(row)
    shown = await shop.actions.show(str(row))
    assert shown.row.state is State.PROCESSED
    assert shown.outline is not None
    assert [each.name for each in shown.outline.segments] == ["MSH", "PID"]
    assert "ANNA" not in repr(shown)
    assert "SECRET" not in repr(shown)
    assert shown.replies is not None
    assert (shown.replies.commit_code, shown.replies.server_code, shown.replies.server_status) == ("AA", "AA", 200)
    assert [event.to_state for event in shown.events if event.to_state is not None] == [
        State.QUEUED,
        State.CLAIMED,
        State.INFLIGHT,
        State.PROCESSED,
    ]


async def test_show_tells_of_a_refused_frame(shop: Shop) -> None:
    row = await shop.refuse(b"no header at all")
    shown = await shop.actions.show(str(row))
    assert shown.row.state is State.NACKED
    assert shown.outline is not None
    assert shown.outline.flaw is not None
    assert shown.replies is not None
    assert shown.replies.commit_code == "AE"


# --- why -------------------------------------------------------------------------------------------------------------


async def test_a_head_without_a_leader_waits_for_one(shop: Shop, clock: Hands) -> None:
    row = await shop.accept("A1")
    assert await _waits(shop, row) is Waiting.LEADER
    await shop.lead()
    assert await _waits(shop, row) is Waiting.TURN
    clock.move(TTL + 1)
    assert await _waits(shop, row) is Waiting.LEADER
    await shop.lead()
    await shop.step_down()
    assert await _waits(shop, row) is Waiting.LEADER


async def test_a_head_waits_for_a_link_that_is_not_live(shop: Shop) -> None:
    row = await shop.accept("A1")
    await shop.lead(link="connecting")
    assert await _waits(shop, row) is Waiting.LINK
    await shop.link("live")
    assert await _waits(shop, row) is Waiting.TURN


async def test_a_row_behind_another_waits_for_that_one(shop: Shop, clock: Hands) -> None:
    first, second, third = [await shop.accept(each) for each in ("A1", "A2", "A3")]
    await shop.lead()
    await shop.back_off(first, wait=5_000)
    why = (await shop.actions.why(str(third))).reason
    assert (why.waits_for, why.row, why.until) == (Waiting.BEHIND, first, clock.now.wall + 5_000)
    assert "upstream-error (attempt 1)" in why.sentence
    assert await _waits(shop, first) is Waiting.BACKOFF
    clock.move(5_000)
    assert await _waits(shop, first) is Waiting.TURN
    await shop.send(first)
    assert await _waits(shop, first) is Waiting.ANSWER
    assert (await shop.actions.why(str(second))).reason.row == first


async def test_a_row_of_another_channel_or_partition_is_in_nobodys_way(shop: Shop) -> None:
    await shop.accept("A1", partition="1001")
    other, lab = await shop.accept("A2", partition="1002"), await shop.accept("L1", channel=LAB)
    await shop.lead()
    assert await _waits(shop, other) is Waiting.TURN
    assert await _waits(shop, lab) is Waiting.TURN


async def test_a_barrier_waits_for_every_earlier_row_and_holds_every_later_one(shop: Shop) -> None:
    first = await shop.accept("A1", partition="1001")
    barrier = await shop.accept("A2", partition="1002", barrier=True)
    later = await shop.accept("A3", partition="1003")
    await shop.lead()
    assert (await shop.actions.why(str(barrier))).reason.row == first
    assert (await shop.actions.why(str(later))).reason.row == barrier


async def test_a_search_through_too_many_partitions_gives_up_and_says_so(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [await shop.accept(f"A{number}", partition=str(number)) for number in range(4)]
    await shop.lead()
    monkeypatch.setattr(inquiry, "_LOOKED_AT", 3)
    assert "thousands of earlier rows" in (await shop.actions.why(str(rows[3]))).reason.sentence
    assert "Nothing is in its way" in (await shop.actions.why(str(rows[2]))).reason.sentence


async def test_a_row_that_halts_its_partition_is_named_by_those_behind(shop: Shop) -> None:
    first, second = await shop.accept("A1"), await shop.accept("A2")
    await shop.lead()
    await shop.fail(first, halts=True)
    reason = (await shop.actions.why(str(second))).reason
    assert (reason.waits_for, reason.row) == (Waiting.HALTED, first)
    in_review = (await shop.actions.why(str(first))).reason
    assert in_review.waits_for is Waiting.PERSON
    assert "halts its partition" in in_review.sentence


async def test_a_parked_row_holds_nobody(shop: Shop) -> None:
    first, second = await shop.accept("A1"), await shop.accept("A2")
    await shop.lead()
    await shop.fail(first)
    assert await _waits(shop, first) is Waiting.PERSON
    assert await _waits(shop, second) is Waiting.TURN


async def test_a_channel_is_explained_by_its_head(shop: Shop) -> None:
    assert await _waits(shop, "adt") is Waiting.NOTHING
    row = await shop.accept("A1")
    await shop.lead(link="down")
    explained = await shop.actions.why("adt")
    assert (explained.channel, explained.row) == (ADT, None)
    assert (explained.reason.waits_for, explained.reason.row) == (Waiting.LINK, row)


async def test_a_settled_row_tells_who_settled_it(shop: Shop) -> None:
    row, other = await shop.accept("A1"), await shop.accept("A2")
    await shop.lead()
    await shop.fail(row)
    await shop.actions.resolve(str(row), why="seen in the ward list", forget=False)
    sentence = (await shop.actions.why(str(row))).reason.sentence
    assert sentence == "Settled: resolved by anna at 2026-01-01T12:00:00.000Z: seen in the ward list."
    await shop.deliver(other)
    assert "anna" not in (await shop.actions.why(str(other))).reason.sentence


# --- status ----------------------------------------------------------------------------------------------------------


async def test_status_has_every_configured_channel_and_upstream(shop: Shop, clock: Hands) -> None:
    first = await shop.accept("A1")
    await shop.accept("A2")
    await shop.lead()
    await shop.back_off(first)
    clock.move(1_000)
    status = await shop.actions.status()
    adt, lab = status.channels
    assert (adt.summary.channel, adt.summary.depth, adt.summary.oldest_at) == (ADT, 2, clock.now.wall - 1_000)
    assert (adt.upstream, adt.reason.waits_for, adt.reason.until) == ("main", Waiting.BACKOFF, clock.now.wall + 4_000)
    assert adt.summary.last_error == "upstream-error"
    assert (lab.summary.channel, lab.summary.depth, lab.reason.waits_for) == (LAB, 0, Waiting.NOTHING)
    assert [(each.group, each.holder, each.link) for each in status.leases] == [("main", "gw-a", "live")]


async def test_a_configured_channel_the_store_has_never_heard_of_is_idle(shop: Shop, clock: Hands) -> None:
    upstreams = {ADT: "main", ChannelName("new"): "main"}
    status = await Actions(shop.store.desk, clock, "anna", upstreams=upstreams).status()
    told = {each.summary.channel: (each.upstream, each.summary.depth) for each in status.channels}
    # A channel that is in the store alone is shown too: its rows are somebody's.
    assert told == {ADT: ("main", 0), LAB: (None, 0), ChannelName("new"): ("main", 0)}


async def test_a_channel_is_driven_by_the_leader_of_its_own_upstream(shop: Shop, clock: Hands) -> None:
    row = await shop.accept("A1")
    await shop.store.leases.take("another", holder="gw-b", ttl=TTL, channels={}, now=clock())
    assert await _waits(shop, row) is Waiting.LEADER


async def test_status_counts_what_is_in_review(shop: Shop) -> None:
    row = await shop.accept("A1")
    await shop.lead()
    await shop.fail(row)
    adt = (await shop.actions.status()).channels[0].summary
    assert (adt.in_review, adt.depth, adt.counts[State.FAILED]) == (1, 0, 1)


# --- acts ------------------------------------------------------------------------------------------------------------


async def test_requeue_queues_again_with_who_and_why_on_record(shop: Shop) -> None:
    row = await shop.accept("A1")
    await shop.lead()
    await shop.fail(row)
    acted = await shop.actions.requeue(str(row), why="  server was repaired ")
    assert (acted.row, acted.state, acted.generation, acted.warning) == (row, State.QUEUED, 1, None)
    assert await _acts(shop, row) == [("requeued", "anna", "server was repaired")]


async def test_requeue_warns_when_later_rows_were_already_delivered(shop: Shop) -> None:
    first, second = await shop.accept("A1"), await shop.accept("A2")
    await shop.lead()
    await shop.fail(first)
    await shop.deliver(second)
    assert (await shop.actions.requeue(str(first), why="x")).warning is not None


async def test_resolve_and_discard_settle_with_who_and_why_on_record(shop: Shop) -> None:
    first, second, third = [await shop.accept(each) for each in ("A1", "A2", "A3")]
    await shop.lead()
    await shop.fail(first)
    await shop.fail(second)
    assert (await shop.actions.resolve(str(first), why="arrived", forget=False)).state is State.PROCESSED
    assert (await shop.actions.discard(str(second), why="test data", forget=False)).state is State.DISCARDED
    assert (await shop.actions.discard(str(third), why="not needed", forget=False)).state is State.DISCARDED
    assert await _acts(shop, first) == [("resolved", "anna", "arrived")]
    assert await _acts(shop, second) == [("discarded", "anna", "test data")]
    assert await _acts(shop, third) == [("discarded", "anna", "not needed")]


@pytest.mark.parametrize("act", ["resolve", "discard"])
async def test_forget_makes_the_next_copy_new(shop: Shop, act: str) -> None:
    await shop.lead()
    kept, forgotten = await shop.accept("A1"), await shop.accept("A2")
    await shop.fail(kept)
    await shop.fail(forgotten)
    acts = {"resolve": shop.actions.resolve, "discard": shop.actions.discard}
    await acts[act](str(kept), why="x", forget=False)
    await acts[act](str(forgotten), why="x", forget=True)
    assert await shop.accept("A1") == kept
    assert await shop.accept("A2") > forgotten


async def test_an_act_the_state_forbids_changes_nothing(shop: Shop) -> None:
    row = await shop.accept("A1")
    await shop.lead()
    await shop.deliver(row)
    before = await shop.actions.timeline.newest()
    for act in (
        shop.actions.requeue(str(row), why="x"),
        shop.actions.resolve(str(row), why="x", forget=True),
        shop.actions.discard(str(row), why="x", forget=True),
    ):
        with pytest.raises(OperatorError):
            await act
    assert await shop.actions.timeline.newest() == before
    assert (await shop.actions.show(str(row))).row.state is State.PROCESSED


@pytest.mark.parametrize("why", ["", " ", "\t\n"])
async def test_an_act_without_a_reason_is_refused(shop: Shop, why: str) -> None:
    row = await shop.accept("A1")
    for act in (
        shop.actions.requeue(str(row), why=why),
        shop.actions.resolve(str(row), why=why, forget=False),
        shop.actions.discard(str(row), why=why, forget=False),
        shop.actions.halt("adt", why=why),
        shop.actions.resume("adt", why=why),
    ):
        with pytest.raises(ReasonMissing):
            await act
    assert await _acts(shop, row) == []
    assert await _waits(shop, "adt") is not Waiting.HALTED


async def test_a_halted_channel_waits_until_it_is_resumed(shop: Shop) -> None:
    row = await shop.accept("A1")
    await shop.lead()
    await shop.actions.halt("adt", why="maintenance")
    assert await _waits(shop, row) is Waiting.HALTED
    assert await _waits(shop, "adt") is Waiting.HALTED
    assert await _waits(shop, "lab") is Waiting.NOTHING
    assert "by anna since 2026-01-01T12:00:00.000Z (maintenance)" in (await shop.actions.why("adt")).reason.sentence
    assert await shop.actions.resume("adt", why="over") == 1
    assert await _waits(shop, row) is Waiting.TURN
    assert await shop.actions.resume("adt", why="again") == 0


async def test_halts_are_on_record(shop: Shop) -> None:
    await shop.actions.halt("adt", why="maintenance")
    await shop.actions.resume("adt", why="over")
    events = [(each.kind, each.actor, each.reason, each.channel) async for each in shop.actions.timeline.events()]
    assert events == [("halted", "anna", "maintenance", ADT), ("resumed", "anna", "over", ADT)]


async def test_a_sound_store_has_nothing_to_find(shop: Shop) -> None:
    first = await shop.accept("A1")
    await shop.accept("A2")
    await shop.lead()
    await shop.deliver(first)
    assert [finding async for finding in shop.actions.verify()] == []


async def test_the_newest_event_of_a_real_store_is_found(shop: Shop) -> None:
    assert await shop.actions.timeline.newest() == 0
    for number in range(20):
        await shop.accept(f"A{number}")
    assert await shop.actions.timeline.newest() == max([each.id async for each in shop.actions.timeline.events()])
