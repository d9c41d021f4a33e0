"""The commands that look at the record: events and verify. They change nothing."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

import typer

from gateway.cli.outcome import Exit, conclude
from gateway.cli.screen import Listing, flush, say, write_json
from gateway.cli.tables import EVENT_COLUMNS, event_cells
from gateway.cli.target import ConfigFile, Json, desk_of
from gateway.console.actions import Actions
from gateway.console.facts import event_facts, finding_facts
from gateway.model.ids import RowId

_LOOK_EVERY = 0.25
"""Seconds between two looks for new events."""

_TAIL = 10
"""Events shown before following, for context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Where:
    """Which events: of a channel, of a row, with numbers above `after`."""

    channel: str | None
    row: RowId | None
    after: int


def events(
    config: ConfigFile = None,
    message: Annotated[
        str | None, typer.Option("--row", metavar="ID", help="Only events of this message (id or row number).")
    ] = None,
    channel: Annotated[str | None, typer.Option(metavar="NAME", help="Only events of this channel.")] = None,
    after: Annotated[int | None, typer.Option(min=0, metavar="N", help="Only events numbered above N.")] = None,
    last: Annotated[int | None, typer.Option(min=0, metavar="N", help="Begin N events before the newest.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with events as they come; Ctrl-C ends.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what happened, oldest first. Every change of state, every act and by whom; with --json one per line."""
    if follow and message is not None:
        raise typer.BadParameter("--follow shows the events of all messages; leave --row out", param_hint="--follow")
    if after is not None and last is not None:
        raise typer.BadParameter("--after and --last both say where to begin; choose one", param_hint="--last")

    async def work() -> int:
        async with desk_of(config) as actions:
            begin = await _beginning(actions, after, last if last is not None or not follow else _TAIL)
            row = await actions.row_id(message) if message is not None else None
            where = _Where(channel=channel, row=row, after=begin)
            await _write(actions, where, follow=follow, as_json=as_json)
        return Exit.DONE

    conclude(work())


def verify(config: ConfigFile = None, as_json: Json = False) -> None:
    """Check the store against its promises. Hashes, numbers, fingerprints, events; exit code 1 if anything is wrong."""

    async def work() -> int:
        found = 0
        async with desk_of(config) as actions:
            async for finding in actions.verify():
                found += 1
                about = f"row {finding.row}: " if finding.row is not None else ""
                if as_json:
                    write_json(finding_facts(finding))
                else:
                    say(f"{finding.kind}: {about}{finding.text}")
        if not as_json:
            say(f"{found} things are wrong." if found else "Nothing is wrong.")
        return Exit.REFUSED if found else Exit.DONE

    conclude(work())


async def _beginning(actions: Actions, after: int | None, last: int | None) -> int:
    """Give the number of the event to begin behind."""
    if last is None:
        return after or 0
    return after if after is not None else max(0, await actions.timeline.newest() - last)


async def _write(actions: Actions, where: _Where, *, follow: bool, as_json: bool) -> None:
    listing = Listing(EVENT_COLUMNS)

    async def pause() -> None:
        if not as_json:
            listing.print()
        flush()
        await asyncio.sleep(_LOOK_EVERY)

    timeline = actions.timeline
    found = (
        timeline.follow(after=where.after, pause=pause) if follow else timeline.events(row=where.row, after=where.after)
    )
    async for event in found:
        if where.channel is not None and event.channel != where.channel:
            continue
        if as_json:
            write_json(event_facts(event))
        else:
            listing.add(event_cells(event))
    if not as_json:
        listing.print()
