"""The audit rows of refused frames. Never stands between a sender and its answer for long."""

import asyncio
from hashlib import sha256

from gateway.errors import GatewayError
from gateway.listener.options import ChannelOptions
from gateway.listener.reading import Reader, Unfit
from gateway.model.ids import ControlId
from gateway.model.intake import Refusal
from gateway.ports.clock import Clock
from gateway.ports.observe import Observer
from gateway.ports.store import Intake

_LARGE = 256 << 10


class Audit:
    """Notes what one channel refused, and why."""

    def __init__(
        self, options: ChannelOptions, *, store: Intake, observer: Observer, clock: Clock, reader: Reader
    ) -> None:
        self._options = options
        self._store = store
        self._observer = observer
        self._clock = clock
        self._reader = reader

    async def write(
        self, unfit: Unfit, kept: bytes, remote: str, answer: bytes, *, seen: bytes, reason: str | None
    ) -> None:
        """Write the row of one refused frame; returns in any case, without it after `patience.audit` seconds.

        `kept` are the bytes to keep, `seen` those that tell this frame from others when none are kept.
        """
        channel = self._options.name
        self._observer.event("refused", channel=channel, code=unfit.error.value, reason=reason)
        try:
            async with asyncio.timeout(self._options.patience.audit):
                await self._store.refuse(self._refusal(unfit, kept, remote, answer, await _digest(seen)))
        except (GatewayError, TimeoutError) as why:
            # The answer is negative and goes out all the same; the sender still has the message.
            self._observer.event("refusal-not-recorded", channel=channel, error=type(why).__name__)

    def _refusal(self, unfit: Unfit, kept: bytes, remote: str, answer: bytes, digest: bytes) -> Refusal:
        kind, sender, version = self._reader.describe(unfit.header)
        return Refusal(
            channel=self._options.name,
            error_code=unfit.error,
            control_id=ControlId(b"") if unfit.header is None else unfit.header.control_id,
            original=kept,
            sha256=digest,
            message_type=kind,
            sender=sender,
            version=version,
            remote=remote,
            answer=answer,
            received_at=self._clock().wall,
        )


async def _digest(seen: bytes) -> bytes:
    return sha256(seen).digest() if len(seen) <= _LARGE else await asyncio.to_thread(_sha256, seen)


def _sha256(seen: bytes) -> bytes:
    return sha256(seen).digest()
