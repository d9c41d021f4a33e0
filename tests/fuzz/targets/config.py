"""Loading a configuration: any bytes as TOML, any variables around it, give settings or a ConfigError in words."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from gateway.config.load import load
from gateway.errors import ConfigError
from tests.config.files import MINIMAL, minimal
from tests.fuzz.target import Choices, Target

_FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-config-")
_VARIABLES = (
    "GATEWAY_CHANNEL__ADT__ACK__MODE",
    "GATEWAY_CHANNEL__ADT__LISTEN",
    "GATEWAY_GATEWAY__DATA_DIR",
    "GATEWAY_UPSTREAM__MAIN__URL",
    "GATEWAY_METRICS__LISTEN",
    "GATEWAY_CHANNEL__NOBODY__LISTEN",
    "GATEWAY_CHANNEL__ADT",
    "GATEWAY___X",
)


def one(data: bytes) -> None:
    """Load one file."""
    choices = Choices(data)
    environ = {}
    if choices.number(3) == 1:
        environ[choices.one_of(_VARIABLES)] = choices.take(choices.number(24)).decode("utf-8", "surrogateescape")
    content = choices.rest() if choices.number(2) else MINIMAL.encode() + choices.rest()
    file = Path(_FOLDER.name) / "channels.toml"
    file.write_bytes(content)
    try:
        settings = load(file, environ)
    except ConfigError as error:
        _hold(error.problems)
        return
    assert settings.gateway.data_dir.is_absolute()


def _hold(problems: Sequence[str]) -> None:
    assert problems
    assert all(problems)


def _seeds() -> Iterable[bytes]:
    example = (Path(__file__).parents[3] / "channels.example.toml").read_bytes()
    for place, text in enumerate(
        (
            minimal().encode(),
            minimal(channel='framing = "strict"\norder_by = ["PID-3.1"]\nallow = ["10.0.0.0/8"]').encode(),
            minimal(upstream="token = 5\n", gateway="shutdown_grace = -1").encode(),
            minimal(after='[[channel]]\nname = "adt"\nlisten = "0.0.0.0:2575"').encode(),
            b"a = " + b"[" * 3_000,
            b"a = " + b"9" * 5_000,
            b"\xff\xfe",
            b"a = 0001-01-01T00:00:00Z\n",
            b"[channel]\nname = 1\n",
            b"a." * 2_000 + b"b = 1",
            example,
        )
    ):
        yield bytes([0, 1]) + text
        yield bytes([1, place % len(_VARIABLES), 3]) + b"5]\r" + bytes([1]) + text


TARGET = Target(
    name="config",
    one=one,
    seeds=_seeds,
    tokens=(
        b"\n[[channel]]\n",
        b"\n[[upstream]]\n",
        b"\n[gateway]\n",
        b"\n[metrics]\n",
        b'name = "adt"\n',
        b'listen = "127.0.0.1:2575"\n',
        b'order_by = ["PID-3.1"]\n',
        b'ack = { mode = "enhanced" }\n',
        b'encoding = "8859/1"\n',
        b'url = "wss://h/ws"\n',
        b"= -1\n",
        b"= 1e400\n",
        b"= nan\n",
        b"= inf\n",
        b"= 9223372036854775808\n",
        b"= 1979-05-27\n",
        b'"\\u0000"',
        b"[",
        b"]",
        b"{",
        b"}",
        b"'''",
        b'"""',
    ),
)
