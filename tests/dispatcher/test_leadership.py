"""Winning, keeping and giving back a lease: trust begins before the renewal and ends by itself."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest

from gateway.dispatcher import lead as lead_module
from gateway.dispatcher.lead import Lead
from gateway.dispatcher.leadership import Leadership
from gateway.dispatcher.receipts import MOST, Receipts
from gateway.errors import LeaseLost, StaleEpoch, Unavailable
from gateway.model.clock import Now
from gateway.model.delivery import Held, Taken, Term
from gateway.model.ids import ChannelName, Epoch, RowId, new_store_id, row_uuid
from gateway.model.policy import OutcomePolicy
from gateway.model.upstream import Callback
from tests.dispatcher.rig import Notes

TERM = Term(group="main", holder="me", epoch=Epoch(4))
TAKEN = Taken(term=TERM, released=0, resent=0, held=0, doubtful=())
HELD = Held(holder="other", epoch=Epoch(3), expires_in=20)


class Clock:
    """Moves by hand."""

    def __init__(self) -> None:
        self.ms = 1_000

    def __call__(self) -> Now:
        return Now(wall=0, boot_id="boot", ms=self.ms)


class Leases:
    """A lease table that answers as told, one answer a call; an exception is raised, a callable is awaited."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.released = 0
        self.release_error: Exception | None = None

    async def _next(self) -> object:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            made: Awaitable[object] = answer()
            return await made
        return answer

    async def take(
        self, group: str, *, holder: str, ttl: int, channels: Mapping[ChannelName, OutcomePolicy], now: Now
    ) -> Taken | Held:
        answer = await self._next()
        assert isinstance(answer, Taken | Held)
        return answer

    async def renew(self, term: Term, *, ttl: int, now: Now) -> bool:
        return bool(await self._next())

    async def release(self, term: Term, now: Now) -> None:
        self.released += 1
        if self.release_error is not None:
            raise self.release_error

    async def note_link(self, term: Term, *, link: str, granted: object) -> None:
        raise AssertionError


def leadership(leases: Leases, clock: Clock, *, ttl: int = 3_000, notes: Notes | None = None) -> Leadership:
    return Leadership(
        group="main", holder="me", ttl=ttl, channels={}, leases=leases, clock=clock, observer=notes or Notes()
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_a_held_lease_is_asked_for_again_until_it_is_free(clock: Clock) -> None:
    leases = Leases(HELD, HELD, TAKEN)
    assert await leadership(leases, clock).win() == TAKEN


async def test_a_store_in_passing_trouble_does_not_end_the_waiting(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.dispatcher.leadership.LOOK_AGAIN", 0.01)
    notes = Notes()
    leases = Leases(Unavailable(reason="busy"), TAKEN)
    assert await leadership(leases, clock, notes=notes).win() == TAKEN
    assert notes.named("lease-unavailable") == [{"group": "main", "reason": "busy"}]


async def test_trust_counts_from_before_the_lease_was_asked_for(clock: Clock) -> None:
    async def slow() -> Taken:
        clock.ms += 2_000
        return TAKEN

    mine = leadership(Leases(slow), clock)
    assert not mine.is_trusted()
    await mine.win()
    assert mine.is_trusted()
    clock.ms += 999
    assert mine.is_trusted()
    clock.ms += 1
    assert not mine.is_trusted()


async def kept(leases: Leases, clock: Clock, *, late: int) -> LeaseLost:
    """Win, let `late` ms pass, and keep until it is lost."""
    mine = leadership(leases, clock)
    await mine.win()
    clock.ms += late
    async with asyncio.timeout(5):
        with pytest.raises(LeaseLost) as lost:
            await mine.keep(TERM)
    return lost.value


async def test_a_renewal_refused_ends_the_term(clock: Clock) -> None:
    lost = await kept(Leases(TAKEN, False), clock, late=1_000)
    assert lost.epoch == 4
    assert "somebody else" in lost.reason


async def test_a_holder_that_woke_too_late_does_not_even_ask(clock: Clock) -> None:
    leases = Leases(TAKEN, True)
    assert "not renewed in time" in (await kept(leases, clock, late=3_000)).reason
    assert leases.answers == [True]


async def test_a_renewal_that_hangs_ends_the_term_when_the_trust_ends(clock: Clock) -> None:
    async def hang() -> bool:
        await asyncio.Event().wait()
        return True

    assert "too long" in (await kept(Leases(TAKEN, hang), clock, late=2_990)).reason


async def test_trouble_with_a_renewal_is_tried_again_within_the_trust(clock: Clock) -> None:
    leases = Leases(TAKEN, Unavailable(reason="full"), False)
    assert "somebody else" in (await kept(leases, clock, late=2_990)).reason


async def test_a_renewal_lengthens_the_trust(clock: Clock) -> None:
    async def renewed() -> bool:
        clock.ms += 1_000
        return True

    mine = leadership(Leases(TAKEN, renewed, False), clock)
    await mine.win()
    clock.ms += 2_000
    with pytest.raises(LeaseLost):
        await mine.keep(TERM)
    assert clock.ms == 4_000
    assert mine.is_trusted()


@pytest.mark.parametrize("error", [None, Unavailable(reason="full"), StaleEpoch(epoch=4)])
async def test_a_lease_given_back_is_not_trusted_whatever_the_store_says(clock: Clock, error: Exception | None) -> None:
    leases = Leases(TAKEN)
    leases.release_error = error
    mine = leadership(leases, clock)
    await mine.win()
    await mine.release(TERM)
    assert leases.released == 1
    assert not mine.is_trusted()


def lead(is_trusted: Callable[[], bool], notes: Notes) -> Lead:
    nothing: object = None
    return Lead(
        term=TERM,
        is_trusted=is_trusted,
        agent_id="demo",
        store_id=new_store_id(bytes(16)),
        outbox=nothing,  # type: ignore[arg-type]  # not reached by what is tested
        link=nothing,  # type: ignore[arg-type]  # see above
        receipts=Receipts(),
        clock=Clock(),
        roll=lambda: 0.0,
        new_id=lambda: "X",
        observer=notes,
        passing=lambda _: None,
    )


async def test_a_write_is_tried_until_the_store_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lead_module, "STORE_PAUSE", 0)
    answers: list[Exception | str] = [Unavailable(reason="full"), Unavailable(reason="full"), "done"]

    async def write() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    notes = Notes()
    assert await lead(lambda: True, notes).insist(write) == "done"
    assert len(notes.named("store-unavailable")) == 2


async def test_nothing_is_tried_beyond_the_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lead_module, "STORE_PAUSE", 0)

    async def write() -> str:
        raise Unavailable(reason="full")

    with pytest.raises(LeaseLost):
        await lead(lambda: False, Notes()).insist(write)


def callback(number: int) -> Callback:
    return Callback(agent="demo", row=row_uuid(new_store_id(bytes(16)), RowId(number)), generation=0, send=1)


def test_a_receipt_is_taken_once() -> None:
    receipts = Receipts()
    receipts.note(callback(1))
    assert receipts.take(callback(1))
    assert not receipts.take(callback(1))
    assert not receipts.take(callback(2))


def test_receipts_do_not_grow_without_bound() -> None:
    receipts = Receipts()
    for number in range(1, MOST + 2):
        receipts.note(callback(number))
    assert not receipts.take(callback(1))
    assert receipts.take(callback(2))
    assert receipts.take(callback(MOST + 1))
