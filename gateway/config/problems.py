"""From a refused value to a sentence: where, what, why, and an example. Never shows a secret."""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gateway.config.sources import Overlay
from gateway.config.tree import Place, field_at, keys, table_at, written

HIDDEN = frozenset({"url", "token", "token_url", "client_secret"})
"""Keys whose value may be a secret, or hold one by mistake."""

LONGEST_SHOWN = 60

NOT_YET = {
    "batch": "batch frames are not built yet and are refused",
    "console": "the operator's page is not built yet",
    "retention": "retention is not built yet; nothing is removed",
}
"""Keys of the design that would be ignored; saying so is better than a bare `unknown key`."""


def sentences(model: type[BaseModel], overlay: Overlay, found: ValidationError) -> Iterator[str]:
    """Give one line for each of pydantic's findings."""
    for error in found.errors(include_url=False):
        place = error["loc"]
        where = location(overlay.document, place) + _origin(overlay, place)
        match error["type"]:
            case "extra_forbidden":
                yield f"{where}: {_unknown(model, place)}"
            case "missing":
                yield f"{where}: is required{_example(model, place)}"
            case "too_short" if error["input"]:
                pass  # Its elements were refused, each with its own line.
            case _:
                shown = _shown(place, error["input"])
                yield f"{where}{shown}: {_reason(model, error)}{_example(model, place)}"


def _reason(model: type[BaseModel], error: ErrorDetails) -> str:
    match error["type"]:
        case "value_error":
            return str(error["ctx"]["error"])
        case "enum" | "literal_error":
            return f"must be one of {error['ctx']['expected']}"
        case "model_type" | "model_attributes_type" | "dict_type":
            return "must be a table"
        case "too_short":
            return "must not be empty"
        case "tuple_type" if table_at(model, error["loc"]):
            return f"must be an array of tables, each begun by [[{error['loc'][-1]}]]"
        case "tuple_type":
            return "must be a list"
        case _:
            return error["msg"].replace("Input should be", "must be")


def location(document: Mapping[str, Any], place: Place) -> str:
    """Write a place, with the name of the upstream or channel it is in, since people do not count tables."""
    element: Any = document
    for step in place[:2]:
        try:
            element = element[step]
        except (KeyError, IndexError, TypeError):
            return written(place)
    name = element.get("name") if isinstance(element, dict) and len(place) > 1 else None
    named = isinstance(name, str) and isinstance(place[1], int)
    return (
        f"{written(place)} ({place[0]} {json.dumps(name[:LONGEST_SHOWN], ensure_ascii=False)})"
        if named and name
        else written(place)
    )


def _origin(overlay: Overlay, place: Place) -> str:
    here = tuple(place)
    variable = next((name for at, name in overlay.origins.items() if at[: len(here)] == here), None)
    return f" (from {variable})" if variable else ""


def _unknown(model: type[BaseModel], place: Place) -> str:
    key = str(place[-1])
    if key in NOT_YET:
        return f"would be ignored: {NOT_YET[key]}"
    table = table_at(model, place[:-1])
    known = list(keys(table)) if table else []
    near = difflib.get_close_matches(key.lower(), known, n=1, cutoff=0.5)
    if near:
        return f'unknown key; did you mean "{near[0]}"?'
    return f"unknown key; known here: {', '.join(known)}"


def _shown(place: Place, value: object) -> str:
    """Write the value behind its key, if it is a plain one and no secret."""
    if not HIDDEN.isdisjoint(map(str, place)) or not isinstance(value, str | int | float | bool):
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return f" = {text}" if len(text) <= LONGEST_SHOWN else f" = {text[:LONGEST_SHOWN]}..."


def _example(model: type[BaseModel], place: Place) -> str:
    field = field_at(model, place)
    if field is None or not field.examples:
        return ""
    key = next(step for step in reversed(place) if isinstance(step, str))
    return f"; example: {key} = {json.dumps(field.examples[0])}"
