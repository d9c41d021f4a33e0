"""The reference of every key, written from the model: `python -m gateway.config.reference > docs/configuration.md`."""

import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from gateway.config.address import Address
from gateway.config.settings import Settings
from gateway.config.tree import is_array, keys, table_in, walk

PREFACE = """\
# Configuration

<!-- Written from the model by `python -m gateway.config.reference`; a test compares. Do not edit. -->

One TOML file: `-c FILE`, else `$GATEWAY_CONFIG`, else `channels.toml` in the current folder. `channels.example.toml`
shows every key. `hl7-gateway check` reports every problem of a file at once; a key that is not listed here is an error.

- **Times** are seconds, with or without a fraction. **Sizes** are bytes.
- **Relative paths** are taken from the folder the file stands in.
- **Environment**: `GATEWAY_SECTION__KEY` wins over the file, names in any case: `GATEWAY_METRICS__LISTEN`,
  `GATEWAY_GATEWAY__DATA_DIR`. A channel or an upstream goes by its name, with `-` and `.` written `_`:
  `GATEWAY_CHANNEL__ADT__ACK__MODE=auto`. Lists are written as in the file: `["PID-3.1"]`. An empty variable counts as
  not set. The environment changes channels and upstreams of the file and adds none.
- **Secrets** stand in files of their own (mode 0600) or in the environment, never in this file or on a command line:
  `GATEWAY_UPSTREAM__MAIN__TOKEN`, `GATEWAY_UPSTREAM__MAIN__CLIENT_SECRET`.
"""


def reference() -> str:
    """Give docs/configuration.md."""
    return "\n".join([PREFACE, *(line for section in _sections() for line in section)])


def json_schema() -> dict[str, Any]:
    """Give the JSON schema of the file, for editors and for `config schema`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Settings.model_json_schema()


def places() -> tuple[tuple[str, ...], ...]:
    """Give the place of every key that holds a value."""
    return tuple(place for place, _ in walk(Settings))


def _sections() -> Iterator[list[str]]:
    for key, field in keys(Settings).items():
        table = table_in(field.annotation)
        if table is None:
            raise TypeError(f"{key} is no table")
        heading = f"[[{key}]]" if is_array(field) else f"[{key}]"
        lines = [
            f"## {heading}",
            "",
            field.description or "",
            "",
            "| key | type | default | meaning |",
            "|---|---|---|---|",
        ]
        lines += [_row(place, each) for place, each in walk(table)]
        yield [*lines, ""]


def _row(place: tuple[str, ...], field: FieldInfo) -> str:
    meaning = (field.description or "").replace("|", "\\|")
    return f"| `{'.'.join(place)}` | {_type(field)} | {_default(field)} | {meaning} |"


def _type(field: FieldInfo) -> str:
    """Name the type as an administrator would, with its bounds."""
    unit = field.json_schema_extra.get("unit") if isinstance(field.json_schema_extra, dict) else None
    words = (
        str(unit)
        if unit
        else '`"channel"` or list of texts'
        if field.examples == ["channel"]
        else _words(field.annotation)
    )
    bounds = [f"{sign} {_number(value)}" for name, sign in _SIGNS for value in _bound(field, name)]
    return f"{words}, {', '.join(bounds)}" if bounds else words


_SIGNS = (("ge", "at least"), ("gt", "more than"), ("le", "at most"))
_KINDS: dict[Any, str] = {bool: "true or false", int: "whole number", float: "seconds", SecretStr: "secret"}


def _bound(field: FieldInfo, name: str) -> list[float]:
    """Give the key's own bound; a narrower one on the key stands after the one of its type."""
    return [value for each in field.metadata if (value := getattr(each, name, None)) is not None][-1:]


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _words(annotation: Any) -> str:
    origin, inside = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return " ".join(f"`{word}`" for word in annotation)
    if origin is Literal:
        return " ".join(f"`{word}`" for word in inside)
    if origin is tuple:
        return "list of texts"
    options = [each for each in inside if each is not type(None)]
    if options and annotation not in _KINDS:
        return _words(options[0])
    return _KINDS.get(annotation, "text")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = default_of(field)
    if value is None:
        return "not set"
    text = json.dumps(value)
    return f"`{text}`" if len(text) <= 60 else f"`{text[:40]}...` ({len(value)})"


def default_of(field: FieldInfo) -> Any:
    """Give the key's default as the file would spell it."""
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined or value is None:
        return None
    if isinstance(value, BaseModel):
        raise TypeError("a table has no default of its own")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Address):
        return str(value)
    written: Any = to_jsonable_python(value, fallback=str)
    return "channel" if field.examples == ["channel"] else written


if __name__ == "__main__":
    sys.stdout.write(reference())
