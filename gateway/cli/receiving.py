"""The command that plays the server: receive."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.outcome import Exit, conclude
from gateway.config import address

Listen = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 picks a free one.", show_default=True)
]
Journal = Annotated[
    Path, typer.Option(metavar="FILE", help="Appended to: one JSON line per message taken, synced before the answer.")
]
Plain = Annotated[
    bool, typer.Option("--no-extensions", "--plain", help="Speak the base protocol only, as a plain server does.")
]
Script = Annotated[Path | None, typer.Option(metavar="FILE", help="Faults by control id: delay, silence, AE, AR, ...")]
ReadyFile = Annotated[Path | None, typer.Option(metavar="PATH", help="Written once it listens: JSON with pid and URL.")]


def receive(
    journal: Journal,
    listen: Listen = "127.0.0.1:8765",
    plain: Plain = False,
    script: Script = None,
    ready_file: ReadyFile = None,
) -> None:
    """Run the bundled server. It takes messages from a gateway over WebSocket, writes them down and answers AA."""
    from gateway.app.receive import receive as serve  # noqa: PLC0415 - the server's weight is for this command only

    try:
        where = address.parse(listen)
    except ValueError as error:
        raise typer.BadParameter(f"{error}, for example 127.0.0.1:8765", param_hint="--listen") from None
    conclude(
        serve(
            host=where.host,
            port=where.port,
            journal=journal,
            extensions=not plain,
            script=script,
            ready_file=ready_file,
        ),
        refused=Exit.TROUBLE,
    )
