"""Delivery end to end: order, verdicts, retries, halts, operators. Real store, real link, real server."""

import asyncio
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from gateway.app.world import clock
from gateway.model.ids import RowId
from gateway.model.policy import OnRejected, OutcomePolicy
from gateway.model.states import AnswerState
from gateway.receiver.script import ErrorKind, Fault
from tests.dispatcher.rig import CHANNEL, QUICK, Rig, policy, rig

NO = Fault(ack="AE")
FIFTY = [f"M{number}" for number in range(50)]


async def test_messages_arrive_once_each_in_store_order_and_end_processed(tmp_path: Path) -> None:
    async with rig(tmp_path) as site:
        site.start()
        await site.offer_all(FIFTY)
        rows = await site.settled()
        assert {row.state for row in rows} == {"processed"}
        assert [(row.sends, row.attempts, row.generation) for row in rows] == [(1, 0, 0)] * 50
        assert site.taken() == FIFTY
        numbers = [taken.body.split("|")[12].split("\r")[0] for taken in site.receiver.taken]
        assert numbers == [str(number) for number in range(1, 51)]


async def test_heads_are_read_by_page_and_nothing_is_left_behind(tmp_path: Path) -> None:
    async with rig(tmp_path) as site:
        await site.offer_all(FIFTY)
        site.start(page=7, window=7)
        await site.settled()
        assert site.taken() == FIFTY


async def test_settle_and_next_mark_share_a_commit(tmp_path: Path) -> None:
    async with rig(tmp_path) as site:
        await site.offer_all(FIFTY)
        before = site.store.commits
        site.start()
        await site.settled()
        # One commit a message, and a few for the lease and the first claim.
        assert site.store.commits - before < 50 + 10


async def test_every_step_is_an_event_with_its_send_and_epoch(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [NO]}) as site:
        site.start()
        await site.offer("A")
        await site.settled()
        steps = [(event.kind, event.send, event.epoch) for event in await site.events(1)]
        assert steps == [
            ("accepted", None, None),
            ("claimed", 1, 1),
            ("sent", 1, 1),
            ("retry", 1, 1),
            ("claimed", 2, 1),
            ("sent", 2, 1),
            ("accepted", 2, 1),
        ]


async def test_a_row_in_backoff_holds_the_rows_behind_it(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [NO, NO]}) as site:
        site.start()
        await site.offer_all(["A", "B", "C"])
        await site.settled()
        assert site.taken() == ["A", "A", "A", "B", "C"]
        assert (await site.row(1)).attempts == 2


@pytest.mark.parametrize(
    ("fault", "state", "code", "attempts"),
    [
        (Fault(ack="AR"), "rejected", "upstream-rejected", 0),
        (Fault(status=404), "rejected", "server-rejected", 0),
        (Fault(ack="AE"), "failed", "retry-exhausted", 3),
        (Fault(msa2="other"), "failed", "answer-mismatch", 0),
    ],
)
async def test_a_row_that_ends_badly_is_parked_and_the_next_goes(
    tmp_path: Path, fault: Fault, state: str, code: str, attempts: int
) -> None:
    async with rig(tmp_path, faults={"A": fault}) as site:
        site.start()
        await site.offer_all(["A", "B"])
        await site.settled()
        row = await site.row(1)
        assert (row.state, row.error_code, row.attempts) == (state, code, attempts)
        assert (await site.row(2)).state == "processed"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500),
        Fault(error=ErrorKind.CALLBACK),
        Fault(status=503, retry_after=0.01),
        Fault(error=ErrorKind.BARE),
    ],
)
async def test_what_speaks_of_the_server_counts_no_attempt(tmp_path: Path, fault: Fault) -> None:
    async with rig(tmp_path, faults={"A": [fault] * 5}) as site:
        site.start()
        await site.offer("A")
        await site.settled()
        row = await site.row(1)
        assert (row.state, row.attempts, row.sends) == ("processed", 0, 6)


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (Fault(ack="AR"), OutcomePolicy(on_reject=OnRejected.HALT)),
        (NO, OutcomePolicy(on_exhausted=OnRejected.HALT)),
    ],
)
async def test_a_halt_holds_the_channel_until_its_row_is_decided(
    tmp_path: Path, fault: Fault, outcome: OutcomePolicy
) -> None:
    async with rig(tmp_path, faults={"A": [fault] * (3 if fault is NO else 1)}) as site:
        site.start(policy(outcome=outcome))
        await site.offer_all(["A", "B"])
        await site.reaches(1, error_code="upstream-rejected" if fault is not NO else "retry-exhausted")
        assert await site.store.outbox.halts(CHANNEL)
        assert (await site.row(2)).sends == 0
        await site.store.desk.requeue(RowId(1), who="anna", why="server mended", now=clock())
        await site.settled()
        assert await site.states() == ["processed", "processed"]
        assert site.taken()[-2:] == ["A", "B"]
        assert (await site.row(1)).generation == 1
        assert await site.store.outbox.halts(CHANNEL) == []


