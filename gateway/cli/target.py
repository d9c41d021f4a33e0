"""Finds the gateway a command is about: its configuration and, beside a running one, its store."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from gateway.app.world import clock, operator
from gateway.config.load import load
from gateway.config.settings import Settings
from gateway.console.actions import Actions
from gateway.console.values import Reading
from gateway.model.ids import ChannelName

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "-c",
        "--config",
        metavar="FILE",
        help="Configuration file. Not given: $GATEWAY_CONFIG, else channels.toml in the current folder.",
        show_default=False,
    ),
]

Json = Annotated[bool, typer.Option("--json", help="Write JSON instead of text for people.")]


def settings_of(config: Path | None) -> Settings:
    """Read and check the configuration. Raises ConfigError with every problem."""
    return load(config, os.environ)


@asynccontextmanager
async def desk_of(config: Path | None) -> AsyncIterator[Actions]:
    """Open the gateway's store for one operator. Raises ConfigError or StoreRefused."""
    settings = settings_of(config)
    from gateway.app.desk import open_desk  # noqa: PLC0415 - commands without a store do without its weight

    upstreams = {ChannelName(channel.name): channel.upstream for channel in settings.channel}
    async with open_desk(settings) as store:
        yield Actions(store.desk, clock, operator(), upstreams=upstreams, readings=_readings(settings))


def _readings(settings: Settings) -> dict[ChannelName, Reading]:
    return {
        ChannelName(channel.name): Reading(
            fixed=channel.encoding, default=channel.default_encoding, fallback=channel.fallback_encoding
        )
        for channel in settings.channel
    }
