"""Winning and keeping the lease of one dispatch group. Steps down on doubt; never extends its own trust."""

import asyncio
from collections.abc import Mapping

from gateway.core.lease import Trust
from gateway.errors import LeaseLost, StaleEpoch, Unavailable
from gateway.model.delivery import Held, Taken, Term
from gateway.model.ids import ChannelName
from gateway.model.policy import OutcomePolicy
from gateway.ports.clock import Clock
from gateway.ports.observe import Observer
from gateway.ports.store import Leases

LOOK_AGAIN = 1.0
"""A standby looks at the lease at least this often (seconds), so that take-over comes within the life + 2 s."""

SOONEST = 0.05
"""And never more often than this (seconds)."""


class Leadership:
    """One process's claim to lead one group."""

    def __init__(
        self,
        *,
        group: str,
        holder: str,
        ttl: int,
        channels: Mapping[ChannelName, OutcomePolicy],
        leases: Leases,
        clock: Clock,
        observer: Observer,
    ) -> None:
        self._group = group
        self._holder = holder
        self._ttl = ttl
        self._channels = channels
        self._leases = leases
        self._clock = clock
        self._observer = observer
        self._trust = Trust(asked_at=0, ttl=0)

    def is_trusted(self) -> bool:
        """Say whether this process may still act as the leader; read right before every socket write."""
        return self._trust.holds(self._clock().ms)

    async def win(self) -> Taken:
        """Wait until the lease is ours; recovery has then already run in the take-over transaction."""
        while True:
            wait = await self._try()
            if isinstance(wait, Taken):
                return wait
            await asyncio.sleep(wait)

    async def _try(self) -> Taken | float:
        """Ask for the lease once: the term, or the seconds until it is worth asking again."""
        asked = self._clock()
        try:
            got = await self._leases.take(
                self._group, holder=self._holder, ttl=self._ttl, channels=self._channels, now=asked
            )
        except Unavailable as trouble:
            self._observer.event("lease-unavailable", group=self._group, reason=trouble.reason)
            return LOOK_AGAIN
        if isinstance(got, Held):
            return min(max(got.expires_in / 1_000, SOONEST), LOOK_AGAIN)
        self._trust = Trust(asked_at=asked.ms, ttl=self._ttl)
        self._observer.event(
            "lease-taken",
            group=self._group,
            epoch=got.term.epoch,
            released=got.released,
            resent=got.resent,
            held=got.held,
            doubtful=len(got.doubtful),
        )
        return got

    async def keep(self, term: Term) -> None:
        """Renew at a third of the life, for ever. Raises LeaseLost once the trust is over or the term is."""
        while True:
            await asyncio.sleep(max(0, self._trust.renew_at() - self._clock().ms) / 1_000)
            asked = self._clock()
            if not self._trust.holds(asked.ms):
                raise LeaseLost(epoch=term.epoch, reason="not renewed in time")
            left = (self._trust.asked_at + self._ttl - asked.ms) / 1_000
            try:
                async with asyncio.timeout(left):
                    renewed = await self._leases.renew(term, ttl=self._ttl, now=asked)
            except TimeoutError:
                raise LeaseLost(epoch=term.epoch, reason="renewal took too long") from None
            except Unavailable as trouble:
                # A full disk or a busy store may pass before the trust does.
                self._observer.event("lease-unavailable", group=self._group, reason=trouble.reason)
                await asyncio.sleep(min(LOOK_AGAIN, left))
                continue
            if not renewed:
                raise LeaseLost(epoch=term.epoch, reason="the lease is somebody else's")
            self._trust = Trust(asked_at=asked.ms, ttl=self._ttl)

    async def release(self, term: Term) -> None:
        """Expire the lease so that another process takes over at once; a store in trouble is left alone."""
        self._trust = Trust(asked_at=0, ttl=0)
        try:
            await self._leases.release(term, self._clock())
        except Unavailable as trouble:
            # It expires by itself.
            self._observer.event("lease-unavailable", group=self._group, reason=trouble.reason)
        except StaleEpoch:
            # Somebody else has it already, which is all a release is for.
            self._observer.event("lease-lost", group=self._group, epoch=term.epoch)
