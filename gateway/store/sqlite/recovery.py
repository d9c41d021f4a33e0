"""What a take-over does with rows of earlier terms, inside its transaction. Never sends; never touches its own."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import apsw

from gateway.core.retry import History, decide
from gateway.core.verdict import Ambiguous
from gateway.model.clock import Now
from gateway.model.delivery import Again, Finish, GiveUp, Release, Settled, Settlement, Taken, Term
from gateway.model.ids import ChannelName, RowId
from gateway.model.policy import OutcomePolicy, RetryPolicy
from gateway.model.states import ErrorCode, Event, State
from gateway.store.sqlite import dispatch
from gateway.store.sqlite.policies import Policies
from gateway.store.sqlite.rows import Columns, due_of
from gateway.store.sqlite.statements import ask, named

Q = named("leases")

CAUTIOUS = OutcomePolicy()
"""For rows of a channel that is not configured any more: held for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """One row an earlier term had claimed or sent."""

    row: RowId
    channel: ChannelName
    state: State
    generation: int
    send: int
    history: History
    policy: RetryPolicy


class Recovery:
    """One take-over's look at what earlier terms left. `is_asked`: the server will be asked about rows in doubt."""

    def __init__(
        self,
        db: apsw.Connection,
        *,
        term: Term,
        channels: Mapping[ChannelName, OutcomePolicy],
        policies: Policies,
        is_asked: bool,
        random: Callable[[int], bytes],
        now: Now,
    ) -> None:
        self._db = db
        self._term = term
        self._channels = channels
        self._policies = policies
        self._is_asked = is_asked
        self._random = random
        self._now = now

    def run(self) -> Taken:
        """Decide every such row, in store order."""
        doubtful: list[RowId] = []
        counts: Counter[type[Settlement]] = Counter()
        for left in self._left_behind():
            settlement = self._decide(left)
            if settlement is None:
                doubtful.append(left.row)
                continue
            self._settle(left, settlement)
            counts[type(settlement)] += 1
        return Taken(
            term=self._term,
            released=counts[Release],
            resent=counts[Again],
            held=counts[GiveUp],
            doubtful=tuple(doubtful),
        )

    def _left_behind(self) -> list[LeftBehind]:
        found = ask(self._db, Q["left_behind"], (self._term.group, self._term.epoch))
        return [self._read(columns) for columns in found]

    def _read(self, columns: Columns) -> LeftBehind:
        row, channel, state, generation, sends, attempts, losses, policy, boot, ms, wall = columns
        return LeftBehind(
            row=RowId(row),
            channel=ChannelName(channel),
            state=State(state),
            generation=generation,
            send=sends,
            history=History(attempts=attempts, link_losses=losses, first_sent=due_of(boot, ms), first_sent_wall=wall),
            policy=self._policies.read(self._db, policy),
        )

    def _decide(self, left: LeftBehind) -> Settlement | None:
        """Say what becomes of a row; None: it stays in flight until the server has been asked."""
        if left.state is State.CLAIMED:
            return Release()
        told = self._told_late(left)
        if told is not None:
            return told
        if self._is_asked:
            return None
        return decide(
            # The link went down with the process that had written the row.
            Ambiguous(code=ErrorCode.INTERRUPTED, link_lost=True),
            retry=left.policy,
            outcome=self._channels.get(left.channel, CAUTIOUS),
            history=left.history,
            now=self._now,
            roll=int.from_bytes(self._random(4), "big") / 2**32,
        )

    def _told_late(self, left: LeftBehind) -> Finish | None:
        """Read what the server told an earlier leader too late to be written."""
        found = ask(self._db, Q["late_answer"], (left.row, left.generation, left.send))
        for verdict, code in found:
            return Finish(event=Event(verdict), code=None if code is None else ErrorCode(code))
        return None

    def _settle(self, left: LeftBehind, settlement: Settlement) -> None:
        settled = Settled(
            row=left.row,
            generation=left.generation,
            send=left.send,
            settlement=settlement,
            reply=None,
            answer=None,
        )
        dispatch.settle(self._db, self._term, settled, self._now)
