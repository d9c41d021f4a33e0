"""A second process on the same file, told what to do by its arguments. Tests start, watch and kill it."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from gateway.errors import StaleEpoch
from gateway.model.clock import Now
from gateway.model.delivery import Taken
from gateway.model.ids import RowId
from gateway.model.states import Landmark
from gateway.store.sqlite.engine import SqliteStore
from tests.store.samples import ADT, GROUP, PARK, TTL, ManualClock, offer, seal, sending, settled
from tests.store.stage import opened


def say(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def wait_for_word() -> None:
    await asyncio.to_thread(sys.stdin.readline)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def accept(path: Path, first: int, count: int) -> None:
    """Accept messages and say their rows."""
    store = await opened(path, ManualClock())
    for number in range(first, first + count):
        receipt = await store.intake.accept(offer(f"A{number}", stamped=True), seal)
        say(row=receipt.row, sequence=receipt.sequence, replayed=receipt.replayed)
    await store.close()


async def flood(path: Path) -> None:
    """Accept the same hundred messages as another process does, all at once."""
    store = await opened(path, ManualClock())
    say(ready=True)
    await wait_for_word()
    waiting = [store.intake.accept(offer(f"A{number}", stamped=True), seal) for number in range(100)]
    receipts = [await each for each in waiting]
    say(answers=[receipt.answer.decode() for receipt in receipts], new=sum(not each.replayed for each in receipts))
    await store.close()


async def die_inside(path: Path, survive: int) -> None:
    """Be killed inside the transaction, after an insert, once some messages were answered."""
    passed = 0

    def passing(landmark: Landmark) -> None:
        nonlocal passed
        assert landmark is Landmark.AFTER_INSERT
        passed += 1
        if passed > survive:
            die()

    store = await opened(path, ManualClock(), passing=passing)
    for number in range(survive + 1):
        receipt = await store.intake.accept(offer(f"A{number}", stamped=True), seal)
        say(row=receipt.row)


async def die_after(path: Path, count: int) -> None:
    """Be killed right after the commits, before anything is closed."""
    store = await opened(path, ManualClock())
    for number in range(count):
        say(row=(await store.intake.accept(offer(f"A{number}", stamped=True), seal)).row)
    die()


async def lead(path: Path) -> None:
    """Lead, send one row, claim another, and hang on until killed or told to go on as a stale leader."""
    clock = ManualClock()
    store = await opened(path, clock)
    term = await _take(store, clock())
    rows = [(await store.intake.accept(offer(f"A{number}"), seal)).row for number in range(2)]
    await store.outbox.claim(term.term, sending(rows[0]), clock())
    await store.outbox.mark_sent(term.term, rows[0], clock())
    say(row=rows[0], epoch=term.term.epoch)
    await wait_for_word()
    try:
        await store.outbox.advance(term.term, settled(rows[0]), sending(rows[1]), clock())
    except StaleEpoch:
        say(error="StaleEpoch", aborts=store.stale_aborts)
    else:
        say(error=None)
    await store.close()


async def _take(store: SqliteStore, now: Now) -> Taken:
    taken = await store.leases.take(GROUP, holder="child", ttl=TTL, channels={ADT: PARK}, now=now)
    assert isinstance(taken, Taken)
    return taken


async def discard(path: Path, row: int) -> None:
    """Act as an operator's command does."""
    store = await opened(path, ManualClock(), role="desk", migrate=False)
    await store.desk.discard(RowId(row), who="ann", why="test", forget=False, now=ManualClock()())
    say(done=True)
    await store.close()


ROLES = {
    "accept": accept, "flood": flood, "die-inside": die_inside, "die-after": die_after, "lead": lead,
    "discard": discard,
}  # fmt: skip

if __name__ == "__main__":
    role, where, *numbers = sys.argv[1:]
    asyncio.run(ROLES[role](Path(where), *map(int, numbers)))  # type: ignore[operator]  # each role knows its numbers
