"""Keeps frames that a person asked to see as files. Their content is as private as the store's: 0600, in data_dir."""

import asyncio
import json
import os
from collections import deque
from dataclasses import asdict
from pathlib import Path

from gateway.errors import GatewayError, StoreFailed
from gateway.model.anomalies import Capture, CaptureEnd, Caught
from gateway.model.ids import ChannelName
from gateway.ports.clock import Clock
from gateway.ports.observe import Observer
from gateway.ports.store import Anomalies

FOLDER = "captures"
EVERY = 1.0
"""Seconds between two looks for what was asked."""

ROOM = 32 << 20
"""Raw bytes that captured connections may hold in memory, all together."""


class Captures:
    """Implements `ports.capture.Tap` for every channel of one process."""

    def __init__(self, store: Anomalies, *, data_dir: Path, clock: Clock, observer: Observer) -> None:
        self._store = store
        self._folder = data_dir / FOLDER
        self._clock = clock
        self._observer = observer
        self._open: dict[ChannelName, Capture] = {}
        self._left: dict[ChannelName, int] = {}
        self._caught: deque[Caught] = deque()
        self._news = asyncio.Event()
        self._held = 0

    def wants(self, channel: ChannelName) -> bool:
        """Say whether frames of the channel are wanted."""
        return self._left.get(channel, 0) > 0

    def hold(self, size: int) -> bool:
        """Ask for room."""
        if self._held + size > ROOM:
            return False
        self._held += size
        return True

    def release(self, size: int) -> None:
        """Give room back."""
        self._held -= size

    def take(self, caught: Caught) -> None:
        """Take one frame; it keeps its room until it is written."""
        self._left[caught.channel] = self._left.get(caught.channel, 0) - 1
        self._held += len(caught.raw)
        self._caught.append(caught)
        self._news.set()

    async def run(self) -> None:
        """Look what was asked and write what came, for ever; ends when the store has failed."""
        while True:
            try:
                await self.look()
                await self._write_for(EVERY)
            except StoreFailed:
                return
            except GatewayError:
                # Passing trouble of the store: messages come first.
                await asyncio.sleep(EVERY)
            except Exception as why:  # noqa: BLE001 - a defect in here must not end the process that takes messages
                self._observer.event("capture-failed", error=type(why).__name__)
                if self._caught:
                    self._held -= len(self._caught.popleft().raw)
                await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Read what is asked for, here or in another process; end what is overdue."""
        now = self._clock()
        found: dict[ChannelName, Capture] = {}
        for capture in await self._store.captures():
            if now.wall >= capture.until:
                await self._store.end_capture(capture.id, CaptureEnd.EXPIRED, now)
                continue
            known = self._open.get(capture.channel)
            if known is None or known.id != capture.id:
                self._observer.event(
                    "capture-began", channel=capture.channel, capture=capture.id, frames=capture.wanted
                )
            found[capture.channel] = capture
        self._open = found
        self._left = {channel: capture.wanted - capture.taken for channel, capture in found.items()}
        for caught in self._caught:
            self._left[caught.channel] = self._left.get(caught.channel, 0) - 1

    async def write(self) -> None:
        """Write every frame that was taken."""
        while self._caught:
            await self._keep(self._caught[0])
            self._held -= len(self._caught.popleft().raw)

    async def _write_for(self, seconds: float) -> None:
        self._news.clear()
        await self.write()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return

    async def _keep(self, caught: Caught) -> None:
        capture = self._open.get(caught.channel)
        if capture is None:
            return
        number = await self._store.take_frame(capture.id, size=len(caught.raw), now=self._clock())
        if number is None:
            self._left[caught.channel] = 0
            return
        name = f"{caught.channel}-{capture.id:04}-{number:04}"
        try:
            await asyncio.to_thread(write_frame, self._folder, name, caught)
        except OSError as why:
            reason = os.strerror(why.errno) if why.errno else type(why).__name__
            self._observer.event("capture-unwritable", channel=caught.channel, capture=capture.id, reason=reason)
            self._left[caught.channel] = 0
            await self._store.end_capture(capture.id, CaptureEnd.CANNOT_WRITE, self._clock())


def write_frame(folder: Path, name: str, caught: Caught) -> None:
    """Write the bytes as they came (`.raw`), and what is known about them (`.json`). Raises OSError."""
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    about = {key: value for key, value in asdict(caught).items() if key not in {"raw", "oddities"}}
    about["size"] = len(caught.raw)
    about["anomalies"] = [asdict(each) for each in caught.oddities]
    _write(folder / f"{name}.raw", caught.raw)
    _write(folder / f"{name}.json", json.dumps(about, indent=2).encode() + b"\n")


def _write(file: Path, data: bytes) -> None:
    """Make a file of the owner's alone; what is there already is never written over, nor followed elsewhere."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as stream:
        stream.write(data)
