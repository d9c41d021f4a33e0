"""Gathers what `why` has to know about a row or a channel. Never decides: the sentence is made in reasons."""

from collections.abc import Mapping

from gateway.console import reasons
from gateway.console.reasons import Scene
from gateway.console.timeline import Timeline
from gateway.console.values import Reason
from gateway.core.states import LIVE
from gateway.model.ids import ChannelName
from gateway.model.review import ChannelSummary, EventRow, LeaseView, Row, RowFilter
from gateway.model.states import State
from gateway.ports.clock import Clock
from gateway.ports.store import Desk

_LOOKED_AT = 10_000
"""How many unsettled rows before a row are looked at, to find the one that holds it."""


class Inquiry:
    """Asks one store why things wait; `upstreams` names every configured channel and the upstream that drives it."""

    def __init__(self, desk: Desk, clock: Clock, *, upstreams: Mapping[ChannelName, str]) -> None:
        self._desk = desk
        self._clock = clock
        self._upstreams = upstreams

    async def of_row(self, row: Row) -> Reason:
        """Explain one row."""
        return await self._of_row(row, await self.summary(row.channel))

    async def summary(self, channel: ChannelName) -> ChannelSummary:
        """Give one channel at a glance; an empty one if it has no row yet."""
        found = next((each for each in await self._desk.summaries() if each.channel == channel), None)
        return found or empty_summary(channel)

    async def of_channel(self, summary: ChannelSummary) -> Reason:
        """Explain one channel by its halts and its head."""
        head = await self._desk.row(summary.head) if summary.head is not None else None
        reason = await self._of_row(head, summary) if head is not None else None
        return reasons.of_channel(summary, reason, await self._scene(summary))

    async def _of_row(self, row: Row, summary: ChannelSummary) -> Reason:
        blocker, crowded = await self._blocker(row) if row.state is State.QUEUED else (None, False)
        return reasons.of_row(
            row,
            await self._scene(summary, crowded=crowded),
            blocker=blocker,
            last=await self._last_move(row),
        )

    async def _scene(self, summary: ChannelSummary, *, crowded: bool = False) -> Scene:
        now = self._clock()
        upstream = self._upstreams.get(summary.channel)
        lease: LeaseView | None = None
        if upstream is not None:
            lease = next((each for each in await self._desk.leases(now) if each.group == upstream), None)
        return Scene(now=now, halts=summary.halted, upstream=upstream, lease=lease, crowded=crowded)

    async def _blocker(self, row: Row) -> tuple[Row | None, bool]:
        """Find the first unsettled earlier row this one is ordered behind, by partition or barrier."""
        seen = 0
        async for other in self._desk.rows(RowFilter(channel=row.channel, states=tuple(LIVE), limit=_LOOKED_AT)):
            if other.row >= row.row:
                return None, False
            if other.barrier or row.barrier or other.partition == row.partition:
                return other, False
            seen += 1
        return None, seen >= _LOOKED_AT

    async def _last_move(self, row: Row) -> EventRow | None:
        last: EventRow | None = None
        async for event in Timeline(self._desk).events(row=row.row):
            if event.to_state is row.state:
                last = event
        return last


def empty_summary(channel: ChannelName) -> ChannelSummary:
    """Give the summary of a channel that has no row yet."""
    return ChannelSummary(
        channel=channel,
        counts={},
        depth=0,
        oldest_at=None,
        head=None,
        head_state=None,
        head_attempts=0,
        head_due=None,
        last_error=None,
        last_sequence=None,
        in_review=0,
        halted=(),
    )
