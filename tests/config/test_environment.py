"""The environment over the file."""

from pathlib import Path

import pytest

from gateway.config.settings import Settings
from gateway.config.sources import EnvironmentSource
from gateway.model.policy import AckMode, RefusalVerdict, SequenceMode
from tests.config.files import MINIMAL, loaded, problem, problems


@pytest.mark.parametrize("variable", ["GATEWAY_CHANNEL__ADT__ACK__MODE", "gateway_channel__Adt__ack__MODE"])
def test_a_variable_wins_over_the_file_whatever_its_case(variable: str, tmp_path: Path) -> None:
    assert loaded(tmp_path, MINIMAL, {variable: "auto"}).channel[0].ack.mode is AckMode.AUTO


def test_a_variable_fills_a_table_the_file_has_not(tmp_path: Path) -> None:
    environ = {"GATEWAY_LEASE__TTL": "5", "GATEWAY_CHANNEL__ADT__RETRY__ATTEMPTS": "3"}
    found = loaded(tmp_path, MINIMAL, environ)
    assert found.lease.ttl == 5
    assert found.channel[0].retry.attempts == 3


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("CHECK_MSA2", "false", False),
        ("RESPONSE_TIMEOUT", "2.5", 2.5),
        ("AGENT_ID", "123", "123"),
        ("AGENT_ID", "true", "true"),
        ("URL", "ws://127.0.0.1:1/x", "ws://127.0.0.1:1/x"),
    ],
)
def test_a_text_becomes_what_its_key_takes(key: str, text: str, value: object, tmp_path: Path) -> None:
    found = loaded(tmp_path, MINIMAL, {f"GATEWAY_UPSTREAM__MAIN__{key}": text}).upstream[0]
    assert getattr(found, key.lower()) == value


def test_a_list_and_a_table_are_written_as_in_the_file(tmp_path: Path) -> None:
    environ = {
        "GATEWAY_CHANNEL__ADT__ORDER_BY": '["PID-3.1"]',
        "GATEWAY_CHANNEL__ADT__ACCEPT__TYPES": '["ADT", "ORU^R01"]',
        "GATEWAY_CHANNEL__ADT__ACK": '{ mode = "enhanced" }',
    }
    found = loaded(tmp_path, MINIMAL, environ).channel[0]
    assert found.order_by == ("PID-3.1",)
    assert found.accept.types == ("ADT", "ORU^R01")
    assert found.ack.mode is AckMode.ENHANCED


@pytest.mark.parametrize("text", ["[" * 3_000, "9" * 5_000])
def test_what_python_cannot_read_as_a_value_stays_a_text(text: str, tmp_path: Path) -> None:
    assert "GATEWAY_LEASE__TTL" in problem(tmp_path, MINIMAL, {"GATEWAY_LEASE__TTL": text})


def test_keys_in_capitals_are_reached(tmp_path: Path) -> None:
    found = loaded(tmp_path, MINIMAL, {"GATEWAY_UPSTREAM__MAIN__VERDICT__AE": "reject"})
    assert found.upstream[0].verdict.ae is RefusalVerdict.REJECT


def test_a_name_with_signs_is_spelled_with_underscores(tmp_path: Path) -> None:
    text = MINIMAL.replace('"adt"', '"adt-in.1"')
    found = loaded(tmp_path, text, {"GATEWAY_CHANNEL__ADT_IN_1__SEQUENCE": "off"})
    assert found.channel[0].sequence is SequenceMode.OFF


def test_both_secrets_come_from_the_environment(tmp_path: Path) -> None:
    environ = {"GATEWAY_UPSTREAM__MAIN__CLIENT_ID": "c", "GATEWAY_UPSTREAM__MAIN__CLIENT_SECRET": "s"}
    secret = loaded(tmp_path, MINIMAL, environ).upstream[0].client_secret
    assert secret is not None
    assert secret.get_secret_value() == "s"
    token = loaded(tmp_path, MINIMAL, {"GATEWAY_UPSTREAM__MAIN__TOKEN": "123"}).upstream[0].token
    assert token is not None
    assert token.get_secret_value() == "123"


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    assert loaded(tmp_path, MINIMAL, {"GATEWAY_CHANNEL__ADT__ACK__MODE": ""}).channel[0].ack.mode is AckMode.COMMIT


def test_variables_of_other_programs_are_none_of_ours(tmp_path: Path) -> None:
    environ = {"GATEWAY_PORT": "tcp://10.0.0.1:80", "GATEWAY_SERVICE_HOST": "10.0.0.1", "MY__KEY": "1"}
    assert loaded(tmp_path, MINIMAL, environ).channel


def test_a_wrong_value_is_reported_with_its_variable(tmp_path: Path) -> None:
    found = problem(tmp_path, MINIMAL, {"GATEWAY_CHANNEL__ADT__ACK__DEADLINE": "soon"})
    assert found.startswith(
        'channel[0].ack.deadline (channel "adt") (from GATEWAY_CHANNEL__ADT__ACK__DEADLINE) = "soon": must be'
    )


@pytest.mark.parametrize("variable", ["GATEWAY_METRICS__LISTNE", "GATEWAY_METRIX__LISTEN"])
def test_an_unknown_key_is_reported_with_its_variable(variable: str, tmp_path: Path) -> None:
    found = problem(tmp_path, MINIMAL, {variable: "x"})
    assert f"(from {variable}): unknown key; did you mean" in found


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({"GATEWAY_CHANNEL__LAB__SEQUENCE": "off"}, "the file has no [[channel]] of that name"),
        ({"GATEWAY_CHANNEL__ADT": "x"}, "names a whole table"),
        (
            {"GATEWAY_CHANNEL__ADT__ACK": "x", "GATEWAY_CHANNEL__ADT__ACK__MODE": "auto"},
            "as a value and as a table",
        ),
        (
            {"GATEWAY_CHANNEL__ADT__ACK": "x", "GATEWAY_CHANNEL__ADT__ACK__MODE__DEEP": "auto"},
            "as a value and as a table",
        ),
    ],
)
def test_a_variable_that_fits_nowhere_is_reported(environ: dict[str, str], reason: str, tmp_path: Path) -> None:
    assert any(reason in each for each in problems(tmp_path, MINIMAL, environ))


def test_a_variable_cannot_bring_keys_of_its_own(tmp_path: Path) -> None:
    environ = {"GATEWAY_CHANNEL__ADT__MAX_CONNECTIONS": "5\nother = 6"}
    assert "max_connections" in problem(tmp_path, MINIMAL, environ)


def test_the_source_gives_one_section_as_the_library_asks() -> None:
    source = EnvironmentSource(Settings, {"GATEWAY_LEASE__TTL": "5"})
    field = Settings.model_fields["lease"]
    assert source.get_field_value(field, "lease") == ({"ttl": "5"}, "lease", False)
