"""A gateway that ends itself by SIGKILL at a landmark, or is broken on purpose. Nothing of this is in the product."""

import argparse
import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

from gateway.app.run import run
from gateway.config.load import load
from gateway.model.states import Landmark
from tests.chaos.mutants import MUTANTS


def killer(landmark: Landmark, number: int) -> Callable[[Landmark], None]:
    """Make a `passing` that kills this process at the `number`-th time the landmark is passed."""
    left = number

    def passing(place: Landmark) -> None:
        nonlocal left
        if place is landmark:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return passing


def main() -> int:
    """Run the gateway of a configuration until it is killed or told to stop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("ready", type=Path)
    parser.add_argument("--at", type=Landmark)
    parser.add_argument("--number", type=int, default=1)
    parser.add_argument("--mutant", choices=MUTANTS)
    arguments = parser.parse_args()
    if arguments.mutant:
        MUTANTS[arguments.mutant][0]()
    settings = load(arguments.config, {})
    if arguments.at is None:
        return asyncio.run(run(settings, ready_file=arguments.ready))
    passing = killer(arguments.at, arguments.number)
    return asyncio.run(run(settings, ready_file=arguments.ready, passing=passing))


if __name__ == "__main__":
    raise SystemExit(main())
