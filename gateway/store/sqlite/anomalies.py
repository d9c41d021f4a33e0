"""Anomalies and captures as the running gateway writes them: in batches, bounded, and never when room is short."""

from collections.abc import Sequence

import apsw

from gateway.errors import Unavailable
from gateway.model.anomalies import Capture, CaptureEnd, Oddity, Tally
from gateway.model.clock import Now
from gateway.model.ids import ChannelName
from gateway.model.states import Note
from gateway.store.sqlite.channels import Channels
from gateway.store.sqlite.journal import note
from gateway.store.sqlite.readers import Readers
from gateway.store.sqlite.space import Space
from gateway.store.sqlite.statements import ask, named
from gateway.store.sqlite.writer import Writer

Q = named("anomalies")

KEPT = 10_000
"""Anomalies kept per channel."""

CAPTURE_BYTES = 64 << 20
"""Raw bytes one capture may hold."""


class SqliteAnomalies:
    """Implements `ports.store.Anomalies`."""

    def __init__(self, *, writer: Writer, readers: Readers, space: Space, channels: Channels, kept: int = KEPT) -> None:
        self._writer = writer
        self._readers = readers
        self._space = space
        self._channels = channels
        self._kept = kept

    async def note(self, oddities: Sequence[Oddity], tallies: Sequence[Tally]) -> None:
        """Write what was seen, in one unit; the oldest beyond the bound go."""
        if self._space.closed_because is not None:
            # What room is left belongs to messages.
            raise Unavailable(reason=self._space.closed_because)
        number = self._channels.number
        added = [(number(x.channel), x.at, x.peer, x.kind, x.offset, x.count, x.bytes_hex) for x in oddities]
        counted = [(number(x.channel), x.kind, x.times, x.size, x.last_at) for x in tallies]

        def work(db: apsw.Connection) -> None:
            db.executemany(Q["add"], added)
            db.executemany(Q["count"], counted)
            for channel in {values[0] for values in added}:
                db.execute(Q["prune"], (channel, self._kept))

        await self._writer.submit(work)

    async def captures(self) -> Sequence[Capture]:
        """Give the captures that are open."""
        found = await self._readers.read(lambda db: ask(db, Q["open_captures"]))
        return [
            Capture(
                id=number,
                channel=ChannelName(channel),
                wanted=wanted,
                taken=taken,
                size=size,
                who=who,
                why=why,
                since=since,
                until=until,
            )
            for number, channel, wanted, taken, size, who, why, since, until in found
        ]

    async def take_frame(self, capture: int, *, size: int, now: Now) -> int | None:
        """Count one frame of `size` bytes; gives its number in the capture, None if it may not be kept."""

        def work(db: apsw.Connection) -> int | None:
            for _, wanted, taken, before, until in ask(db, Q["open_capture"], (capture,)):
                if now.wall >= until:
                    end_capture(db, capture, CaptureEnd.EXPIRED, at=now.wall)
                elif before + size > CAPTURE_BYTES:
                    end_capture(db, capture, CaptureEnd.TOO_LARGE, at=now.wall)
                else:
                    db.execute(Q["take_frame"], (capture, size))
                    if taken + 1 == wanted:
                        end_capture(db, capture, CaptureEnd.COMPLETE, at=now.wall)
                    return int(taken) + 1
            return None

        return await self._writer.submit(work)

    async def end_capture(self, capture: int, why: CaptureEnd, now: Now) -> None:
        """End a capture; one that has ended already stays as it is."""
        await self._writer.submit(lambda db: end_capture(db, capture, why, at=now.wall))


def end_capture(db: apsw.Connection, capture: int, why: CaptureEnd, *, at: int) -> None:
    """End a capture and record it, inside the caller's transaction."""
    for channel, taken in ask(db, Q["end_capture"], (capture, why, at)):
        frames = "1 frame" if taken == 1 else f"{taken} frames"
        note(db, Note.CAPTURE_ENDED, at=at, channel=channel, code=why, reason=f"capture {capture}: {frames}")
