"""The commands about senders' bytes: anomalies and capture. Never show content; a capture is written by the gateway."""

import asyncio
from typing import Annotated

import typer

from gateway.cli.acts import Channel, Why
from gateway.cli.outcome import Exit, conclude
from gateway.cli.screen import Listing, flush, say, write_json
from gateway.cli.tables import ANOMALY_COLUMNS, anomaly_cells
from gateway.cli.target import ConfigFile, Json, desk_of
from gateway.console.actions import LONGEST_CAPTURE, Actions
from gateway.console.facts import anomaly_facts
from gateway.console.plain import iso
from gateway.model.anomalies import NotedOddity

_LOOK_EVERY = 0.5
"""Seconds between two looks for new anomalies."""

_TAIL = 10
"""Anomalies shown before following, for context."""

_PAGE = 500


def anomalies(
    channel: Channel,
    config: ConfigFile = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most N.")] = 100,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show the last ten, then each as it comes; Ctrl-C ends.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what was odd about a channel's bytes, newest first. Counts are in `status`; with --json one per line."""

    async def work() -> int:
        async with desk_of(config) as actions:
            if follow:
                await _follow(actions, channel, as_json=as_json)
            else:
                _write(list(await actions.anomalies(channel, limit=limit)), Listing(ANOMALY_COLUMNS), as_json=as_json)
        return Exit.DONE

    conclude(work())


def capture(
    channel: Channel,
    frames: Annotated[int, typer.Option("--next", min=1, max=LONGEST_CAPTURE, metavar="N", help="How many frames.")],
    reason: Why,
    config: ConfigFile = None,
) -> None:
    """Keep the next N frames as they come, for one hour at most. Written by the gateway: patient data, mode 0600."""

    async def work() -> int:
        async with desk_of(config) as actions:
            asked = await actions.capture(channel, frames=frames, why=reason)
        say(
            f"capture {asked.id}: the next {frames} frames of channel {channel} are written to captures/ in data_dir, "
            f"until {iso(asked.until)} at most; they hold patient data, delete them when you are done"
        )
        return Exit.DONE

    conclude(work())


async def _follow(actions: Actions, channel: str, *, as_json: bool) -> None:
    listing = Listing(ANOMALY_COLUMNS)
    after, limit = 0, _TAIL
    while True:
        found = await actions.anomalies(channel, after=after, limit=limit)
        after, limit = found[0].id if found else after, _PAGE
        _write(list(reversed(found)), listing, as_json=as_json)
        flush()
        await asyncio.sleep(_LOOK_EVERY)


def _write(found: list[NotedOddity], listing: Listing, *, as_json: bool) -> None:
    for each in found:
        if as_json:
            write_json(anomaly_facts(each))
        else:
            listing.add(anomaly_cells(each))
    if not as_json:
        listing.print()
