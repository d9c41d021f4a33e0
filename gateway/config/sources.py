"""Where values come from: the file, and the environment laid over it. Judges no value."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from gateway.config.tree import adapter, field_at, is_array, keys, table_at
from gateway.errors import ConfigError

PREFIX = "GATEWAY_"
DELIMITER = "__"
PATH_VARIABLE = "GATEWAY_CONFIG"
DEFAULT_NAME = "channels.toml"


class EnvironmentSource(PydanticBaseSettingsSource):
    """GATEWAY_SECTION__KEY variables as a tree of texts; an element of an array goes by its name.

    Names ignore case; an empty variable counts as not set. A variable without `__` is none of ours
    (container platforms set GATEWAY_PORT and the like for a service of that name).
    """

    def __init__(self, settings_cls: type[BaseSettings], environ: Mapping[str, str]) -> None:
        super().__init__(settings_cls)
        self._environ = environ
        self.problems: list[str] = []

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Give one top-level section."""
        return self().get(field_name), field_name, field.is_required()

    def __call__(self) -> dict[str, Any]:
        """Give the tree."""
        tree: dict[str, Any] = {}
        for variable in sorted(self._environ):
            text = self._environ[variable]
            if not variable.upper().startswith(PREFIX) or DELIMITER not in variable or not text:
                continue
            *tables, key = variable[len(PREFIX) :].lower().split(DELIMITER)
            if not _set(tree, tables, key, text):
                self.problems.append(f"{variable}: other variables give it as a value and as a table")
        return tree


def _set(tree: dict[str, Any], tables: list[str], key: str, text: str) -> bool:
    for table in tables:
        below = tree.setdefault(table, {})
        if not isinstance(below, dict):
            return False
        tree = below
    if key in tree:
        return False
    tree[key] = text
    return True


def read_file(path: Path) -> dict[str, Any]:
    """Read the TOML file. Raises ConfigError when there is none, it cannot be read, or it is not TOML."""
    try:
        return tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        raise ConfigError((f"{path}: no such file; {HOW_TO_NAME_ONE}",)) from None
    except OSError as error:
        raise ConfigError((f"{path}: cannot be read: {error.strerror}",)) from None
    except UnicodeDecodeError as error:
        raise ConfigError((f"{path}: is not UTF-8 at byte {error.start}",)) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError((f"{path}: is not TOML: {error}",)) from None
    except RecursionError:
        raise ConfigError((f"{path}: is nested too deeply",)) from None
    except ValueError:
        # Python reads no integer of thousands of digits.
        raise ConfigError((f"{path}: holds a number that is too long",)) from None


HOW_TO_NAME_ONE = (
    f"name one with -c FILE, or in ${PATH_VARIABLE}, or put {DEFAULT_NAME} in the current folder "
    "(channels.example.toml is a complete one)"
)


def choose_file(path: Path | None, environ: Mapping[str, str]) -> Path:
    """Give the file to read: the one named, else the environment's, else channels.toml in the current folder."""
    return path or Path(environ.get(PATH_VARIABLE) or DEFAULT_NAME)


class Overlay:
    """The environment's tree laid over the file's document; texts become what the key at their place takes.

    `document` is the result, `origins` tells which places a variable filled, `problems` what could not be laid.
    """

    def __init__(self, model: type[BaseSettings], document: Mapping[str, Any], tree: Mapping[str, Any]) -> None:
        self._model = model
        self.origins: dict[tuple[str | int, ...], str] = {}
        self.problems: list[str] = []
        self.document = self._merge(document, tree, (), PREFIX)

    def _merge(
        self, document: Mapping[str, Any], tree: Mapping[str, Any], place: tuple[str | int, ...], variable: str
    ) -> dict[str, Any]:
        merged = dict(document)
        for key, value in tree.items():
            here = (*place, self._spelled(place, key))
            merged[str(here[-1])] = self._laid(merged.get(str(here[-1])), value, here, variable + key.upper())
        return merged

    def _laid(self, old: object, value: object, here: tuple[str | int, ...], variable: str) -> object:
        field = field_at(self._model, here)
        if not isinstance(value, dict):
            self.origins[here] = variable
            return _typed(field, str(value))
        if field is not None and is_array(field):
            return self._merge_array(old, value, here, variable + DELIMITER)
        return self._merge(old if isinstance(old, dict) else {}, value, here, variable + DELIMITER)

    def _merge_array(
        self, old: object, tree: Mapping[str, Any], place: tuple[str | int, ...], variable: str
    ) -> list[Any]:
        elements = list(old) if isinstance(old, list) else []
        for name, value in tree.items():
            own = variable + name.upper()
            index = next((n for n, each in enumerate(elements) if _folded_name(each) == name), None)
            if index is None:
                self.problems.append(f"{own}: the file has no [[{place[-1]}]] of that name; the environment adds none")
            elif isinstance(value, dict):
                elements[index] = self._merge(elements[index], value, (*place, index), own + DELIMITER)
            else:
                self.problems.append(f"{own}: names a whole table; name a key of it, as in {own}{DELIMITER}KEY")
        return elements

    def _spelled(self, place: tuple[str | int, ...], key: str) -> str:
        """Give the key as the model spells it (`AE`), since variables come without case."""
        table = table_at(self._model, place)
        return next((own for own in keys(table) if own.lower() == key), key) if table else key


def folded(name: str) -> str:
    """Give a name as a variable can spell it: lower case, `-` and `.` as `_`."""
    return name.lower().replace("-", "_").replace(".", "_")


def _folded_name(element: object) -> str | None:
    name = element.get("name") if isinstance(element, dict) else None
    return folded(name) if isinstance(name, str) else None


def _typed(field: FieldInfo | None, text: str) -> object:
    """Keep the text if the key takes it, else read it as a TOML value (numbers, true, lists)."""
    if field is None:
        return text
    try:
        adapter(field).validate_python(text)
    except ValidationError:
        return _read_value(text)
    return text


def _read_value(text: str) -> object:
    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # no TOML, or more digits or brackets than Python reads
        return text
    # A text with a line end could bring keys of its own.
    return document["value"] if len(document) == 1 else text
