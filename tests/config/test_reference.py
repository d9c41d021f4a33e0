"""The reference, the example file and the schema say what the model says."""

import re
import runpy
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gateway.config.load import load
from gateway.config.reference import default_of, json_schema, places, reference
from gateway.config.settings import Settings
from gateway.config.tree import field_at, keys, table_in
from tests.config.files import write_papers

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "channels.example.toml"
NOT_IN_THE_FILE = {"upstream.token", "upstream.client_secret"}
OF_THE_EXAMPLE = {
    "upstream.name",
    "upstream.url",
    "upstream.agent_id",
    "channel.name",
    "channel.listen",
    "channel.upstream",
}
UNLIKE_THE_DEFAULT = {"channel.sequence": "stamp"}


def uncommented() -> str:
    """Give the example with every commented key made live."""
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    return "\n".join(line[2:] if re.match(r"# (\w+ = |\[)", line) else line for line in lines)


def keys_of(document: object, place: tuple[str, ...] = ()) -> set[str]:
    if isinstance(document, list) and document and all(isinstance(each, dict) for each in document):
        return {key for each in document for key in keys_of(each, place)}
    if isinstance(document, dict):
        return {found for key, value in document.items() for found in keys_of(value, (*place, key))}
    return {".".join(place)}


def test_the_reference_in_the_documents_is_the_one_of_the_model() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8") == reference()


def test_the_reference_names_every_key_once_in_its_section() -> None:
    sections = reference().split("\n## ")[1:]
    for place in places():
        (section,) = [each for each in sections if each.startswith((f"[{place[0]}]", f"[[{place[0]}]]"))]
        assert section.count(f"| `{'.'.join(place[1:])}` |") == 1


def test_every_key_is_described_and_every_one_of_the_file_has_an_example() -> None:
    for place in places():
        field = field_at(Settings, place)
        assert field is not None
        assert field.description
        assert field.examples or ".".join(place) in NOT_IN_THE_FILE


def test_the_module_prints_the_reference(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "gateway.config.reference")
    runpy.run_module("gateway.config.reference", run_name="__main__")
    assert capsys.readouterr().out == reference()


def test_the_example_starts_as_it_is() -> None:
    found = load(EXAMPLE, {})
    assert str(found.metrics.listen) == "127.0.0.1:9575"
    assert [str(channel.listen) for channel in found.channel] == ["127.0.0.1:2575"]
    assert found.upstream[0].url == "ws://127.0.0.1:8765/ws/agent"


def test_the_example_shows_every_key() -> None:
    shown = keys_of(tomllib.loads(uncommented()))
    assert shown == {".".join(place) for place in places()} - NOT_IN_THE_FILE


def test_the_example_says_nothing_unlike_the_defaults_but_what_it_must() -> None:
    document = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
    for place in places():
        value: Any = document
        for step in place:
            value = value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else value
            value = value.get(step) if isinstance(value, dict) else None
        name = ".".join(place)
        if value is None or name in OF_THE_EXAMPLE:
            continue
        field = field_at(Settings, place)
        assert field is not None
        assert value == UNLIKE_THE_DEFAULT.get(name, default_of(field)), name


def test_the_whole_example_with_its_comments_made_live_loads(tmp_path: Path) -> None:
    for name in ("token", "client-secret", "ca.pem"):
        (tmp_path / name).write_text("x", encoding="ascii")
    write_papers(tmp_path, cert="server.pem", key="server.key", authority="senders-ca.pem")
    text = uncommented().replace('token_file = "token"', "")
    (tmp_path / "channels.toml").write_text(text, encoding="utf-8")
    found = load(tmp_path / "channels.toml", {})
    assert [channel.name for channel in found.channel] == ["adt", "lab"]
    assert found.channel[1].max_inflight == 8
    assert found.channel[1].tls is not None
    assert [sender.name for sender in found.channel[1].tls.senders] == ["lab"]


def test_the_schema_knows_every_key_and_no_other() -> None:
    schema = json_schema()
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == set(keys(Settings))
    for name, field in keys(Settings).items():
        table = table_in(field.annotation)
        assert table is not None, name
        definition = schema["$defs"][table.__name__]
        assert set(definition["properties"]) == set(keys(table))
        assert definition["additionalProperties"] is False
