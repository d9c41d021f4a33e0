"""The commands that only look at messages and channels: status, why, list, show. They change nothing."""

import re
from typing import Annotated

import typer

from gateway.cli.outcome import Exit, conclude
from gateway.cli.screen import Listing, console, say, write_bytes, write_json
from gateway.cli.sheet import shown_view
from gateway.cli.tables import ROW_COLUMNS, row_cells, status_view
from gateway.cli.target import ConfigFile, Json, desk_of
from gateway.console.actions import Actions
from gateway.console.facts import explained_facts, row_facts, shown_facts, status_facts
from gateway.model.ids import ChannelName
from gateway.model.review import RowFilter
from gateway.model.states import State

Id = Annotated[str, typer.Argument(metavar="ID", help="The message's id (UUID) or its row number.")]


def status(config: ConfigFile = None, as_json: Json = False) -> None:
    """Show every channel at a glance. Depth, oldest age, review, what it waits for, last error, next try (UTC)."""

    async def work() -> int:
        async with desk_of(config) as actions:
            found = await actions.status()
        if as_json:
            write_json(status_facts(found))
        else:
            console().print(status_view(found))
        return Exit.DONE

    conclude(work())


def why(
    subject: Annotated[str, typer.Argument(metavar="CHANNEL|ID", help="A channel, or a message's id or row number.")],
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Say in one sentence what a channel or a message waits for."""

    async def work() -> int:
        async with desk_of(config) as actions:
            explained = await actions.why(subject)
        if as_json:
            write_json(explained_facts(explained))
        else:
            what = f"row {explained.row}" if explained.row is not None else f"channel {explained.channel}"
            say(f"{what}: {explained.reason.sentence}")
        return Exit.DONE

    conclude(work())


def list_(
    config: ConfigFile = None,
    channel: Annotated[str | None, typer.Option(metavar="NAME", help="Only messages of this channel.")] = None,
    state: Annotated[
        list[State] | None,
        typer.Option(metavar="STATE", help=f"Only messages in this state; may be repeated. One of {', '.join(State)}."),
    ] = None,
    control_id: Annotated[
        str | None, typer.Option(metavar="TEXT", help=r"Only messages with this MSH-10; \xNN stands for a byte.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most N; without it every message.")] = None,
    as_json: Json = False,
) -> None:
    """List messages, oldest first. With --json one object per line."""
    which = RowFilter(
        channel=ChannelName(channel) if channel is not None else None,
        states=tuple(state or ()),
        control_id=_bytes(control_id) if control_id is not None else None,
        limit=limit,
    )

    async def work() -> int:
        async with desk_of(config) as actions:
            await (_list_json if as_json else _list_table)(actions, which)
        return Exit.DONE

    conclude(work())


def show(
    message: Id,
    config: ConfigFile = None,
    raw: Annotated[bool, typer.Option("--raw", help="Write the stored bytes, unmasked and unchanged.")] = False,
    as_json: Json = False,
) -> None:
    """Show one message, its content masked. Facts, what it waits for, timeline, segment tree with field lengths."""
    if raw and as_json:
        raise typer.BadParameter("--raw writes bytes and --json writes JSON; choose one", param_hint="--raw")

    async def work() -> int:
        async with desk_of(config) as actions:
            if raw:
                write_bytes(await actions.raw(message))
            elif as_json:
                write_json(shown_facts(await actions.show(message)))
            else:
                console().print(shown_view(await actions.show(message)))
        return Exit.DONE

    conclude(work())


async def _list_json(actions: Actions, which: RowFilter) -> None:
    async for row in actions.list(which):
        write_json(row_facts(row))


async def _list_table(actions: Actions, which: RowFilter) -> None:
    listing = Listing(ROW_COLUMNS)
    async for row in actions.list(which):
        listing.add(row_cells(row))
    listing.print()


def _bytes(text: str) -> bytes:
    r"""Turn `\xNN` back into bytes, the way listings show what does not decode."""
    plain = text.encode("utf-8", "surrogateescape")
    return re.sub(rb"\\x([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), plain)
