"""The model seen as a tree of keys: what stands at a place, and how a place is written. Holds no values."""

import json
import re
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

Place = Sequence[str | int]
"""A key's place in the file: names of tables and keys, positions in arrays."""

LONGEST_KEY = 60
_BARE = re.compile(r"[A-Za-z0-9_-]{1,60}")


def written(place: Place) -> str:
    """Write a place as people read it: `channel[1].ack.mode`."""
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{_key(step)}"
    return text.removeprefix(".")


def _key(key: str) -> str:
    """Quote a key that TOML would not take bare; it may hold anything, also line ends."""
    return key if _BARE.fullmatch(key) else json.dumps(key[:LONGEST_KEY])


def keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Give a table's keys as the file spells them."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def table_in(annotation: Any) -> type[BaseModel] | None:
    """Give the table an annotation is about: itself, an optional one, or the elements of an array."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) not in {tuple, Union, UnionType, Annotated}:
        return None
    return next((found for each in get_args(annotation) if (found := table_in(each))), None)


def is_array(field: FieldInfo) -> bool:
    """Say whether the key holds an array of tables."""
    return get_origin(field.annotation) is tuple and table_in(field.annotation) is not None


def field_at(model: type[BaseModel], place: Place) -> FieldInfo | None:
    """Give the key at a place; positions inside an array are passed over. None if the model has no such key."""
    field: FieldInfo | None = None
    table: type[BaseModel] | None = model
    for step in place:
        if isinstance(step, int):
            continue
        if table is None or (field := keys(table).get(step)) is None:
            return None
        table = table_in(field.annotation)
    return field


def table_at(model: type[BaseModel], place: Place) -> type[BaseModel] | None:
    """Give the table at a place, the root included."""
    if not place:
        return model
    field = field_at(model, place)
    return None if field is None else table_in(field.annotation)


def walk(model: type[BaseModel], under: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Give every key that holds a value, in the order of the model; tables themselves are not given."""
    for key, field in keys(model).items():
        table = table_in(field.annotation)
        if table is None:
            yield (*under, key), field
        else:
            yield from walk(table, (*under, key))


def adapter(field: FieldInfo) -> TypeAdapter[Any]:
    """Give what checks a value of this key alone."""
    # Keyed by identity: fields live as long as their model, are not hashable, and an adapter is dear to make.
    known = _ADAPTERS.get(id(field))
    if known is None:
        annotation: Any = field.annotation
        known = TypeAdapter(Annotated[annotation, *field.metadata] if field.metadata else annotation)
        _ADAPTERS[id(field)] = known
    return known


_ADAPTERS: dict[int, TypeAdapter[Any]] = {}
