"""Writes the anomalies that listeners note into the store, from time to time. Never keeps a listener waiting."""

import asyncio
from collections import deque

from gateway.errors import GatewayError, StoreFailed
from gateway.model.anomalies import Oddity, Tally
from gateway.model.ids import ChannelName
from gateway.ports.clock import Clock
from gateway.ports.observe import Fact, Observer
from gateway.ports.store import Anomalies

EVERY = 1.0
"""Seconds between two batches."""

BATCH = 256
"""Anomalies written in one batch; it may share its commit with messages, so it must be short."""

MOST = 4_096
"""Anomalies that may wait. Of a flood the newest are kept; the tallies count all of it."""

LONGEST_PEER = 64


class Oddities:
    """An observer for listeners that passes everything on to another one and remembers the anomalies."""

    def __init__(self, observer: Observer, *, clock: Clock) -> None:
        self._observer = observer
        self._clock = clock
        self._waiting: deque[Oddity] = deque(maxlen=MOST)
        self._tallies: dict[tuple[str, str], Tally] = {}

    def event(self, name: str, /, **facts: Fact) -> None:
        """Pass one event on."""
        self._observer.event(name, **facts)

    def anomaly(self, *, channel: str, peer: str, kind: str, offset: int, bytes_hex: str, count: int = 1) -> None:
        """Pass one anomaly on, and remember it for the store."""
        self._observer.anomaly(channel=channel, peer=peer, kind=kind, offset=offset, bytes_hex=bytes_hex, count=count)
        at, name = self._clock().wall, ChannelName(channel)
        self._waiting.append(
            Oddity(
                channel=name,
                at=at,
                peer=peer[:LONGEST_PEER],
                kind=kind,
                offset=offset,
                count=count,
                bytes_hex=bytes_hex[:32],
            )
        )
        self._count(Tally(channel=name, kind=kind, times=1, size=count, last_at=at))

    async def run(self, store: Anomalies) -> None:
        """Write batches for ever; ends when the store has failed."""
        while True:
            await asyncio.sleep(EVERY)
            try:
                await self.flush(store)
            except StoreFailed:
                return
            except Exception as why:  # noqa: BLE001 - a defect in here must not end the process that takes messages
                self._observer.event("anomalies-not-recorded", error=type(why).__name__)

    async def flush(self, store: Anomalies, *, limit: int = BATCH) -> None:
        """Write what waits, the oldest `limit` first; what cannot be written now waits on. Raises StoreFailed."""
        if not self._waiting and not self._tallies:
            return
        tallies, self._tallies = self._tallies, {}
        batch = [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]
        try:
            await store.note(batch, list(tallies.values()))
        except StoreFailed:
            raise
        except GatewayError as why:
            self._observer.event("anomalies-not-recorded", error=type(why).__name__)
            self._take_back(batch, tallies)

    def _take_back(self, batch: list[Oddity], tallies: dict[tuple[str, str], Tally]) -> None:
        """Let what could not be written wait on; newer ones that came meanwhile go before it."""
        room = MOST - len(self._waiting)
        self._waiting.extendleft(reversed(batch[-room:] if room else []))
        for each in tallies.values():
            self._count(each)

    def _count(self, more: Tally) -> None:
        key = (more.channel, more.kind)
        known = self._tallies.get(key)
        if known is None:
            self._tallies[key] = more
            return
        self._tallies[key] = Tally(
            channel=more.channel,
            kind=more.kind,
            times=known.times + more.times,
            size=known.size + more.size,
            last_at=max(known.last_at, more.last_at),
        )
