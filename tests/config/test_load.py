"""Loading as a whole: which file, every problem at once, clashes between tables, secrets, policies."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gateway.config.checks import warnings
from gateway.config.load import load
from gateway.config.settings import Settings
from gateway.config.sources import EnvironmentSource, Overlay
from gateway.errors import ConfigError
from gateway.model.policy import (
    DeliveryPolicy,
    OnAmbiguous,
    OnRejected,
    OutcomePolicy,
    Profile,
    RefusalVerdict,
    RetryPolicy,
    Strategy,
    VerdictPolicy,
)
from tests.config.files import MINIMAL, loaded, minimal, problem, problems

SECOND = """
[[channel]]
name = "lab"
listen = "127.0.0.1:2576"
upstream = "main"
"""


def test_the_minimal_file_loads(tmp_path: Path) -> None:
    found = loaded(tmp_path, MINIMAL)
    assert found.gateway.data_dir == tmp_path / "var"
    assert [channel.name for channel in found.channel] == ["adt"]
    assert found.upstream_of(found.channel[0]).agent_id == "demo"
    assert warnings(found) == ()


def test_the_file_is_named_by_argument_then_environment_then_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("argument", "environment", "channels"):
        (tmp_path / f"{name}.toml").write_text(MINIMAL.replace('"var"', f'"{name}"'), encoding="utf-8")
    environ = {"GATEWAY_CONFIG": str(tmp_path / "environment.toml")}
    monkeypatch.chdir(tmp_path)
    assert load(tmp_path / "argument.toml", environ).gateway.data_dir == tmp_path / "argument"
    assert load(None, environ).gateway.data_dir == tmp_path / "environment"
    assert load(None, {}).gateway.data_dir == tmp_path / "channels"


def test_a_missing_file_tells_the_three_ways_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "none.toml", {})
    (found,) = caught.value.problems
    for part in (str(tmp_path / "none.toml"), "no such file", "-c FILE", "$GATEWAY_CONFIG", "channels.toml"):
        assert part in found


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path, {})


def test_a_file_that_is_not_toml_is_named_with_the_line(tmp_path: Path) -> None:
    found = problem(tmp_path, MINIMAL + "\nname == 5\n")
    assert "is not TOML" in found
    assert f"line {MINIMAL.count(chr(10)) + 2}" in found


@pytest.mark.parametrize(
    ("value", "words"), [("[" * 3_000, "is nested too deeply"), ("9" * 5_000, "holds a number that is too long")]
)
def test_toml_that_python_cannot_read_is_said_so(tmp_path: Path, value: str, words: str) -> None:
    found = problem(tmp_path, f"{MINIMAL}\nname = {value}\n")
    assert found.endswith(words)
    assert "999" not in found


def test_a_file_that_is_not_utf8_is_named_with_the_byte(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes(b"# \xff")
    with pytest.raises(ConfigError, match="is not UTF-8 at byte 2"):
        load(tmp_path / "c.toml", {})


def test_every_problem_is_reported_at_once(tmp_path: Path) -> None:
    text = """\
