"""Noticing other processes although reading fails, and although they are faster than we look."""

import asyncio
from pathlib import Path

import pytest

from gateway.errors import Unavailable
from gateway.model.intake import ApplicationAnswer
from gateway.model.states import AnswerState
from gateway.store.sqlite.engine import SqliteStore
from tests.store.samples import ADT, ManualClock, offer, seal
from tests.store.stage import opened


async def _waiting(store: SqliteStore) -> asyncio.Task[ApplicationAnswer]:
    row = (await store.intake.accept(offer("A1", answer=AnswerState.PENDING), seal)).row
    waiting = asyncio.create_task(store.intake.wait_answer(row))
    await store.desk.row(row)
    await store.desk.row(row)
    return waiting


async def test_an_answer_is_not_missed_because_looking_for_it_failed_once(tmp_path: Path, clock: ManualClock) -> None:
    store = await opened(tmp_path / "queue.db", clock)
    waiting = await _waiting(store)
    tries = 0

    async def acts() -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise Unavailable(reason="busy")
        return 0

    async def answers(rows: object) -> list[ApplicationAnswer]:
        return [ApplicationAnswer(row=row, body=b"MSA|AA") for row in rows]  # type: ignore[attr-defined]  # row ids

    store._watch.read_with(acts=acts, answers=answers)
    store._watch.foreign_commit()
    async with asyncio.timeout(5):
        assert (await waiting).body == b"MSA|AA"
    assert tries == 2
    await store.close()


async def test_a_commit_that_comes_while_we_look_is_looked_at_too(tmp_path: Path, clock: ManualClock) -> None:
    store = await opened(tmp_path / "queue.db", clock)
    waiting = await _waiting(store)
    looks = 0
    inside, go = asyncio.Event(), asyncio.Event()

    async def acts() -> int:
        nonlocal looks
        looks += 1
        inside.set()
        await go.wait()
        return 0

    async def answers(rows: object) -> list[ApplicationAnswer]:
        found = [ApplicationAnswer(row=row, body=b"MSA|AA") for row in rows]  # type: ignore[attr-defined]  # row ids
        return found if looks == 2 else []

    store._watch.read_with(acts=acts, answers=answers)
    store._watch.foreign_commit()
    await inside.wait()
    store._watch.foreign_commit()
    store._watch.foreign_commit()
    go.set()
    async with asyncio.timeout(5):
        assert (await waiting).body == b"MSA|AA"
    assert looks == 2
    await store.close()


async def test_nobody_looks_any_more_once_the_store_is_closed(tmp_path: Path, clock: ManualClock) -> None:
    store = await opened(tmp_path / "queue.db", clock)

    async def acts() -> int:
        raise Unavailable(reason="busy")

    store._watch.read_with(acts=acts, answers=store.outbox.answers)
    store._watch.foreign_commit()
    await store.close()
    store._watch._look_again()
    assert store._watch._foreign is None
    with pytest.raises(Unavailable, match="stopping"):
        await store.outbox.changed(ADT, 0)
