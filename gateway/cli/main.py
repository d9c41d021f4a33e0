"""The command line's front door: names every command, decides nothing."""

import sys
from io import TextIOWrapper

import typer

from gateway import __version__
from gateway.cli import acts, benching, oddities, reading, receiving, sending, sequencing, serve, torturing, watching

_EXIT_CODES = "Exit codes: 0 done, 1 refused or not found, 2 usage or configuration, 3 the gateway's own trouble."

app = typer.Typer(
    name="hl7-gateway",
    help="HL7 v2 MLLP intake gateway: takes messages, makes them durable, answers, delivers them in order.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    # A traceback with local variables would show content of messages.
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
config_app = typer.Typer(name="config", help="About the configuration file.", no_args_is_help=True)
app.add_typer(config_app)
app.add_typer(sequencing.app)

app.command(epilog="Example: hl7-gateway run -c channels.toml --ready-file /run/gateway.json")(serve.run)
app.command(epilog="Example: hl7-gateway check -c channels.toml")(serve.check)
app.command(epilog="Example: hl7-gateway status")(reading.status)
app.command(epilog="Example: hl7-gateway why adt")(reading.why)
app.command(name="list", epilog="Example: hl7-gateway list --channel adt --state failed")(reading.list_)
app.command(epilog="Example: hl7-gateway show 1207")(reading.show)
app.command(epilog="Example: hl7-gateway events --follow")(watching.events)
app.command(epilog="Example: hl7-gateway anomalies adt --follow")(oddities.anomalies)
app.command(epilog='Example: hl7-gateway capture adt --next 5 --reason "doubled fields"')(oddities.capture)
app.command(epilog='Example: hl7-gateway requeue 1207 --reason "server was repaired"')(acts.requeue)
app.command(epilog='Example: hl7-gateway resolve 1207 --reason "seen in the ward list"')(acts.resolve)
app.command(epilog='Example: hl7-gateway discard 1207 --reason "test message"')(acts.discard)
app.command(epilog='Example: hl7-gateway halt adt --reason "server maintenance"')(acts.halt)
app.command(epilog='Example: hl7-gateway resume adt --reason "maintenance is over"')(acts.resume)
app.command(epilog="Example: hl7-gateway verify")(watching.verify)
app.command(epilog="Example: hl7-gateway migrate")(serve.migrate)
app.command(epilog="Example: hl7-gateway receive --listen 127.0.0.1:8765 --journal taken.jsonl")(receiving.receive)
app.command(epilog="Example: hl7-gateway send messages/ --to 127.0.0.1:2575 --rate 10")(sending.send)
app.command(epilog="Example: hl7-gateway torture --to 127.0.0.1:2575")(torturing.torture)
app.command(epilog="Example: hl7-gateway bench --suite intake --disk /var/lib")(benching.bench)
config_app.command(epilog="Example: hl7-gateway config schema > channels.schema.json")(serve.schema)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _front(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """HL7 v2 MLLP intake gateway: takes messages, makes them durable, answers, delivers them in order."""


def main() -> None:
    """Run the command named on the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that lacks a character gets its escape, never an exception in the middle of an act.
            stream.reconfigure(errors="backslashreplace")
    app()
