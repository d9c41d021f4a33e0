"""Rows in doubt and late answers: asked about where the server can tell, never guessed."""

import asyncio
from pathlib import Path

import pytest

from gateway.app.world import clock
from gateway.model.ids import RowId
from gateway.model.policy import OnAmbiguous, OutcomePolicy
from gateway.receiver.script import CloseAt, Fault
from tests.dispatcher.rig import CHANNEL, policy, rig

CUT = Fault(close=CloseAt.AFTER_STORING)
CUT_BEFORE = Fault(close=CloseAt.BEFORE_STORING)


def ambiguous(choice: OnAmbiguous) -> OutcomePolicy:
    return OutcomePolicy(on_ambiguous=choice)


async def test_a_cut_after_storing_is_cleared_by_asking_and_nothing_is_doubled(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [CUT]}) as site:
        site.start()
        await site.offer_all(["A", "B"])
        await site.settled()
        assert await site.states() == ["processed", "processed"]
        assert site.taken() == ["A", "B"]
        assert (await site.row(1)).sends == 1


async def test_a_cut_before_storing_is_sent_again_by_itself(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [CUT_BEFORE]}) as site:
        site.start()
        await site.offer_all(["A", "B"])
        await site.settled()
        assert await site.states() == ["processed", "processed"]
        row = await site.row(1)
        assert (row.sends, row.attempts, row.link_losses) == (2, 0, 1)


@pytest.mark.parametrize("cut", [CUT, CUT_BEFORE])
async def test_at_a_plain_server_a_cut_is_held_for_a_person_and_the_next_goes(tmp_path: Path, cut: Fault) -> None:
    async with rig(tmp_path, faults={"A": [cut]}, plain=True) as site:
        site.start()
        await site.offer_all(["A", "B"])
        await site.settled()
        row = await site.row(1)
        assert (row.state, row.error_code, row.sends) == ("failed", "interrupted", 1)
        assert (await site.row(2)).state == "processed"
        assert site.taken().count("A") == (1 if cut is CUT else 0)


async def test_hold_halt_stops_the_channel_too(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [CUT]}, plain=True) as site:
        site.start(policy(outcome=ambiguous(OnAmbiguous.HOLD_HALT)))
        await site.offer_all(["A", "B"])
        await site.reaches(1, state="failed")
        assert len(await site.store.outbox.halts(CHANNEL)) == 1
        await site.store.desk.resolve(RowId(1), who="anna", why="it is there", forget=False, now=clock())
        await site.settled()
        assert site.taken() == ["A", "B"]


async def test_resend_sends_again_where_the_administrator_takes_the_risk(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [CUT]}, plain=True) as site:
        site.start(policy(outcome=ambiguous(OnAmbiguous.RESEND)))
        await site.offer_all(["A", "B"])
        await site.settled()
        assert await site.states() == ["processed", "processed"]
        assert site.taken() == ["A", "A", "B"]


@pytest.mark.parametrize("plain", [True, False])
async def test_a_row_that_keeps_taking_the_link_down_ends_in_review(tmp_path: Path, plain: bool) -> None:
    async with rig(tmp_path, faults={"A": CUT_BEFORE}, plain=plain) as site:
        site.start(policy(outcome=ambiguous(OnAmbiguous.RESEND)))
        await site.offer_all(["A", "B"])
        await site.settled()
        row = await site.row(1)
        assert (row.state, row.error_code, row.link_losses, row.sends) == ("failed", "interrupted", 3, 3)
        assert (await site.row(2)).state == "processed"


