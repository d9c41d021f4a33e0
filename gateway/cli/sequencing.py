"""The commands about sequence numbers: looking, setting, forgetting. Every change is recorded with a reason."""

from typing import Annotated

import typer

from gateway.cli.acts import Channel, Why
from gateway.cli.outcome import Exit, conclude
from gateway.cli.screen import Column, Listing, say, write_json
from gateway.cli.target import ConfigFile, Json, desk_of
from gateway.core.sequence import LARGEST, expected

Sender = Annotated[
    str | None,
    typer.Option("--sender", metavar="MSH-3|MSH-4", help="Whose; the channel's only sender need not be named."),
]
Number = Annotated[int, typer.Argument(metavar="LAST", min=0, max=LARGEST, help="The last number taken.")]

app = typer.Typer(name="sequence", help="About sequence numbers (MSH-13).", no_args_is_help=True)


@app.command(epilog="Example: hl7-gateway sequence show adt")
def show(channel: Channel, config: ConfigFile = None, as_json: Json = False) -> None:
    """Show the last sequence numbers of a channel. Its own (`stamp`) and each sender's (`protocol`)."""

    async def work() -> int:
        async with desk_of(config) as actions:
            found = await actions.counters(channel)
        if as_json:
            for each in found:
                write_json({"sender": each.sender, "last": each.last, "next": expected(each.last)})
        else:
            listing = Listing((Column(title="SENDER", width=40), Column(title="LAST", width=16)))
            for each in found:
                listing.add((each.sender if each.sender is not None else "(the channel)", str(each.last)))
            listing.print()
        return Exit.DONE

    conclude(work())


@app.command(name="set", epilog='Example: hl7-gateway sequence set adt 41 --sender "LAB|WEST" --reason "agreed"')
def set_(
    channel: Channel,
    last: Number,
    reason: Why,
    sender: Sender = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Set the last number taken from a sender. The next one expected is one more."""
    _change(channel, sender, last, reason=reason, config=config, as_json=as_json)


@app.command(epilog='Example: hl7-gateway sequence reset adt --sender "LAB|WEST" --reason "sender was replaced"')
def reset(
    channel: Channel, reason: Why, sender: Sender = None, config: ConfigFile = None, as_json: Json = False
) -> None:
    """Forget the last number of a sender. Any positive number may come next."""
    _change(channel, sender, None, reason=reason, config=config, as_json=as_json)


def _change(
    channel: str, sender: str | None, last: int | None, *, reason: str, config: ConfigFile, as_json: bool
) -> None:
    async def work() -> int:
        async with desk_of(config) as actions:
            done = await actions.set_counter(channel, sender, last, why=reason)
        if as_json:
            facts = {"channel": done.channel, "sender": done.sender, "before": done.before, "last": done.last}
            write_json({**facts, "next": expected(done.last)})
        else:
            coming = "any positive number" if done.last is None else str(done.last + 1)
            say(f"channel {done.channel}, sender {done.sender}: {coming} is expected next")
        return Exit.DONE

    conclude(work())