surprise = 1
[gateway]
shutdown_grace = 0
[metrics]
listen = "127.0.0.1:2575"
[[upstream]]
name = "main"
url = "ftp://h/"
agent_id = "demo"
token_file = "missing"
[[channel]]
name = "adt"
listen = "0.0.0.0:2575"
upstream = "mian"
encoding = "klingon"
ack = { mode = "comit", dedline = 3 }
[[channel]]
name = "ADT"
listen = "127.0.0.1:2575"
retry = 5
"""
    found = "\n".join(problems(tmp_path, text))
    for part in (
        "surprise: unknown key",
        "gateway.shutdown_grace = 0: must be greater than 0; example: shutdown_grace = 20",
        'upstream[0].url (upstream "main"): must be a URL that begins with one of ws://',
        'upstream[0].token_file (upstream "main") = "missing": cannot be read: No such file',
        'channel[0].ack.mode (channel "adt") = "comit": must be one of \'commit\'',
        'channel[0].ack.dedline (channel "adt"): unknown key; did you mean "deadline"?',
        'channel[0].encoding (channel "adt") = "klingon": is no encoding',
        'channel[0].upstream (channel "adt") = "mian": no [[upstream]] has that name; there is: "main"',
        'channel[0].listen (channel "adt") = "0.0.0.0:2575": patient data would cross the network as plain text',
        'channel[0].listen (channel "adt") = "0.0.0.0:2575": cannot be bound beside metrics.listen = "127.0.0.1:2575"',
        'channel[1].listen (channel "ADT") = "127.0.0.1:2575": cannot be bound beside channel[0].listen',
        'channel[1].name = "ADT": channel[0] has that name already',
        'channel[1].upstream (channel "ADT"): is required',
        'channel[1].retry (channel "ADT") = 5: must be a table',
    ):
        assert part in found


def test_an_unknown_key_far_from_all_others_lists_the_known_ones(tmp_path: Path) -> None:
    assert "known here: data_dir, node_name, shutdown_grace" in problem(tmp_path, minimal(gateway="zzz = 1"))


@pytest.mark.parametrize("key", ['batch = "split"', "retention = 5"])
def test_a_key_that_would_be_ignored_says_so(key: str, tmp_path: Path) -> None:
    assert "would be ignored" in problem(tmp_path, minimal(channel=key))


@pytest.mark.parametrize("key", ["upstream", "channel"])
def test_a_file_needs_an_upstream_and_a_channel(key: str, tmp_path: Path) -> None:
    other = "channel" if key == "upstream" else "upstream"
    empty = f"{key} = []\n"
    table = MINIMAL[MINIMAL.index(f"[[{other}]]") :].split("[[channel]]" if other == "upstream" else "\x00")[0]
    assert any(each.startswith(f"{key}: there must be at least one") for each in problems(tmp_path, empty + table))
    assert any(each.startswith(f"{key}: is required") for each in problems(tmp_path, table))


def test_a_single_table_in_place_of_an_array_is_explained(tmp_path: Path) -> None:
    found = problems(tmp_path, MINIMAL.replace("[[channel]]", "[channel]"))
    assert found == ("channel: must be an array of tables, each begun by [[channel]]",)


def test_entries_of_an_array_that_are_no_tables_are_reported(tmp_path: Path) -> None:
    found = problems(tmp_path, MINIMAL[: MINIMAL.index("[[channel]]")].replace("[gateway]", "channel = [5]\n[gateway]"))
    assert found == ("channel[0] = 5: must be a table",)


@pytest.mark.parametrize(("first", "second"), [("a.b", "a-b"), ("adt", "ADT"), ("x", "x")])
def test_names_that_a_variable_cannot_tell_apart_are_the_same_name(first: str, second: str, tmp_path: Path) -> None:
    text = MINIMAL.replace('"adt"', f'"{first}"') + SECOND.replace('"lab"', f'"{second}"')
    assert problem(tmp_path, text).startswith(f'channel[1].name = "{second}": channel[0] has that name already')


def test_two_upstreams_of_one_name_are_refused(tmp_path: Path) -> None:
    again = MINIMAL[MINIMAL.index("[[upstream]]") : MINIMAL.index("[[channel]]")]
    assert problem(tmp_path, MINIMAL + again).startswith('upstream[1].name = "main"')


def test_a_wildcard_beside_one_of_its_addresses_is_refused(tmp_path: Path) -> None:
    text = MINIMAL + SECOND.replace("127.0.0.1:2576", "0.0.0.0:2575") + "insecure_plaintext = true\n"
    found = problem(tmp_path, text)
    assert 'channel[1].listen (channel "lab") = "0.0.0.0:2575": cannot be bound beside channel[0].listen' in found


def test_channels_may_share_port_zero(tmp_path: Path) -> None:
    text = (MINIMAL + SECOND).replace(":2575", ":0").replace(":2576", ":0")
    assert len(loaded(tmp_path, text).channel) == 2


def test_listening_beyond_loopback_needs_a_word(tmp_path: Path) -> None:
    wide = MINIMAL.replace("127.0.0.1:2575", "10.0.0.1:2575")
    assert "insecure_plaintext = true" in problem(tmp_path, wide)
    assert loaded(tmp_path, wide + "insecure_plaintext = true\n").channel[0].insecure_plaintext


def test_parallel_sends_need_keys_of_order(tmp_path: Path) -> None:
    assert "max_inflight" in problem(tmp_path, minimal(channel="max_inflight = 8"))
    keyed = loaded(tmp_path, minimal(channel='max_inflight = 8\norder_by = ["PID-3.1"]'))
    assert keyed.delivery_policy(keyed.channel[0]).max_inflight == 8


def test_the_first_wait_is_not_longer_than_the_longest(tmp_path: Path) -> None:
    assert "retry.max" in problem(tmp_path, minimal(channel="retry = { initial = 61 }"))
    assert loaded(tmp_path, minimal(channel="retry = { initial = 61, max = 61 }")).channel[0].retry.max == 61


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ('token_file = "token"\nclient_id = "c"\nclient_secret_file = "token"', "either a token or client_id"),
        ('client_id = "c"', "belong together"),
        ('client_secret_file = "token"', "belong together"),
        ('token_url = "https://h/t"', "token_url is used with client_id only"),
    ],
)
def test_there_is_one_way_to_sign_in(keys: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x", encoding="ascii")
    assert reason in problem(tmp_path, minimal(upstream=keys))


def test_a_secret_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x", encoding="ascii")
    environ = {"GATEWAY_UPSTREAM__MAIN__TOKEN": "t"}
    assert "give it once" in problem(tmp_path, minimal(upstream='token_file = "token"'), environ)


def test_an_empty_secret_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    assert "is empty" in problem(tmp_path, minimal(upstream='token_file = "token"'))


@pytest.mark.parametrize("key", ["token", "client_secret"])
def test_a_secret_in_the_file_is_refused_and_not_repeated(key: str, tmp_path: Path) -> None:
    found = "\n".join(problems(tmp_path, minimal(upstream=f'{key} = "hunter2"')))
    assert f"{key}_file" in found
    assert "hunter2" not in found


@pytest.mark.parametrize("key", ["token", "client_secret"])
def test_a_secret_of_a_wrong_kind_is_not_repeated_either(key: str, tmp_path: Path) -> None:
    assert "13371337" not in "\n".join(problems(tmp_path, minimal(upstream=f"{key} = 13371337")))


def test_a_token_and_a_secret_are_two_ways_to_sign_in(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x", encoding="ascii")
    keys = 'token_file = "token"\nclient_secret_file = "token"'
    found = problems(tmp_path, minimal(upstream=keys))
    assert any("either a token or client_id with its secret" in each for each in found)


def test_no_secret_is_repeated_by_a_problem_or_a_value(tmp_path: Path) -> None:
    text = minimal(upstream='password = "hunter2"').replace("ws://", "ws://user:hunter2@")
    assert "hunter2" not in "\n".join(problems(tmp_path, text))
    found = loaded(tmp_path, MINIMAL, {"GATEWAY_UPSTREAM__MAIN__TOKEN": "hunter2"})
    assert "hunter2" not in repr(found)
    assert "hunter2" not in found.model_dump_json()
    assert found.upstream[0].token is not None
    assert found.upstream[0].token.get_secret_value() == "hunter2"


def test_relative_paths_start_at_the_folder_of_the_file_as_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, named = tmp_path / "real", tmp_path / "named"
    real.mkdir()
    named.mkdir()
    (named / "ca.pem").write_text("x", encoding="ascii")
    (named / "token").write_text("x", encoding="ascii")
    (real / "c.toml").write_text(
        minimal(upstream='token_file = "token"\ntls = { ca_file = "ca.pem" }'), encoding="utf-8"
    )
    (named / "c.toml").symlink_to(real / "c.toml")
    monkeypatch.chdir(tmp_path)
    found = load(Path("named/c.toml"), {})
    assert found.gateway.data_dir == named / "var"
    assert found.upstream[0].token_file == named / "token"
    assert found.upstream[0].tls.ca_file == named / "ca.pem"


def test_an_absolute_path_stays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    assert loaded(tmp_path, MINIMAL.replace('"var"', f'"{elsewhere}"')).gateway.data_dir == elsewhere


def test_what_is_allowed_but_risky_is_said(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x", encoding="ascii")
    (tmp_path / "token").chmod(0o640)
    text = minimal(upstream='token_file = "token"').replace("127.0.0.1:9575", "0.0.0.0:9575")
    found = warnings(loaded(tmp_path, text.replace("ws://127.0.0.1", "ws://server.example.org")))
    assert [each.partition(" ")[0] for each in found] == ["metrics.listen", "upstream[0].url", "upstream[0].token_file"]


def test_policies_are_given_in_the_words_and_units_of_the_rooms(tmp_path: Path) -> None:
    text = minimal(
        upstream='response_timeout = 1.5\ncheck_msa2 = false\nverdict = { AE = "reject", AR = "retry" }',
        channel="""\
