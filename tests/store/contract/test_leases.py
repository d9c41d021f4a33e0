"""Leadership: one holder, an epoch that only grows, and recovery inside the take-over."""

import asyncio

import pytest

from gateway.errors import OperatorError, StaleEpoch
from gateway.model.clock import Due
from gateway.model.delivery import Held, Taken
from gateway.model.policy import OnAmbiguous, OutcomePolicy
from gateway.model.states import ErrorCode, State
from gateway.model.upstream import Extension, Granted
from tests.store.contract.conftest import Leader, OpenStore, Store, findings, take
from tests.store.samples import ADT, GROUP, LAB, POLICY, RETRY, TTL, ManualClock, sending, settled

HOLD = OutcomePolicy(on_ambiguous=OnAmbiguous.HOLD)
HOLD_HALT = OutcomePolicy(on_ambiguous=OnAmbiguous.HOLD_HALT)
RESEND = OutcomePolicy(on_ambiguous=OnAmbiguous.RESEND)


async def test_a_free_lease_is_taken_with_epoch_one(store: Store, clock: ManualClock) -> None:
    taken = await take(store, clock)
    assert (taken.term.epoch, taken.term.holder, taken.term.group) == (1, "one", GROUP)


@pytest.mark.parametrize("holder", ["one", "two"])
async def test_a_lease_that_runs_is_held_also_for_its_own_holder(store: Store, clock: ManualClock, holder: str) -> None:
    await take(store, clock)
    clock.forward(TTL - 1)
    held = await store.leases.take(GROUP, holder=holder, ttl=TTL, channels={}, now=clock())
    assert held == Held(holder="one", epoch=1, expires_in=1)  # type: ignore[arg-type]  # an epoch


async def test_an_expired_lease_is_taken_over_and_the_old_term_is_over(store: Store, clock: ManualClock) -> None:
    old = (await take(store, clock)).term
    clock.forward(TTL)
    new = (await take(store, clock, holder="two")).term
    assert new.epoch == 2
    assert not await store.leases.renew(old, ttl=TTL, now=clock())
    assert await store.leases.renew(new, ttl=TTL, now=clock())


async def test_a_renewal_extends_the_lease_from_its_own_moment(store: Store, clock: ManualClock) -> None:
    term = (await take(store, clock)).term
    clock.forward(TTL - 1)
    assert await store.leases.renew(term, ttl=TTL, now=clock())
    clock.forward(TTL - 1)
    assert isinstance(await store.leases.take(GROUP, holder="two", ttl=TTL, channels={}, now=clock()), Held)
    clock.forward(1)
    assert isinstance(await store.leases.take(GROUP, holder="two", ttl=TTL, channels={}, now=clock()), Taken)


async def test_another_boot_ends_every_lease(store: Store, clock: ManualClock) -> None:
    await take(store, clock)
    clock.reboot()
    assert (await take(store, clock, holder="two")).term.epoch == 2


async def test_a_released_lease_is_free_at_once_and_its_epoch_stays(store: Store, clock: ManualClock) -> None:
    term = (await take(store, clock)).term
    await store.leases.release(term, clock())
    with pytest.raises(StaleEpoch):
        await store.outbox.mark_sent(term, 1, clock())  # type: ignore[arg-type]  # any row
    assert not await store.leases.renew(term, ttl=TTL, now=clock())
    assert (await take(store, clock, holder="two")).term.epoch == 2
    await store.leases.release(term, clock())
    assert isinstance(await store.leases.take(GROUP, holder="x", ttl=TTL, channels={}, now=clock()), Held)


async def test_two_processes_that_take_at_once_give_one_leader(store_factory: OpenStore, clock: ManualClock) -> None:
    stores = [await store_factory() for _ in range(2)]
    got = await asyncio.gather(
        *(store.leases.take(GROUP, holder=f"h{n}", ttl=TTL, channels={}, now=clock()) for n, store in enumerate(stores))
    )
    assert sorted(type(each).__name__ for each in got) == ["Held", "Taken"]


async def test_groups_do_not_know_each_other(store: Store, clock: ManualClock) -> None:
    await take(store, clock)
    other = await store.leases.take("other", holder="one", ttl=TTL, channels={}, now=clock())
    assert isinstance(other, Taken)
    assert other.term.epoch == 1


