"""Repeats through real sockets into a real store: collisions by policy, windows, rows in review, forgotten rows."""

from pathlib import Path

from gateway.listener.options import ChannelOptions
from gateway.model.delivery import GiveUp, Sending, Settled, Settlement, Taken
from gateway.model.ids import RowId
from gateway.model.policy import OnCollision, OnFailedRetransmit, OutcomePolicy, RetryPolicy
from gateway.model.states import ErrorCode, Event, State
from tests.listener.stage import ADT, Scene, m, msa, scene

EXHAUSTED = GiveUp(event=Event.EXHAUSTED, code=ErrorCode.RETRY_EXHAUSTED)
IN_DOUBT = GiveUp(event=Event.IN_DOUBT, code=ErrorCode.INTERRUPTED)


async def _review(on: Scene, row: RowId, settlement: Settlement) -> None:
    """Send a row as a dispatcher does, into review."""
    now = on.stage.clock()
    taken = await on.store.leases.take("main", holder="one", ttl=9_000, channels={ADT: OutcomePolicy()}, now=now)
    assert isinstance(taken, Taken)
    sending = Sending(channel=ADT, row=row, generation=0, policy=RetryPolicy())
    claim = (await on.store.outbox.claim(taken.term, sending, now)).claim
    assert claim is not None
    assert await on.store.outbox.mark_sent(taken.term, row, now)
    settled = Settled(row=row, generation=0, send=claim.send, settlement=settlement, reply=None, answer=None)
    assert (await on.store.outbox.advance(taken.term, settled, None, now)).settled


async def test_under_accept_other_bytes_are_a_message_of_their_own_and_both_are_known(tmp_path: Path) -> None:
    async with scene(tmp_path, ChannelOptions(name=ADT, on_collision=OnCollision.ACCEPT)) as on:
        sender = await on.sender()
        messages = [m("X1"), m("X1", patient="EVA")]
        answers = [await sender.ask(each) for each in messages]
        assert [msa(answer) for answer in answers] == [(b"AA", b"X1")] * 2
        assert [await sender.ask(each) for each in messages] == answers
        rows = await on.rows()
        assert [(row.state, row.repeats) for row in rows] == [(State.QUEUED, 1)] * 2
        assert await on.stored() == messages


async def test_under_quarantine_other_bytes_are_answered_yes_and_held_for_a_person(tmp_path: Path) -> None:
    async with scene(tmp_path, ChannelOptions(name=ADT, on_collision=OnCollision.QUARANTINE)) as on:
        sender = await on.sender()
        await sender.ask(m("X1"))
        answer = await sender.ask(m("X1", patient="EVA"))
        assert msa(answer) == (b"AA", b"X1")
        assert await sender.ask(m("X1", patient="EVA")) == answer
        first, held = await on.rows()
        assert (first.state, held.state, held.error_code) == (State.QUEUED, State.FAILED, "quarantined")
        assert "retransmitted" in held.flags
        assert await on.refused() == []


async def test_a_fingerprint_ends_with_the_window_of_its_channel(tmp_path: Path) -> None:
    async with scene(tmp_path, ChannelOptions(name=ADT, dedupe_window=60_000)) as on:
        sender = await on.sender()
        first = await sender.ask(m("X1"))
        on.stage.clock.wall += 3_600_000
        assert await sender.ask(m("X1")) == first, "what is not settled is known for ever"
        (row,) = await on.rows()
        await on.store.desk.discard(row.row, who="ann", why="test", forget=False, now=on.stage.clock())
        on.stage.clock.wall += 59_999
        assert await sender.ask(m("X1")) == first
        on.stage.clock.wall += 1
        assert msa(await sender.ask(m("X1"))) == (b"AA", b"X1")
        assert len(await on.rows()) == 2


async def test_a_retransmit_revives_a_row_that_met_only_trouble_if_the_channel_says_so(tmp_path: Path) -> None:
    options = ChannelOptions(name=ADT, on_failed_retransmit=OnFailedRetransmit.REQUEUE)
    async with scene(tmp_path, options) as on:
        sender = await on.sender()
        first = await sender.ask(m("X1"))
        (row,) = await on.rows()
        await _review(on, row.row, EXHAUSTED)
        assert await sender.ask(m("X1")) == first
        (row,) = await on.rows()
        assert (row.state, row.generation) == (State.QUEUED, 1)
        assert on.stage.notes.named("revived") == [{"channel": "adt", "row": row.row}]


async def test_a_retransmit_revives_no_row_in_doubt_and_none_unless_the_channel_says_so(tmp_path: Path) -> None:
    requeue = ChannelOptions(name=ADT, on_failed_retransmit=OnFailedRetransmit.REQUEUE)
    for number, (options, end) in enumerate(((requeue, IN_DOUBT), (ChannelOptions(name=ADT), EXHAUSTED))):
        folder = tmp_path / str(number)
        folder.mkdir(mode=0o700)
        async with scene(folder, options) as on:
            sender = await on.sender()
            first = await sender.ask(m("X1"))
            (row,) = await on.rows()
            await _review(on, row.row, end)
            assert await sender.ask(m("X1")) == first
            (row,) = await on.rows()
            assert (row.state, "retransmitted" in row.flags) == (State.FAILED, True)
            assert on.stage.notes.named("revived") == []
