"""Which row may go next: strict order within a partition, parallel across, barriers alone."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from gateway.model.clock import Now
from gateway.model.delivery import Head
from gateway.model.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """This row may be claimed now."""

    head: Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing may be claimed; `wait` ms until the first row comes due (None: until something changes)."""

    wait: int | None


def next_ready(
    rows: Iterable[Head],
    *,
    halted: Collection[str | None],
    busy: Collection[str],
    flying: int,
    limit: int,
    now: Now,
    foreign_wait: int,
) -> Ready | Wait:
    """Choose the first row, in store order, that its partition, barriers, halts, due time and `limit` let go.

    `rows` are the channel's live rows in store order; `halted` names halted partitions (None: the whole channel);
    `busy` partitions wait for an earlier send; `flying` rows are in the air. `foreign_wait` is the wait in ms of a
    row whose due time is of another boot.
    """
    if None in halted or flying >= limit:
        return Wait(wait=None)
    blocked: set[str] = set(busy)
    soonest: int | None = None
    first = True
    for head in rows:
        alone = head.barrier and not (first and flying == 0)
        wait = 0 if head.due is None else head.due.wait(now, foreign=foreign_wait)
        free = head.state is State.QUEUED and head.partition not in blocked and head.partition not in halted
        if free and not alone:
            if wait == 0:
                return Ready(head=head)
            soonest = wait if soonest is None else min(soonest, wait)
        if head.barrier:
            # A barrier runs alone, when every earlier row is settled; nothing passes it.
            break
        blocked.add(head.partition)
        first = False
    return Wait(wait=soonest)
