"""The commands about a gateway as a whole: run, check, migrate, config schema."""

from pathlib import Path
from typing import Annotated

import orjson
import typer

from gateway.cli.outcome import Exit, conclude
from gateway.cli.screen import Column, console, say, table, write_bytes, write_json
from gateway.cli.target import ConfigFile, Json, settings_of
from gateway.config.settings import Settings
from gateway.errors import ConfigError

ReadyFile = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Written once everything listens: JSON with pid and the addresses bound."),
]


def run(config: ConfigFile = None, ready_file: ReadyFile = None) -> None:
    """Run the gateway until SIGTERM or Ctrl-C."""

    async def work() -> int:
        settings = settings_of(config)
        from gateway.app.run import run as serve  # noqa: PLC0415 - the server's weight is for this command only

        return await serve(settings, ready_file=ready_file)

    # A port that is taken is the gateway's own trouble: nobody refused anything.
    conclude(work(), refused=Exit.TROUBLE)


def check(config: ConfigFile = None, as_json: Json = False) -> None:
    """Check the configuration without starting anything. Every problem is listed; exit code 2 if there is one."""

    async def work() -> int:
        try:
            settings = settings_of(config)
        except ConfigError as error:
            if not as_json:
                raise
            write_json({"ok": False, "problems": list(error.problems)})
            return Exit.USAGE
        if as_json:
            write_json({"ok": True, "problems": []})
        else:
            _tell(settings)
        return Exit.DONE

    conclude(work())


def migrate(config: ConfigFile = None) -> None:
    """Bring the store to this program's schema. Stop the gateway first, and have a backup."""

    async def work() -> int:
        settings = settings_of(config)
        from gateway.app.migrate import migrate as bring  # noqa: PLC0415 - see run

        before, after = await bring(settings)
        say(f"schema version {before} -> {after}" if before != after else f"schema version {after}, nothing to do")
        return Exit.DONE

    conclude(work())


def schema() -> None:
    """Write the JSON Schema of the configuration file, for editors and validators."""
    write_bytes(orjson.dumps(Settings.model_json_schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _tell(settings: Settings) -> None:
    columns = (
        Column(title="CHANNEL", share=2),
        Column(title="LISTEN", share=3),
        Column(title="UPSTREAM", share=2),
        Column(title="ACK", width=11),
        Column(title="SEQUENCE", width=8),
    )
    rows = [
        (each.name, str(each.listen), each.upstream, each.ack.mode.value, each.sequence.value)
        for each in settings.channel
    ]
    console().print(table(columns, rows))
    say("The configuration can be used.")
