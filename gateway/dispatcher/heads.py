"""A channel's live rows in memory, in store order. Only the lease holder may trust them; the store checks again."""

from collections.abc import Iterable
from dataclasses import replace

from gateway.core.partition import Ready, Wait, next_ready
from gateway.model.clock import Due, Now
from gateway.model.delivery import Again, Claim, Finish, GiveUp, Head, Release, Settlement
from gateway.model.ids import RowId
from gateway.model.states import State


class Heads:
    """What may go next, without asking the store."""

    def __init__(self, *, limit: int, foreign_wait: int) -> None:
        self.limit = limit
        """How many rows may be in the air at once."""
        self._foreign_wait = foreign_wait
        self._rows: dict[RowId, Head] = {}
        self._halted: set[str | None] = set()
        self._taken: set[RowId] = set()
        self._moved: set[RowId] = set()
        self._link_lost: set[RowId] = set()
        self.last = RowId(0)
        """Rows up to this id are known."""

    def __len__(self) -> int:
        return len(self._rows)

    def reset(self) -> None:
        """Forget all rows but those in our own hands, and begin to read from the start."""
        self._rows = {row: head for row, head in self._rows.items() if row in self._taken}
        self.last = RowId(0)

    def begin_reading(self) -> None:
        """Mark the moment a page is asked for: rows that move from now on are newer here than in that page."""
        self._moved.clear()

    def extend(self, page: Iterable[Head]) -> None:
        """Add a page in store order; rows in our own hands, or moved meanwhile, keep what we know of them."""
        for head in page:
            self.last = max(self.last, head.row)
        self.insert(page)

    def insert(self, found: Iterable[Head]) -> None:
        """Add rows of any place in the order, without claiming to know all rows before them."""
        fresh = [head for head in found if head.row not in self._taken | self._moved]
        in_order = not self._rows or not fresh or fresh[0].row > next(reversed(self._rows))
        self._rows.update((head.row, head) for head in fresh)
        if not in_order:
            self._rows = dict(sorted(self._rows.items()))

    def set_halts(self, halted: Iterable[str | None]) -> None:
        """Replace the halted partitions (None: the whole channel)."""
        self._halted = set(halted)

    def plan(self, now: Now) -> Ready | Wait:
        """Say which row may be claimed now."""
        return self._plan(self._rows.values(), self._halted, len(self._taken), now)

    def plan_after(self, row: RowId, settlement: Settlement, now: Now) -> Ready | Wait:
        """Say which row may be claimed once `row` is settled like this, in the same transaction."""
        settled = self._rows[row]
        halted = self._halted
        if isinstance(settlement, Finish | GiveUp):
            if settlement.halts:
                halted = halted | {settled.partition}
            rows: Iterable[Head] = (head for head in self._rows.values() if head.row != row)
        else:
            again = _again(settled, settlement, now)
            rows = (again if head.row == row else head for head in self._rows.values())
        return self._plan(rows, halted, len(self._taken) - 1, now)

    def _plan(self, rows: Iterable[Head], halted: set[str | None], flying: int, now: Now) -> Ready | Wait:
        return next_ready(
            rows,
            halted=halted,
            busy=(),
            flying=flying,
            limit=self.limit,
            now=now,
            foreign_wait=self._foreign_wait,
        )

    def take(self, row: RowId) -> Head:
        """Take a row into our hands: nobody else plans it until it is given back, settled or dropped."""
        head = self._rows[row]
        self._taken.add(row)
        self._rows[row] = replace(head, state=State.INFLIGHT)
        return head

    def claimed(self, claim: Claim) -> None:
        """Note the numbers the store gave."""
        self._rows[claim.row] = replace(
            self._rows[claim.row],
            generation=claim.generation,
            sends=claim.send,
            attempts=claim.attempts,
            link_losses=claim.link_losses,
            policy=claim.policy,
            first_sent=claim.first_sent,
            first_sent_wall=claim.first_sent_wall,
        )

    def settle(self, row: RowId, settlement: Settlement, now: Now) -> None:
        """Apply a committed settlement."""
        self._let_go(row)
        head = self._rows.get(row)
        if head is None:
            return
        if isinstance(settlement, Finish | GiveUp):
            del self._rows[row]
            if settlement.halts:
                self._halted.add(head.partition)
        else:
            self._rows[row] = _again(head, settlement, now)

    def drop(self, row: RowId) -> None:
        """Forget a row the store would not let us have; the next reading tells what became of it."""
        self._let_go(row)
        self._rows.pop(row, None)

    def drop_if_free(self, row: RowId) -> None:
        """Forget a row that moved without us, unless it is in our hands: then its lane will find out."""
        if row not in self._taken:
            self.drop(row)

    def give_back(self, row: RowId) -> None:
        """Give back a row we planned and did not touch."""
        self._let_go(row)
        self._rows[row] = replace(self._rows[row], state=State.QUEUED)

    def doubt(self, row: RowId) -> None:
        """Leave a row `inflight` and in nobody's hands: its link went down after the write."""
        self._let_go(row)
        self._link_lost.add(row)

    def is_link_lost(self, row: RowId) -> bool:
        """Say whether the doubt about this row began with a lost link (not with another process's end)."""
        return row in self._link_lost

    def _let_go(self, row: RowId) -> None:
        self._taken.discard(row)
        self._link_lost.discard(row)
        self._moved.add(row)

    def doubtful(self) -> list[Head]:
        """Give the rows that are inflight in the store and in nobody's hands here."""
        return [head for head in self._rows.values() if head.state is not State.QUEUED and head.row not in self._taken]


def _again(head: Head, settlement: Again | Release, now: Now) -> Head:
    """Give the head as it is queued again."""
    if isinstance(settlement, Release):
        return replace(head, state=State.QUEUED, due=None)
    return replace(
        head,
        state=State.QUEUED,
        due=Due(boot_id=now.boot_id, ms=now.ms + settlement.wait) if settlement.wait else None,
        attempts=head.attempts + settlement.counted,
        link_losses=head.link_losses + settlement.link_lost,
    )
