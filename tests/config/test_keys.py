"""Every key by itself: a good value arrives, a wrong one is reported with the key's place."""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gateway.config.reference import places
from gateway.config.settings import Settings
from tests.config.files import MINIMAL, minimal, problems, write_papers
from tests.config.files import loaded as load_text


class Case(NamedTuple):
    good: str
    wrong: tuple[str, ...]
    """Values as the file spells them."""


CASES: dict[str, Case] = {
    "gateway.data_dir": Case('"data"', ("5", '""', '"a\\u0000b"', "[]")),
    "gateway.node_name": Case('"gw-a"', ('"a b"', "1", '""', f'"{"x" * 64}"')),
    "gateway.shutdown_grace": Case("7.5", ("0", "-1", "3601", '"7"', "true", "nan", "inf")),
    "gateway.max_connections": Case("1", ("0", "1000001", '"1"', "true")),
    "gateway.max_buffered_bytes": Case("20000000", ("1048575", "1e9", '"64 MiB"', "true")),
    "store.low_space": Case("20000000", ("0", "1.5", "-1", '"1 GiB"', "true")),
    "lease.ttl": Case("5", ("0.5", "301", '"5"', "nan")),
    "metrics.listen": Case('"127.0.0.1:9576"', ('"9576"', "9576", '"127.0.0.1:x"')),
    "log.format": Case('"json"', ('"xml"', "1")),
    "log.level": Case('"debug"', ('"loud"', "10")),
    "upstream.name": Case('"other"', ('"a b"', '""', "1", '"a__b"')),
    "upstream.url": Case(
        '"wss://gw.example.org/ws"',
        ('"ftp://h/"', '"ws://"', '"h:1"', '"ws://u:p@h/"', '"ws://h:99999/"', '"ws://h/#x"', '"ws://[h/"', "1"),
    ),
    "upstream.profile": Case('"plain"', ('"fhir"', "1")),
    "upstream.agent_id": Case('"agent-7"', ('""', '"a b"', '"ü"', f'"{"x" * 65}"', "1")),
    "upstream.token_file": Case('"token"', ('"no-such-file"', '""', "1")),
    "upstream.token": Case('"t"', ('"t"',)),
    "upstream.client_id": Case('"cid"', ('""', "1")),
    "upstream.client_secret_file": Case('"secret"', ('"no-such-file"', '""', "1")),
    "upstream.client_secret": Case('"s"', ('"s"',)),
    "upstream.token_url": Case('"https://a.example.org/t"', ('"ws://h/"', '"https://u:p@h/"', "1")),
    "upstream.response_timeout": Case("5.5", ("0", "-1", "86401", '"5"')),
    "upstream.check_msa2": Case("false", ("0", '"no"', '"false"')),
    "upstream.verdict.AE": Case('"reject"', ('"RETRY"', "1")),
    "upstream.verdict.AR": Case('"retry"', ('"RETRY"', "1")),
    "upstream.tls.ca_file": Case('"token"', ('"no-such-file"', '""', "1")),
    "channel.name": Case('"lab"', ('"a b"', '""', "1", '"-a"', '"a/b"')),
    "channel.listen": Case('"127.0.0.1:2600"', ('"2575"', "2575", '"127.0.0.1:65536"')),
    "channel.insecure_plaintext": Case("true", ("1", '"true"')),
    "channel.tls.cert_file": Case('"cert.pem"', ('"no-such-file"', '"token"', '""', "1")),
    "channel.tls.key_file": Case('"key.pem"', ('""', "1")),
    "channel.tls.min_version": Case('"1.3"', ('"1.1"', "1.3")),
    "channel.tls.client_cert": Case('"optional"', ('"maybe"', "true")),
    "channel.tls.client_ca_file": Case('"authority.pem"', ('"no-such-file"', '"token"', '""', "1")),
    "channel.tls.pinned": Case(f'["{"0a" * 32}"]', ('["0a"]', f'["{"0g" * 32}"]', "[1]", '"x"')),
    "channel.tls.handshake_timeout": Case("2.5", ("0", "-1", "301", '"5"', "inf")),
    "channel.tls.senders.name": Case('"lab"', ('"a b"', '""', "1")),
    "channel.tls.senders.subject": Case(
        '"CN=lab,O=Hospital"', ('"lab"', '"CN="', '"XY=lab"', '"CN=a,"', '"CN=a,,O=b"', '"CN=a\\\\"', '""', "1")
    ),
    "channel.tls.senders.dns": Case('"engine.lab.example"', ('"a b"', '""', '"a/b"', "1")),
    "channel.tls.senders.fingerprint": Case(f'"{"0a" * 32}"', ('"0a"', '""', "1")),
    "channel.tls.senders.msh3": Case('["LAB", "", "LAB^1.2^ISO"]', ('["A|B"]', '["a\\nb"]', '"LAB"', "[1]")),
    "channel.tls.senders.msh4": Case('["WEST"]', ('["A|B"]', f'["{"x" * 228}"]', '"WEST"', "[1]")),
    "channel.allow": Case('["10.1.0.0/16", "10.2.0.7/32"]', ('["10.1.0.1/16"]', '["x"]', "[1]", '"10.1.0.0/16"')),
    "channel.upstream": Case('"main"', ('"nowhere"', '""', "1")),
    "channel.sequence": Case('"protocol"', ('"on"', '"Protocol"', "1", "true")),
    "channel.ack.mode": Case('"auto"', ('"comit"', "1")),
    "channel.ack.deadline": Case("3", ("0", "-1", "3601", '"3"')),
    "channel.ack.on_deadline": Case('"close"', ('"AA"', '"ca"', "1")),
    "channel.ack.unavailable": Case('"close"', ('"ar"', '"AA"', "1")),
    "channel.dedupe.key": Case(
        '["MSH-10", "MSH-3.1"]', ("[]", '["MSH-3"]', '["MSH-10.1"]', '["PID-3", "MSH-10"]', '"MSH-10"')
    ),
    "channel.dedupe.window": Case("3600", ("0", "59", '"1d"', "inf")),
    "channel.dedupe.on_collision": Case('"accept"', ('"drop"', "1")),
    "channel.dedupe.on_failed_retransmit": Case('"requeue"', ('"revive"', "1", "true")),
    "channel.require_control_id": Case("false", ("0", '"no"')),
    "channel.accept.types": Case('["ADT^A01", "ORU"]', ('["adt"]', '["ADT^*"]', '"ADT"', "[1]")),
    "channel.accept.versions": Case('["2.3", "2.5.1"]', ('[""]', '"2.3"', "[2.3]")),
    "channel.accept.processing_ids": Case('["P"]', ('[""]', '"P"', "[1]")),
    "channel.encoding": Case('"8859/1"', ('"klingon"', '""', "1")),
    "channel.default_encoding": Case('"8859/15"', ('"klingon"', '""', "1")),
    "channel.fallback_encoding": Case('"reject"', ('"utf-8"', "1")),
    "channel.order_by": Case(
        '["PID-3.1"]', ('"PID-3.1"', "[]", '["pid-3"]', "1", '["A01-1","A02-1","A03-1","A04-1","A05-1"]')
    ),
    "channel.max_inflight": Case("1", ("0", "65", "1.0", "true", "2")),
    "channel.order_barrier": Case('["ADT^A40"]', ('["adt^a40"]', '"ADT^A40"', "[1]")),
    "channel.retry.strategy": Case('"linear"', ('"fixed"', "1")),
    "channel.retry.initial": Case("2.5", ("0", "-1", "3601", '"1"')),
    "channel.retry.max": Case("90", ("0", "0.5", "86401", '"1"')),
    "channel.retry.jitter": Case("false", ("0", '"no"')),
    "channel.retry.attempts": Case("3", ("0", "1.5", '"3"', "true")),
    "channel.retry.horizon": Case("60", ("0", "-1", '"1h"')),
    "channel.on_reject": Case('"halt"', ('"hold"', "1")),
    "channel.on_exhausted": Case('"halt"', ('"hold"', "1")),
    "channel.on_ambiguous": Case('"hold-halt"', ('"park"', "1")),
    "channel.framing": Case('"strict"', ('"loose"', "1")),
    "channel.max_message_bytes": Case("1024", ("1023", "268435457", "1e6", '"16 MiB"')),
    "channel.max_connections": Case("1", ("0", "65536", '"1"', "true")),
    "channel.max_connections_per_address": Case("1", ("0", "65536", '"1"', "true")),
    "channel.max_pipelined": Case("1", ("0", "10001", "1.5")),
    "channel.rate_limit": Case("2.5", ("-1", "100001", '"5"', "inf")),
    "channel.idle_timeout": Case("60", ("-1", "604801", '"60"')),
    "channel.frame_timeout": Case("5", ("0", "-1", "3601", '"5"')),
}
REQUIRED = {"upstream.name", "upstream.url", "upstream.agent_id", "channel.name", "channel.listen", "channel.upstream"}
FROM_ENVIRONMENT = {"upstream.token", "upstream.client_secret"}
TLS = 'tls.cert_file = "cert.pem"\ntls.key_file = "key.pem"'
MUTUAL = f'{TLS}\ntls.client_cert = "required"\ntls.client_ca_file = "authority.pem"'
ALONE_NOT_ENOUGH = {
    "channel.tls.cert_file": 'tls.key_file = "key.pem"',
    "channel.tls.key_file": 'tls.cert_file = "cert.pem"',
    "channel.tls.min_version": TLS,
    "channel.tls.client_cert": f'{TLS}\ntls.client_ca_file = "authority.pem"',
    "channel.tls.client_ca_file": f'{TLS}\ntls.client_cert = "required"',
    "channel.tls.pinned": MUTUAL,
    "channel.tls.handshake_timeout": TLS,
    "channel.tls.senders": MUTUAL,
    "upstream.client_id": 'client_secret_file = "secret"',
    "upstream.client_secret_file": 'client_id = "cid"',
    "upstream.token_url": 'client_id = "cid"\nclient_secret_file = "secret"',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("token", "secret"):
        (tmp_path / name).write_text("x", encoding="ascii")
        (tmp_path / name).chmod(0o600)
    write_papers(tmp_path)
    return tmp_path


def without(section: str, key: str) -> list[str]:
    """Give the lines of the minimal file but this key's own."""
    kept, inside = [], ""
    for line in MINIMAL.splitlines():
        inside = line.strip("[]") if line.startswith("[") else inside
        if inside != section or not line.startswith(f"{key} ="):
            kept.append(line)
    return kept


def file_with(place: str, value: str) -> str:
    """Give the minimal file with one key set to a value."""
    section, _, key = place.partition(".")
    lines = without(section, key.partition(".")[0])
    heading = next((n for n, line in enumerate(lines) if line.strip("[]") == section), None)
    added = [f"{key} = {value}", ALONE_NOT_ENOUGH.get(place, "")]
    if key.startswith("tls.senders."):
        added = [sender_with(key.removeprefix("tls.senders."), value), ALONE_NOT_ENOUGH["channel.tls.senders"]]
    if heading is None:
        return "\n".join([*lines, f"[{section}]", *added])
    return "\n".join([*lines[: heading + 1], *added, *lines[heading + 1 :]])


def sender_with(key: str, value: str) -> str:
    """Give one sender with one key set to a value."""
    keys = {"name": '"other"', "subject": '"CN=other"'} | {key: value}
    return f"tls.senders = [{{ {', '.join(f'{each} = {text}' for each, text in keys.items())} }}]"


def value_at(settings: Settings, place: str) -> Any:
    section, *rest = place.split(".")
    found: Any = getattr(settings, section)
    found = found[0] if isinstance(found, tuple) else found
    for step in rest:
        found = found[0] if isinstance(found, tuple) else found
        found = getattr(found, step.lower())
    return found


def test_every_key_of_the_model_has_its_case() -> None:
    assert {".".join(place) for place in places()} == CASES.keys()


# Secrets come from the environment: test_environment.py.
@pytest.mark.parametrize("place", [place for place in CASES if place not in FROM_ENVIRONMENT])
def test_a_good_value_arrives(place: str, folder: Path) -> None:
    good = CASES[place].good
    text = file_with(place, good)
    if place == "upstream.name":
        text = text.replace('upstream = "main"', f"upstream = {good}")
    expected = tomllib.loads(f"v = {good}")["v"]
    found = value_at(load_text(folder, text), place)
    if isinstance(found, Path):
        assert found == folder / expected
    elif isinstance(found, tuple):
        assert list(found) == expected
    elif place.endswith("listen"):
        assert str(found) == expected
    else:
        assert found == expected


@pytest.mark.parametrize(("place", "wrong"), [(place, wrong) for place, case in CASES.items() for wrong in case.wrong])
def test_a_wrong_value_is_reported_with_its_place(place: str, wrong: str, folder: Path) -> None:
    section, _, key = place.partition(".")
    key = key.replace("tls.senders.", "tls.senders[0].")
    where = f"{section}[0].{key}" if section in {"upstream", "channel"} else place
    found = problems(folder, file_with(place, wrong))
    assert any(each.startswith(where) for each in found), found


@pytest.mark.parametrize("place", sorted(REQUIRED))
def test_a_required_key_is_asked_for_with_an_example(place: str, folder: Path) -> None:
    section, _, key = place.partition(".")
    found = problems(folder, "\n".join(without(section, key)))
    assert any(each.startswith(f"{section}[0].{key}") and f"example: {key} = " in each for each in found), found


def test_every_other_key_has_a_default(folder: Path) -> None:
    lines = [line for line in MINIMAL.splitlines() if line.partition(" ")[0] in {"name", "url", "agent_id", "upstream"}]
    settings = load_text(
        folder, "\n".join(["[[upstream]]", *lines[:3], "[[channel]]", 'listen = "[::1]:0"', *lines[3:]])
    )
    assert settings.channel[0].ack.mode.value == "commit"
    assert str(settings.metrics.listen) == "127.0.0.1:9575"


def test_a_value_is_shown_beside_its_key_and_a_long_one_is_cut(folder: Path) -> None:
    (found,) = problems(folder, minimal(channel=f'framing = "{"x" * 200}"'))
    assert 'channel[0].framing (channel "adt") = "xxx' in found
    assert len(found) < 250
    assert "..." in found
