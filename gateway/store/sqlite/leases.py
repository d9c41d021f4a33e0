"""Leadership of dispatch groups: one row a group, an epoch that only grows. Recovery runs in the take-over alone."""

from collections.abc import Callable, Mapping
from functools import partial

import apsw

from gateway.core.lease import remaining
from gateway.model.clock import Now
from gateway.model.delivery import Held, Taken, Term
from gateway.model.ids import ChannelName, Epoch
from gateway.model.policy import OutcomePolicy
from gateway.model.states import Note
from gateway.model.upstream import Extension, Granted
from gateway.store.options import StoreOptions
from gateway.store.sqlite.journal import note
from gateway.store.sqlite.policies import Policies
from gateway.store.sqlite.recovery import Recovery
from gateway.store.sqlite.rows import due_of
from gateway.store.sqlite.statements import ask, named
from gateway.store.sqlite.watch import Watch
from gateway.store.sqlite.writer import Writer

Q = named("leases")


class SqliteLeases:
    """Implements `ports.store.Leases`."""

    def __init__(
        self,
        *,
        writer: Writer,
        watch: Watch,
        policies: Policies,
        options: StoreOptions,
        random: Callable[[int], bytes],
    ) -> None:
        self._writer = writer
        self._watch = watch
        self._policies = policies
        self._options = options
        self._random = random

    async def take(
        self,
        group: str,
        *,
        holder: str,
        ttl: int,
        channels: Mapping[ChannelName, OutcomePolicy],
        now: Now,
    ) -> Taken | Held:
        """Take the lease if it is free or expired, and recover what earlier terms left, in one transaction.

        A lease that still runs is Held, also when its holder is ours: only `renew` extends a term.
        """
        work = partial(self._take, group, holder, ttl, channels, now)
        taken = await self._writer.submit(work)
        if isinstance(taken, Taken):
            for channel in channels:
                self._watch.bump(channel, reload=True)
        return taken

    def _take(
        self,
        group: str,
        holder: str,
        ttl: int,
        channels: Mapping[ChannelName, OutcomePolicy],
        now: Now,
        db: apsw.Connection,
    ) -> Taken | Held:
        found = ask(db, Q["lease"], (group,))
        granted: frozenset[str] = frozenset()
        if found:
            holds, epoch, boot, ms, words = found[0]
            left = remaining(due_of(boot, ms), now)
            if holds is not None and left > 0:
                return Held(holder=holds, epoch=Epoch(epoch), expires_in=left)
            granted = frozenset(words.split())
        epoch = ask(db, Q["take"], (group, holder, now.boot_id, now.ms + ttl))[0][0]
        term = Term(group=group, holder=holder, epoch=Epoch(epoch))
        note(db, Note.LEASE_TAKEN, at=now.wall, epoch=epoch, reason=f"{group}: {holder}")
        db.execute(Q["rebase_dues"], (group, now.boot_id, now.ms + self._options.retry_initial))
        recovery = Recovery(
            db,
            term=term,
            channels=channels,
            policies=self._policies,
            is_asked=not granted.isdisjoint({Extension.STATUS, Extension.DEDUPE}),
            random=self._random,
            now=now,
        )
        return recovery.run()

    async def renew(self, term: Term, *, ttl: int, now: Now) -> bool:
        """Extend the lease; False if the term is over."""
        values = (term.group, term.holder, term.epoch, now.boot_id, now.ms + ttl)
        return await self._writer.submit(lambda db: bool(ask(db, Q["renew"], values)))

    async def release(self, term: Term, now: Now) -> None:
        """Expire the lease and keep the epoch; a term that is over already is left alone."""

        def work(db: apsw.Connection) -> None:
            if ask(db, Q["release"], (term.group, term.holder, term.epoch)):
                note(db, Note.LEASE_RELEASED, at=now.wall, epoch=term.epoch, reason=f"{term.group}: {term.holder}")

        await self._writer.submit(work)

    async def note_link(self, term: Term, *, link: str, granted: Granted | None) -> None:
        """Remember the link's state, and what the server granted if it said."""
        key = (term.group, term.holder, term.epoch)

        def work(db: apsw.Connection) -> None:
            db.execute(Q["note_link"], (*key, link))
            if granted is not None:
                words = " ".join(sorted(granted.extensions))
                db.execute(Q["note_granted"], (*key, words, granted.dedupe_window))

        await self._writer.submit(work)
