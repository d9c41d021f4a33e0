"""Writes configuration files for the tests."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gateway.config.load import load
from gateway.config.settings import Settings
from gateway.errors import ConfigError

PAPERS = Path(__file__).parents[1] / "upstream" / "tls"
"""A certificate for localhost and its key, and another certificate; they hold for a century."""

MINIMAL = """\
[gateway]
data_dir = "var"
[metrics]
listen = "127.0.0.1:9575"
[[upstream]]
name = "main"
url = "ws://127.0.0.1:8765/ws/agent"
profile = "gateway"
agent_id = "demo"
[[channel]]
name = "adt"
listen = "127.0.0.1:2575"
upstream = "main"
sequence = "stamp"
ack = { mode = "commit" }
"""


def minimal(*, gateway: str = "", upstream: str = "", channel: str = "", after: str = "") -> str:
    """Give the minimal file with lines added to its tables."""
    text = MINIMAL.replace('data_dir = "var"\n', f'data_dir = "var"\n{gateway}\n')
    text = text.replace('agent_id = "demo"\n', f'agent_id = "demo"\n{upstream}\n')
    return f"{text}{channel}\n{after}\n"


def loaded(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> Settings:
    """Load the text as a file of `folder`."""
    file = folder / "channels.toml"
    file.write_text(text, encoding="utf-8")
    return load(file, environ or {})


def problems(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Give the problems that loading the text reports; there must be some."""
    with pytest.raises(ConfigError) as caught:
        loaded(folder, text, environ)
    return caught.value.problems


def problem(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> str:
    """Give the one problem that loading the text reports."""
    (only,) = problems(folder, text, environ)
    return only


def write_papers(
    folder: Path, *, cert: str = "cert.pem", key: str = "key.pem", authority: str = "authority.pem"
) -> None:
    """Write a certificate, its key, and a certificate that may vouch for others."""
    for name, source in ((cert, "server.pem"), (key, "server.key"), (authority, "other.pem")):
        (folder / name).write_bytes((PAPERS / source).read_bytes())
    (folder / key).chmod(0o600)
