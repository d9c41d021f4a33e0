from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.receiver.options import ReceiverOptions
from gateway.receiver.script import parse
from gateway.receiver.server import Receiver
from gateway.receiver.service import Take

Start = Callable[..., Awaitable[Receiver]]

NOW = 1_750_000_000_000


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "taken.jsonl"


@pytest.fixture
async def start(journal: Path) -> AsyncIterator[Start]:
    """Starts receivers on a journal; the ones still running at the end are stopped."""
    started: list[Receiver] = []

    async def one(
        *, script: dict[str, Any] | None = None, take: Take | None = None, now: int = NOW, **options: Any
    ) -> Receiver:
        options.setdefault("journal", journal)
        receiver = Receiver(ReceiverOptions(script=parse(script or {}), **options), take=take, wall=lambda: now)
        await receiver.start()
        started.append(receiver)
        return receiver

    yield one
    for receiver in started:
        await receiver.stop()