order_by = ["PID-3.1"]
max_inflight = 4
on_reject = "halt"
on_exhausted = "halt"
on_ambiguous = "resend"
retry = { strategy = "linear", initial = 0.25, max = 2.5, jitter = false, attempts = 3, horizon = 60 }
""",
    ).replace('profile = "gateway"', 'profile = "medplum"')
    found = loaded(tmp_path, text)
    assert found.delivery_policy(found.channel[0]) == DeliveryPolicy(
        retry=RetryPolicy(strategy=Strategy.LINEAR, initial=250, max=2_500, jitter=False, attempts=3, horizon=60_000),
        outcome=OutcomePolicy(on_reject=OnRejected.HALT, on_exhausted=OnRejected.HALT, on_ambiguous=OnAmbiguous.RESEND),
        verdict=VerdictPolicy(
            profile=Profile.MEDPLUM, ar=RefusalVerdict.RETRY, ae=RefusalVerdict.REJECT, check_msa2=False
        ),
        response_timeout=1_500,
        max_inflight=4,
    )


def test_the_defaults_of_the_file_are_the_defaults_of_the_policies(tmp_path: Path) -> None:
    found = loaded(tmp_path, MINIMAL)
    assert found.delivery_policy(found.channel[0]) == DeliveryPolicy()


def test_channels_of_an_upstream_keep_the_order_of_the_file(tmp_path: Path) -> None:
    found = loaded(tmp_path, MINIMAL + SECOND)
    assert [channel.channel_name for channel in found.channels_of(found.upstream[0])] == ["adt", "lab"]


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    found = loaded(tmp_path, MINIMAL)
    with pytest.raises(ValidationError):
        found.channel[0].max_connections = 5


SCALARS = st.one_of(
    st.none().map(lambda _: {}), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.dates()
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner))
KEYS = st.sampled_from(["name", "listen", "upstream", "ack", "retry", "url", "token_file", "order_by", "tls", "x"])
TABLES = st.dictionaries(KEYS, VALUES, max_size=6)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "gateway": TABLES | VALUES,
        "metrics": TABLES | VALUES,
        "upstream": st.lists(TABLES | VALUES, max_size=3) | VALUES,
        "channel": st.lists(TABLES | VALUES, max_size=3) | VALUES,
    },
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=DOCUMENTS)
def test_no_document_breaks_the_loader(
    document: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.config.load.read_file", lambda _: document)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "any.toml", {"GATEWAY_CHANNEL__ADT__ACK__MODE": "auto", "GATEWAY_METRICS__LISTEN": "x"})
    assert all("\n" not in each for each in caught.value.problems)


def test_the_overlay_changes_no_document_it_was_given() -> None:
    document = tomllib.loads(MINIMAL)
    tree = EnvironmentSource(Settings, {"GATEWAY_CHANNEL__ADT__ACK__MODE": "auto"})()
    assert Overlay(Settings, document, tree).document["channel"][0]["ack"]["mode"] == "auto"
    assert document == tomllib.loads(MINIMAL)
