"""The ready file: says to outside tools that everything listens, and where."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson


def write_ready(path: Path, facts: Mapping[str, Any]) -> None:
    """Write the facts as JSON, all or nothing: the name appears only once the content is whole. Mode 0600."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(orjson.dumps(dict(facts), option=orjson.OPT_APPEND_NEWLINE))
    draft.replace(path)
