"""The gateway as a bench's baseline: one commit for each unit of work. Started by the bench alone, never by a person.

No configuration reaches what is changed here; a gateway started any other way syncs every commit and groups them.
"""

import argparse
import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Literal
from unittest.mock import patch

from gateway.app import storage, translate
from gateway.app.run import run
from gateway.config.load import load
from gateway.config.settings import Settings
from gateway.store.options import StoreOptions
from gateway.store.sqlite import writer

Synchronous = Literal["FULL", "NORMAL"]


def main() -> int:
    """Run until told to stop."""
    parser = argparse.ArgumentParser(prog="baseline", description=__doc__)
    parser.add_argument("-c", dest="config", type=Path, required=True)
    parser.add_argument("--ready-file", type=Path, required=True)
    parser.add_argument("--synchronous", choices=("FULL", "NORMAL"), required=True)
    chosen = parser.parse_args()
    settings = load(chosen.config, {})
    options = store_options(settings, chosen.synchronous)
    with patch.object(writer, "GROUP_UNITS", 1), patch.object(storage, "store_options", lambda _: options):
        return asyncio.run(run(settings, ready_file=chosen.ready_file))


def store_options(settings: Settings, synchronous: Synchronous) -> StoreOptions:
    """Give the store's options as the gateway would, but for when it syncs."""
    return replace(translate.store_options(settings), synchronous=synchronous)


if __name__ == "__main__":
    raise SystemExit(main())
