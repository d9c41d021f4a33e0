"""A gateway that meets a defect: an exception whose text holds content, raised where messages pass."""

import asyncio
import sys
from pathlib import Path

from gateway.app.run import run
from gateway.config.load import load
from gateway.model.states import Landmark


def main() -> int:
    """Run with a `passing` that raises."""
    config, ready, landmark = sys.argv[1:]

    def passing(place: Landmark) -> None:
        if place == landmark:
            raise ValueError("CANARY in an exception's text")

    return asyncio.run(run(load(Path(config), {}), ready_file=Path(ready), passing=passing))


if __name__ == "__main__":
    raise SystemExit(main())