async def test_silence_is_held_and_a_late_answer_settles_the_row_by_itself(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": Fault(delay=0.6)}) as site:
        site.start(policy(response_timeout=200))
        await site.offer_all(["A", "B"])
        await site.reaches(1, state="failed")
        assert (await site.row(1)).error_code == "response-timeout"
        await site.reaches(1, state="processed")
        kinds = [kind for kind in await site.kinds(1) if kind != "receipt"]
        assert kinds == ["accepted", "claimed", "sent", "in-doubt", "late-accept"]
        assert site.taken() == ["A", "B"]


async def test_a_late_refusal_rejects_the_row(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": Fault(delay=0.5, ack="AR")}) as site:
        site.start(policy(response_timeout=200))
        await site.offer("A")
        await site.reaches(1, state="rejected")
        assert (await site.kinds(1))[-1] == "late-refusal"


async def test_a_late_answer_that_decides_nothing_is_evidence(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": Fault(delay=0.5, status=500)}) as site:
        site.start(policy(response_timeout=200))
        await site.offer("A")

        async def noted() -> bool:
            return "evidence" in await site.kinds(1)

        async with asyncio.timeout(10):
            while not await noted():  # noqa: ASYNC110 - the store is asked
                await asyncio.sleep(0.01)
        assert (await site.row(1)).state == "failed"


async def test_an_answer_given_twice_settles_once(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": Fault(answers=2)}) as site:
        site.start()
        await site.offer_all(["A", "B"])
        await site.settled()
        assert await site.states() == ["processed", "processed"]
        assert (await site.kinds(1)).count("accepted") == 2  # once by us, once by the server


async def test_a_receipt_is_kept_on_a_row_whose_answer_never_came(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": Fault(silence=True)}) as site:
        site.start(policy(response_timeout=200))
        await site.offer("A")
        await site.settled()
        assert "receipt" in await site.kinds(1)


async def test_a_crash_with_a_row_in_the_air_is_cleared_by_the_next_leader(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [Fault(delay=0.3)]}) as site:
        site.start(ttl=400)
        await site.offer_all(["A", "B"])
        await site.receiver.wait_taken(1)
        await site.stop()
        assert await site.states() == ["inflight", "queued"]
        site.start(ttl=400)
        await site.settled()
        assert await site.states() == ["processed", "processed"]
        assert [taken.control_id for taken in site.receiver.taken if taken.runs] == ["A", "B"]


async def test_a_crash_at_a_plain_server_is_held_by_the_next_leader(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [Fault(delay=5)]}, plain=True) as site:
        site.start(ttl=400)
        await site.offer_all(["A", "B"])
        await site.receiver.wait_taken(1)
        await site.stop()
        site.start(ttl=400)
        await site.settled()
        row = await site.row(1)
        assert (row.state, row.error_code) == ("failed", "interrupted")
        assert site.taken() == ["A", "B"]


async def test_a_row_the_server_still_works_on_is_asked_about_until_it_is_done(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [Fault(delay=0.6)]}) as site:
        site.start()
        await site.offer_all(["A", "B"])
        await site.receiver.wait_taken(1)
        site.receiver.cut()
        await site.settled()
        assert await site.states() == ["processed", "processed"]
        assert (await site.row(1)).sends == 1


async def test_a_row_the_server_works_on_for_too_long_is_held(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [Fault(delay=30)]}) as site:
        site.start(policy(response_timeout=400))
        await site.offer("A")
        await site.receiver.wait_taken(1)
        site.receiver.cut()
        await site.settled()
        row = await site.row(1)
        assert (row.state, row.error_code) == ("failed", "response-timeout")


async def test_a_leader_whose_lease_was_taken_steps_down_and_changes_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": Fault(delay=0.4)}) as site:
        supervisor = site.start(ttl=60_000)
        await site.offer("A")
        await site.receiver.wait_taken(1)
        usurp(site.store, tmp_path)
        await site.until(lambda: bool(site.notes.named("stepped-down")))
        assert not supervisor.is_leading
        assert await site.states() == ["inflight"]
        assert site.store.stale_aborts == 0


def usurp(store: object, folder: Path) -> None:
    """Take the lease by force, as a process does that believes the holder dead."""
    import apsw

    db = apsw.Connection(str(folder / "queue.db"))
    db.execute("UPDATE leases SET holder = 'other', epoch = epoch + 1")
    db.close()