async def test_an_operator_s_halt_and_resume_are_heeded_at_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as site:
        site.start()
        await site.offer("A")
        await site.settled()
        await site.store.desk.halt(CHANNEL, who="anna", why="maintenance", now=clock())
        await site.offer("B")
        # The store has the last word, whatever the dispatcher remembers.
        assert (await site.row(2)).state == "queued"
        await site.store.desk.resume(CHANNEL, who="anna", why="done", now=clock())
        await site.settled()
        assert site.taken() == ["A", "B"]


async def test_a_row_discarded_while_it_waits_is_passed_over(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [NO, Fault(status=503, retry_after=0.3)]}) as site:
        site.start()
        await site.offer_all(["A", "B", "C"])
        await site.reaches(1, attempts=1)
        await site.store.desk.discard(RowId(2), who="anna", why="sent by hand", forget=False, now=clock())
        await site.settled()
        assert await site.states() == ["processed", "discarded", "processed"]
        assert "B" not in site.taken()


async def test_nothing_is_claimed_while_the_link_is_down(tmp_path: Path) -> None:
    async with rig(tmp_path) as site:
        site.start(url="ws://127.0.0.1:9/ws/agent")
        await site.offer("A")
        await site.until(lambda: bool(site.notes.named("link-down")))
        row = await site.row(1)
        assert (row.state, row.sends) == ("queued", 0)


async def test_a_row_whose_bytes_were_damaged_is_parked_unsent(tmp_path: Path) -> None:
    async with rig(tmp_path) as site:
        await site.offer_all(["A", "B"])
        damage(tmp_path / "queue.db")
        site.start()
        await site.settled()
        row = await site.row(1)
        assert (row.state, row.error_code) == ("failed", "corrupt")
        assert "sent" not in await site.kinds(1)
        assert site.taken() == ["B"]


def damage(path: Path) -> None:
    """Change a stored byte behind the store's back."""
    db = apsw.Connection(str(path))
    db.execute("DROP TRIGGER contents_fixed")
    db.execute(
        "UPDATE contents SET original = CAST(replace(CAST(original AS TEXT), 'ANNA', 'ANNE') AS BLOB) WHERE row = 1"
    )
    db.close()


async def test_the_retry_policy_is_the_one_of_the_first_claim(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [NO, Fault(status=503, retry_after=60), *[NO] * 9]}) as site:
        site.start(policy(retry=replace(QUICK, attempts=2)))
        await site.offer("A")
        await site.reaches(1, sends=2, state="queued")
        head = await site.store.outbox.head(RowId(1))
        assert head is not None
        assert head.policy == replace(QUICK, attempts=2)
        await site.stop()
        site.start(policy(retry=replace(QUICK, attempts=50)))
        assert (await site.store.outbox.head(RowId(1))) == head


async def test_the_server_s_answer_reaches_whoever_waits_for_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as site:
        site.start()
        receipt = await site.offer("A", owed=True)
        async with asyncio.timeout(10):
            answer = await site.store.intake.wait_answer(receipt.row)
        assert b"MSA|AA|A" in answer.body
        assert (await site.row(1)).answer_state is AnswerState.PENDING


@pytest.mark.parametrize(
    ("fault", "code"),
    [(Fault(status=404), b"MSA|AR|A"), (Fault(status=200), b"MSA|AA|A"), (Fault(msa2="x"), b"MSA|AE|A")],
)
async def test_where_the_server_gave_no_usable_answer_one_is_made_for_it(
    tmp_path: Path, fault: Fault, code: bytes
) -> None:
    async with rig(tmp_path, faults={"A": fault}) as site:
        site.start()
        receipt = await site.offer("A", owed=True)
        async with asyncio.timeout(10):
            answer = await site.store.intake.wait_answer(receipt.row)
        assert code in answer.body


