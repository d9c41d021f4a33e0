"""The one service layer of operators: questions and acts, with who and why. Never formats, never skips the record."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence

from gateway.console.inquiry import Inquiry, empty_summary
from gateway.console.outline import ack_code, outline
from gateway.console.timeline import Timeline
from gateway.console.values import (
    Acted,
    ChannelStatus,
    ContentGone,
    CounterSet,
    Explained,
    NotFound,
    Reading,
    ReasonMissing,
    Replies,
    Shown,
    Status,
)
from gateway.errors import OperatorError
from gateway.model.anomalies import Capture, NotedOddity
from gateway.model.ids import ChannelName, RowId
from gateway.model.review import Counter, Finding, Row, RowFilter, StoredContent
from gateway.ports.clock import Clock
from gateway.ports.store import Desk
from gateway.wire.charset import decode_stored

LONGEST_CAPTURE = 1_000
"""Frames one capture may ask for."""

_CAPTURE_LASTS = 3_600_000


class Actions:
    """Questions and acts of one operator, `who`, on one gateway's store.

    `upstreams` names every configured channel and the upstream that drives it, `readings` how each reads characters.
    Acts raise NotFound, ReasonMissing, or
    the store's OperatorError when the row's state forbids them; nothing is changed then.
    """

    def __init__(
        self,
        desk: Desk,
        clock: Clock,
        who: str,
        *,
        upstreams: Mapping[ChannelName, str],
        readings: Mapping[ChannelName, Reading] | None = None,
    ) -> None:
        self._desk = desk
        self._clock = clock
        self._who = who
        self._upstreams = upstreams
        self._readings = readings or {}
        self._inquiry = Inquiry(desk, clock, upstreams=upstreams)
        self.timeline = Timeline(desk)

    async def list(self, which: RowFilter) -> AsyncIterator[Row]:
        """Give rows in store order, page by page. Raises NotFound for a channel nobody knows."""
        if which.channel is not None:
            await self._channel(which.channel)
        async for row in self._desk.rows(which):
            yield row

    async def show(self, text: str) -> Shown:
        """Tell everything about one row, its content masked."""
        row = await self._row(text)
        stored = await self._desk.stored(row.row)
        original = stored.original if stored else None
        return Shown(
            row=row,
            reason=await self._inquiry.of_row(row),
            events=tuple([event async for event in self.timeline.events(row=row.row)]),
            replies=_replies(stored, row.encoding) if stored else None,
            outline=outline(decode_stored(original, row.encoding)) if original is not None else None,
            reading=self._readings.get(row.channel),
        )

    async def raw(self, text: str) -> bytes:
        """Give a row's bytes as received. Raises ContentGone where they are not kept."""
        row = await self._find(text)
        stored = await self._desk.stored(row)
        if stored is None or stored.original is None:
            raise ContentGone(row=row)
        return stored.original

    async def status(self) -> Status:
        """Give every channel and upstream at a glance; configured channels without a row are there too."""
        now = self._clock()
        summaries = {each.channel: each for each in await self._desk.summaries()}
        for channel in self._upstreams:
            summaries.setdefault(channel, empty_summary(channel))
        channels = [
            ChannelStatus(
                summary=summary,
                upstream=self._upstreams.get(channel),
                reason=await self._inquiry.of_channel(summary),
            )
            for channel, summary in sorted(summaries.items())
        ]
        return Status(at=now.wall, channels=tuple(channels), leases=tuple(await self._desk.leases(now)))

    async def why(self, text: str) -> Explained:
        """Say what a channel or a row waits for; a name that is both is the channel."""
        channel = await self._channel_or_none(text)
        if channel is not None:
            reason = await self._inquiry.of_channel(await self._inquiry.summary(channel))
            return Explained(channel=channel, row=None, reason=reason)
        row = await self._row(text)
        reason = await self._inquiry.of_row(row)
        return Explained(channel=row.channel, row=row.row, reason=reason)

    async def requeue(self, text: str, *, why: str) -> Acted:
        """Queue a row in review again, at its old place."""
        row = await self._find(text)
        warning = await self._desk.requeue(row, who=self._who, why=_reason(why), now=self._clock())
        return await self._acted(row, warning)

    async def resolve(self, text: str, *, why: str, forget: bool) -> Acted:
        """Mark a row in review as arrived; `forget` makes the next copy of it a new message."""
        row = await self._find(text)
        await self._desk.resolve(row, who=self._who, why=_reason(why), forget=forget, now=self._clock())
        return await self._acted(row)

    async def discard(self, text: str, *, why: str, forget: bool) -> Acted:
        """Give a row up for good; `forget` makes the next copy of it a new message."""
        row = await self._find(text)
        await self._desk.discard(row, who=self._who, why=_reason(why), forget=forget, now=self._clock())
        return await self._acted(row)

    async def halt(self, text: str, *, why: str) -> ChannelName:
        """Stop claiming anything of a channel until it is resumed."""
        channel = await self._channel(text)
        await self._desk.halt(channel, who=self._who, why=_reason(why), now=self._clock())
        return channel

    async def resume(self, text: str, *, why: str) -> int:
        """Lift every halt of a channel; gives how many there were."""
        channel = await self._channel(text)
        return await self._desk.resume(channel, who=self._who, why=_reason(why), now=self._clock())

    async def anomalies(self, text: str, *, after: int = 0, limit: int) -> Sequence[NotedOddity]:
        """Give what was odd about a channel's bytes, newest first, with ids above `after`."""
        return await self._desk.anomalies(await self._channel(text), after=after, limit=limit)

    async def capture(self, text: str, *, frames: int, why: str) -> Capture:
        """Ask the running gateways to keep the next frames of a channel as they come, for one hour at most."""
        channel, now = await self._channel(text), self._clock()
        until = now.wall + _CAPTURE_LASTS
        return await self._desk.ask_capture(
            channel, frames=frames, until=until, who=self._who, why=_reason(why), now=now
        )

    async def counters(self, text: str) -> Sequence[Counter]:
        """Give the last sequence numbers of a channel."""
        return await self._desk.counters(await self._channel(text))

    async def set_counter(self, text: str, sender: str | None, last: int | None, *, why: str) -> CounterSet:
        """Set (None: forget) the last number of a sender; the channel's only one need not be named."""
        channel = await self._channel(text)
        named = await self._sender(channel) if sender is None else sender_name(sender)
        before = await self._desk.set_counter(channel, named, last, who=self._who, why=_reason(why), now=self._clock())
        return CounterSet(channel=channel, sender=named, before=before, last=last)

    async def _sender(self, channel: ChannelName) -> str:
        """Give the only sender that has a number in the channel. Raises OperatorError if there is no such one."""
        known = [each.sender for each in await self._desk.counters(channel) if each.sender is not None]
        if len(known) != 1:
            some = "no sender has" if not known else f"{len(known)} senders have"
            raise OperatorError(f"{some} a number in channel {channel}: name one as MSH-3|MSH-4")
        return known[0]

    def verify(self) -> AsyncIterator[Finding]:
        """Check the store against its own promises; gives what is wrong."""
        return self._desk.verify()

    async def row_id(self, text: str) -> RowId:
        """Read a public id or a row number. Raises NotFound."""
        return await self._find(text)

    async def _find(self, text: str) -> RowId:
        row = await self._desk.resolve_id(text)
        if row is None or await self._desk.row(row) is None:
            raise NotFound(what=text)
        return row

    async def _row(self, text: str) -> Row:
        number = await self._desk.resolve_id(text)
        row = await self._desk.row(number) if number is not None else None
        if row is None:
            raise NotFound(what=text)
        return row

    async def _acted(self, number: RowId, warning: str | None = None) -> Acted:
        row = await self._desk.row(number)
        if row is None:
            raise NotFound(what=str(number))
        return Acted(row=number, state=row.state, generation=row.generation, warning=warning)

    async def _channel(self, text: str) -> ChannelName:
        channel = await self._channel_or_none(text)
        if channel is None:
            raise NotFound(what=text)
        return channel

    async def _channel_or_none(self, text: str) -> ChannelName | None:
        if ChannelName(text) in self._upstreams:
            return ChannelName(text)
        return next((each.channel for each in await self._desk.summaries() if each.channel == text), None)


def sender_name(text: str) -> str:
    """Read a sender as people write it: MSH-3 and MSH-4 with `|` between them. Raises OperatorError."""
    if not re.fullmatch(r"(?:[^|\\]|\\.)*\|(?:[^|\\]|\\.)*", text):
        raise OperatorError("a sender is MSH-3 and MSH-4 with one | between them, as `sequence show` lists it")
    return text


def _reason(why: str) -> str:
    if not why.strip():
        raise ReasonMissing
    return why.strip()


def _replies(stored: StoredContent, encoding: str) -> Replies:
    application, server = stored.application_answer, stored.server_body
    return Replies(
        commit_code=ack_code(decode_stored(stored.commit_answer, encoding)),
        commit_size=len(stored.commit_answer),
        application_code=ack_code(decode_stored(application, encoding)) if application is not None else None,
        application_size=len(application) if application is not None else None,
        server_status=stored.server_status,
        server_code=ack_code(server) if server is not None else None,
        server_size=len(server.encode("utf-8", "surrogatepass")) if server is not None else None,
    )
