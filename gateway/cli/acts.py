"""The commands that act on messages and channels. Every act is recorded with the system user and a reason."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from gateway.cli.outcome import Exit, conclude
from gateway.cli.screen import complain, say
from gateway.cli.target import ConfigFile, desk_of
from gateway.console.actions import Actions
from gateway.console.values import Acted
from gateway.errors import OperatorError


def _spoken(reason: str) -> str:
    if not reason.strip():
        raise typer.BadParameter("say why; the reason is recorded with your name")
    return reason.strip()


Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Messages: ids (UUID) or row numbers.")]
Why = Annotated[str, typer.Option("--reason", metavar="TEXT", callback=_spoken, help="Why; recorded with your name.")]
Channel = Annotated[str, typer.Argument(metavar="CHANNEL", help="Name of the channel.")]
Forget = Annotated[
    bool, typer.Option("--forget", help="Also forget its fingerprint: the next copy of it is a new message.")
]


def requeue(ids: Ids, reason: Why, config: ConfigFile = None) -> None:
    """Deliver messages in review again. Failed or rejected ones, each at its old place."""
    _each(config, ids, lambda actions, each: actions.requeue(each, why=reason))


def resolve(ids: Ids, reason: Why, config: ConfigFile = None, forget: Forget = False) -> None:
    """Mark messages in review as arrived. You know that the server has them."""
    _each(config, ids, lambda actions, each: actions.resolve(each, why=reason, forget=forget))


def discard(ids: Ids, reason: Why, config: ConfigFile = None, forget: Forget = False) -> None:
    """Give messages up for good. Queued, failed or rejected ones; their content stays until retention."""
    _each(config, ids, lambda actions, each: actions.discard(each, why=reason, forget=forget))


def halt(channel: Channel, reason: Why, config: ConfigFile = None) -> None:
    """Halt the delivery of a channel. Messages are still taken and answered; none goes out until `resume`."""

    async def work() -> int:
        async with desk_of(config) as actions:
            await actions.halt(channel, why=reason)
        say(f"channel {channel} is halted")
        return Exit.DONE

    conclude(work())


def resume(channel: Channel, reason: Why, config: ConfigFile = None) -> None:
    """Lift every halt of a channel. Messages in review stay there."""

    async def work() -> int:
        async with desk_of(config) as actions:
            lifted = await actions.resume(channel, why=reason)
        word = "halt" if lifted == 1 else "halts"
        say(f"channel {channel} goes on: {lifted} {word} lifted" if lifted else f"channel {channel} was not halted")
        return Exit.DONE

    conclude(work())


def _each(config: ConfigFile, ids: list[str], act: Callable[[Actions, str], Awaitable[Acted]]) -> None:
    """Do one act on every message named; one that is refused does not keep the others from it."""

    async def work() -> int:
        refused = 0
        async with desk_of(config) as actions:
            for each in ids:
                try:
                    _tell(await act(actions, each))
                except OperatorError as error:
                    refused += 1
                    complain(f"{each}: {error}")
        return Exit.REFUSED if refused else Exit.DONE

    conclude(work())


def _tell(acted: Acted) -> None:
    say(f"row {acted.row} is {acted.state} (generation {acted.generation})")
    if acted.warning is not None:
        complain(f"row {acted.row}: {acted.warning}")
