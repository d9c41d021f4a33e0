"""Captured frames become private files, no more than asked for, and every end is recorded."""

import asyncio
import json
from pathlib import Path

import pytest

from gateway.app import captures as subject
from gateway.app.captures import Captures
from gateway.console.actions import Actions
from gateway.model.anomalies import Caught, Oddity
from gateway.store.sqlite.engine import SqliteStore
from tests.listener.stage import ADT, Clock, Notes, opened

HOUR = 3_600_000


def caught(raw: bytes = b"\x0bMSH\x1c\r") -> Caught:
    oddity = Oddity(channel=ADT, at=1, peer="p:1", kind="bom", offset=0, count=3, bytes_hex="efbbbf")
    return Caught(channel=ADT, peer="p:1", connection=2, kind="frame", offset=7, raw=raw, lost=0, oddities=(oddity,))


class Rig:
    def __init__(self, store: SqliteStore, folder: Path) -> None:
        self.store = store
        self.clock = Clock()
        self.notes = Notes()
        self.actions = Actions(store.desk, self.clock, "ann", upstreams={ADT: "main"})
        self.captures = Captures(store.anomalies, data_dir=folder, clock=self.clock, observer=self.notes)
        self.folder = folder / "captures"

    async def events(self) -> list[tuple[str, str, str | None, str | None]]:
        found = await self.store.desk.events(row=None, after=0, limit=100)
        return [(each.kind, each.actor, each.code, each.reason) for each in found]

    def files(self) -> list[str]:
        return sorted(file.name for file in self.folder.iterdir()) if self.folder.exists() else []


async def test_nothing_is_wanted_until_a_person_asks_and_the_files_are_the_owners_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        rig = Rig(store, tmp_path)
        await rig.captures.look()
        assert not rig.captures.wants(ADT)
        asked = await rig.actions.capture("adt", frames=2, why=" doubled fields ")
        await rig.captures.look()
        assert rig.captures.wants(ADT)
        rig.captures.take(caught())
        rig.captures.take(caught(b"\x0bMSH|2\x1c\r"))
        assert not rig.captures.wants(ADT)
        await rig.captures.look()  # before they are written
        assert not rig.captures.wants(ADT)
        await rig.captures.write()
        await rig.captures.look()
        assert not rig.captures.wants(ADT)
        stem = f"adt-{asked.id:04}"
        assert rig.files() == [f"{stem}-0001.json", f"{stem}-0001.raw", f"{stem}-0002.json", f"{stem}-0002.raw"]
        assert (rig.folder / f"{stem}-0002.raw").read_bytes() == b"\x0bMSH|2\x1c\r"
        about = json.loads((rig.folder / f"{stem}-0001.json").read_text())
        assert (about["peer"], about["connection"], about["offset"], about["size"]) == ("p:1", 2, 7, 6)
        assert [each["kind"] for each in about["anomalies"]] == ["bom"]
        assert rig.folder.stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in rig.folder.iterdir()} == {0o600}
        assert await rig.events() == [
            ("capture-asked", "ann", f"capture {asked.id}", "doubled fields"),
            ("capture-ended", "system", "complete", f"capture {asked.id}: 2 frames"),
        ]
        assert rig.notes.named("capture-began") == [{"channel": ADT, "capture": asked.id, "frames": 2}]


async def test_an_overdue_capture_ends_by_itself(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        rig = Rig(store, tmp_path)
        asked = await rig.actions.capture("adt", frames=2, why="x")
        await rig.captures.look()
        rig.clock.wall += HOUR
        await rig.captures.look()
        assert not rig.captures.wants(ADT)
        assert (await rig.events())[-1] == ("capture-ended", "system", "expired", f"capture {asked.id}: 0 frames")


async def test_files_that_cannot_be_written_end_the_capture_and_nothing_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        rig = Rig(store, tmp_path)
        rig.folder.write_text("a file stands where the folder should be")
        asked = await rig.actions.capture("adt", frames=2, why="x")
        await rig.captures.look()
        rig.captures.take(caught())
        await rig.captures.write()
        assert not rig.captures.wants(ADT)
        [told] = rig.notes.named("capture-unwritable")
        assert told["reason"] == "File exists"
        assert (await rig.events())[-1][2:] == ("cannot-write", f"capture {asked.id}: 1 frame")


async def test_two_processes_write_no_more_than_was_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        one, two = Rig(store, tmp_path), Rig(store, tmp_path)
        await one.actions.capture("adt", frames=1, why="x")
        for rig in (one, two):
            await rig.captures.look()
            rig.captures.take(caught())
        for rig in (one, two):
            await rig.captures.write()
        assert len(one.files()) == 2


async def test_a_name_that_is_there_already_is_not_written_over(tmp_path: Path) -> None:
    subject.write_frame(tmp_path / "captures", "adt-0001-0001", caught())
    with pytest.raises(FileExistsError):
        subject.write_frame(tmp_path / "captures", "adt-0001-0001", caught(b"other"))
    assert (tmp_path / "captures" / "adt-0001-0001.raw").read_bytes() == b"\x0bMSH\x1c\r"


async def test_memory_for_raw_bytes_is_bounded_and_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "ROOM", 10)
    async with opened(tmp_path) as store:
        rig = Rig(store, tmp_path)
        assert rig.captures.hold(4)
        rig.captures.take(caught())
        assert not rig.captures.hold(1)
        await rig.captures.write()
        assert rig.captures.hold(6)
        rig.captures.release(10)
        assert rig.captures.hold(10)


async def test_frames_are_written_as_soon_as_they_come(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        rig = Rig(store, tmp_path)
        await rig.actions.capture("adt", frames=1, why="x")
        running = asyncio.create_task(rig.captures.run())
        await rig.notes.until(lambda: bool(rig.notes.named("capture-began")))
        rig.captures.take(caught())
        async with asyncio.timeout(10):
            while (await rig.events())[-1][2] != "complete":
                await asyncio.wait([running], timeout=0.01)
        running.cancel()
        await asyncio.wait([running])


async def test_a_defect_costs_one_captured_frame_and_never_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "EVERY", 0.01)
    async with opened(tmp_path) as store:
        rig = Rig(store, tmp_path)
        await rig.actions.capture("adt", frames=2, why="x")
        monkeypatch.setattr(subject, "write_frame", "not to be called")
        running = asyncio.create_task(rig.captures.run())
        await rig.notes.until(lambda: bool(rig.notes.named("capture-began")))
        rig.captures.take(caught())
        await rig.notes.until(lambda: bool(rig.notes.named("capture-failed")))
        assert rig.notes.named("capture-failed") == [{"error": "TypeError"}]
        assert not running.done()
        assert rig.captures.hold(subject.ROOM)
        running.cancel()
        await asyncio.wait([running])