async def test_draining_waits_for_answers_and_gives_the_lease_back(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": Fault(delay=0.2)}) as site:
        supervisor = site.start()
        await site.offer_all(["A", "B"])
        await site.receiver.wait_taken(1)
        await supervisor.drain(grace=5)
        assert await site.states() == ["processed", "queued"]
        assert not supervisor.is_leading
        [lease] = await site.store.desk.leases(clock())
        assert lease.holder is None


async def test_draining_ends_when_its_grace_does(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": Fault(silence=True)}) as site:
        supervisor = site.start()
        await site.offer("A")
        await site.receiver.wait_taken(1)
        await supervisor.drain(grace=0.05)
        assert await site.states() == ["inflight"]


async def test_a_dispatcher_that_never_led_drains_at_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as site:
        site.start()
        await site.until(lambda: bool(site.notes.named("lease-taken")))
        standby = site.start()
        await standby.drain(grace=1)
        assert not standby.is_leading


KEYS = [f"P{number}" for number in range(8)]


async def test_partitions_go_in_parallel_and_each_keeps_its_order(tmp_path: Path) -> None:
    faults = {"*": [Fault(delay=0.03)]}
    async with rig(tmp_path, faults=faults) as site:
        await asyncio.gather(*(site.offer(f"{key}-{number}", partition=key) for number in range(5) for key in KEYS))
        site.start(policy(max_inflight=4))
        await site.settled()
        most = await flying_at_most(site)
        assert 2 <= most <= 4
        order: dict[str, list[str]] = defaultdict(list)
        for control_id in site.taken():
            order[control_id.split("-")[0]].append(control_id)
        assert dict(order) == {key: [f"{key}-{number}" for number in range(5)] for key in KEYS}


async def flying_at_most(site: Rig) -> int:
    """Count from the events how many rows were in flight at once."""
    flying = most = 0
    for event in await site.store.desk.events(row=None, after=0, limit=10_000):
        if event.to_state == "inflight":
            flying += 1
        elif event.from_state == "inflight":
            flying -= 1
        most = max(most, flying)
    return most


async def test_a_barrier_goes_alone_and_nothing_passes_it(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"*": [Fault(delay=0.03)]}) as site:
        await site.offer("a1", partition="a")
        await site.offer("b1", partition="b")
        await site.offer("X", partition="c", barrier=True)
        await site.offer("a2", partition="a")
        await site.offer("d1", partition="d")
        site.start(policy(max_inflight=4))
        await site.settled()
        events = await site.store.desk.events(row=None, after=0, limit=1_000)
        steps = [
            (int(event.row or 0), str(event.to_state))
            for event in events
            if event.to_state in {"inflight", "processed"}
        ]
        sent, done = steps.index((3, "inflight")), steps.index((3, "processed"))
        assert {(1, "processed"), (2, "processed")} <= set(steps[:sent])
        assert done == sent + 1


async def test_a_partition_in_backoff_holds_no_other(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"a1": [Fault(status=503, retry_after=0.3)]}) as site:
        await site.offer("a1", partition="a")
        await site.offer("a2", partition="a")
        await site.offer("b1", partition="b")
        site.start(policy(max_inflight=2))
        await site.settled()
        taken = site.taken()
        assert [each for each in taken if each != "b1"] == ["a1", "a1", "a2"]
        assert taken.index("b1") < 2


async def test_the_times_of_a_message_s_way_are_told_once_each(tmp_path: Path) -> None:
    async with rig(tmp_path, faults={"A": [NO]}) as site:
        site.start()
        await site.offer("A")
        await site.settled()
        first, last = site.notes.named("settled")
        assert {"server_seconds", "queue_seconds"} <= set(first)
        assert "total_seconds" not in first
        assert {"server_seconds", "total_seconds"} <= set(last)
        assert "queue_seconds" not in last
        assert float(last["total_seconds"] or 0) >= float(last["server_seconds"] or 0) >= 0


async def test_texts_of_rows_that_never_went_are_not_kept(tmp_path: Path) -> None:
    async with rig(tmp_path) as site:
        await site.offer_all(FIFTY)
        supervisor = site.start(url="ws://127.0.0.1:9/ws/agent")
        await site.until(lambda: bool(supervisor._deliveries))
        queue = supervisor._deliveries[CHANNEL]._queue
        for number in range(1, 10):
            assert await queue.prepared(RowId(number)) is not None
        assert [number for number in range(1, 10) if queue.peek(RowId(number))] == [8, 9]