async def test_the_lease_is_seen_by_people(store: Store, clock: ManualClock) -> None:
    term = (await take(store, clock)).term
    await store.leases.note_link(term, link="live", granted=None)
    clock.forward(5_000)
    [view] = await store.desk.leases(clock())
    assert (view.group, view.holder, view.epoch, view.expires_in, view.link) == (GROUP, "one", 1, TTL - 5_000, "live")
    await store.leases.release(term, clock())
    [view] = await store.desk.leases(clock())
    assert (view.holder, view.epoch, view.expires_in, view.link) == (None, 1, None, "down")
    kinds = [event.kind for event in await store.desk.events(row=None, after=0, limit=9)]
    assert kinds == ["lease-taken", "lease-released"]


async def test_a_stale_term_notes_no_link(store: Store, clock: ManualClock) -> None:
    old = (await take(store, clock)).term
    clock.forward(TTL)
    await take(store, clock, holder="two")
    await store.leases.note_link(old, link="live", granted=Granted(extensions=frozenset({Extension.STATUS})))
    [view] = await store.desk.leases(clock())
    assert view.link == "down"


async def test_a_take_over_puts_claimed_rows_back_and_counts_nothing(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    await leader.store.outbox.claim(leader.term, sending(one), leader.clock())
    leader.clock.forward(TTL)
    taken = await take(leader.store, leader.clock, holder="two")
    assert (taken.released, taken.resent, taken.held, taken.doubtful) == (1, 0, 0, ())
    head = await leader.store.outbox.head(one)
    assert head is not None
    assert (head.state, head.sends, head.attempts, head.first_sent) == (State.QUEUED, 1, 0, None)
    claim = (await leader.store.outbox.claim(taken.term, sending(one), leader.clock())).claim
    assert claim is not None
    assert claim.send == 2
    assert await leader.state(two) == State.QUEUED
    assert await findings(leader.store) == []


async def test_a_row_in_doubt_is_held_without_halting(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    await leader.fly(one)
    leader.clock.forward(TTL)
    taken = await take(leader.store, leader.clock, holder="two", policy=HOLD)
    assert (taken.released, taken.resent, taken.held, taken.doubtful) == (0, 0, 1, ())
    found = await leader.store.desk.row(one)
    assert found is not None
    assert (found.state, found.error_code, found.link_losses) == (State.FAILED, ErrorCode.INTERRUPTED, 1)
    assert (await leader.store.outbox.claim(taken.term, sending(two), leader.clock())).claim is not None
    assert await findings(leader.store) == []


async def test_a_row_in_doubt_halts_its_partition_where_that_was_asked(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    await leader.fly(one)
    leader.clock.forward(TTL)
    taken = await take(leader.store, leader.clock, holder="two", policy=HOLD_HALT)
    assert taken.held == 1
    [halt] = await leader.store.outbox.halts(ADT)
    assert (halt.row, halt.partition, halt.why) == (one, "", ErrorCode.INTERRUPTED)
    assert (await leader.store.outbox.claim(taken.term, sending(two), leader.clock())).claim is None
    assert await findings(leader.store) == []


async def test_a_row_in_doubt_is_sent_again_where_that_was_asked_but_not_for_ever(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    term = leader.term
    for resent, state in ((1, State.QUEUED), (1, State.QUEUED), (0, State.FAILED)):
        claim = (await leader.store.outbox.claim(term, sending(row), leader.clock())).claim
        assert claim is not None
        await leader.store.outbox.mark_sent(term, row, leader.clock())
        leader.clock.forward(TTL)
        taken = await take(leader.store, leader.clock, holder=f"h{leader.clock.ms}", policy=RESEND)
        term = taken.term
        assert (taken.resent, taken.held) == (resent, 1 - resent)
        assert await leader.state(row) == state
        leader.clock.forward(POLICY.max)
        await leader.store.leases.renew(term, ttl=TTL, now=leader.clock())
    assert await findings(leader.store) == []


@pytest.mark.parametrize("extension", [Extension.STATUS, Extension.DEDUPE])
async def test_a_row_in_doubt_stays_in_flight_if_the_next_connection_can_clear_it(
    leader: Leader, extension: Extension
) -> None:
    one, two, three = await leader.accept("A1", "A2", "A3", partition="")
    [lab] = await leader.accept("L1", channel=LAB)
    granted = Granted(extensions=frozenset({extension}), dedupe_window=3_600.0)
    await leader.store.leases.note_link(leader.term, link="live", granted=granted)
    await leader.store.leases.note_link(leader.term, link="down", granted=None)
    await leader.fly(one)
    lab_claim = await leader.store.outbox.claim(leader.term, sending(lab, channel=LAB), leader.clock())
    assert lab_claim.claim is not None
    await leader.store.outbox.mark_sent(leader.term, lab, leader.clock())
    leader.clock.forward(TTL)
    taken = await take(leader.store, leader.clock, holder="two", policy=RESEND)
    assert taken.doubtful == (one, lab)
    assert (taken.resent, taken.held) == (0, 0)
    done = await leader.store.outbox.advance(taken.term, settled(one), sending(two), leader.clock())
    assert done.settled
    assert done.claim is not None
    assert await leader.state(three) == State.QUEUED
    assert await findings(leader.store) == []


async def test_recovery_leaves_rows_of_its_own_term_and_other_groups_alone(store: Store, clock: ManualClock) -> None:
    await store.register({LAB: "other"})
    main = Leader(store, (await take(store, clock)).term, clock)
    other = await store.leases.take("other", holder="o", ttl=TTL, channels={LAB: HOLD}, now=clock())
    assert isinstance(other, Taken)
    [one] = await main.accept("A1")
    [lab] = await main.accept("L1", channel=LAB)
    await main.fly(one)
    await store.outbox.claim(other.term, sending(lab, channel=LAB), clock())
    await store.outbox.mark_sent(other.term, lab, clock())
    clock.forward(TTL)
    taken = await take(store, clock, holder="two")
    assert taken.held == 1
    assert (await main.state(one), await main.state(lab)) == (State.FAILED, State.INFLIGHT)


async def test_a_term_of_one_group_cannot_touch_another_groups_rows(store: Store, clock: ManualClock) -> None:
    await store.register({LAB: "other"})
    main = Leader(store, (await take(store, clock)).term, clock)
    [lab] = await main.accept("L1", channel=LAB)
    assert (await store.outbox.claim(main.term, sending(lab, channel=LAB), clock())).claim is None


async def test_a_channel_changes_its_group_only_when_nothing_of_it_is_in_the_air(leader: Leader) -> None:
    store, clock = leader.store, leader.clock
    [row] = await leader.accept("A1")
    await leader.fly(row)
    with pytest.raises(OperatorError, match="channel adt has a row on its way to main"):
        await store.register({ADT: "other"})
    await store.leases.release(leader.term, clock())
    await store.register({ADT: "other"})
    taken = await store.leases.take("other", holder="o", ttl=TTL, channels={ADT: HOLD}, now=clock())
    assert isinstance(taken, Taken)
    assert (taken.term.epoch, taken.held) == (1, 1), "the new group recovers what the old one left, whatever its epoch"
    assert await findings(store) == []


async def test_rows_of_a_channel_that_is_not_configured_any_more_are_held(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    leader.clock.forward(TTL)
    taken = await leader.store.leases.take(GROUP, holder="two", ttl=TTL, channels={}, now=leader.clock())
    assert isinstance(taken, Taken)
    assert taken.held == 1


async def test_a_row_that_waited_under_another_boot_is_due_after_the_shortest_wait(leader: Leader) -> None:
    [row] = await leader.accept("A1")
    await leader.fly(row)
    await leader.store.outbox.advance(leader.term, settled(row, RETRY), None, leader.clock())
    leader.clock.reboot()
    await take(leader.store, leader.clock, holder="two")
    head = await leader.store.outbox.head(row)
    assert head is not None
    assert head.due == Due(boot_id=leader.clock.boot_id, ms=leader.clock.ms + 1_000)


async def test_a_stale_leader_is_shut_out_by_the_take_over(leader: Leader) -> None:
    one, two = await leader.accept("A1", "A2")
    await leader.fly(one)
    leader.clock.forward(TTL)
    await take(leader.store, leader.clock, holder="two", policy=RESEND)
    with pytest.raises(StaleEpoch):
        await leader.store.outbox.advance(leader.term, settled(one), sending(two), leader.clock())
    assert (await leader.state(one), await leader.state(two)) == (State.QUEUED, State.QUEUED)
