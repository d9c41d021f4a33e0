"""Every option of `send` and `receive` arrives where it belongs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gateway.app import receive as receiving
from gateway.cli import sending
from gateway.cli.main import app
from gateway.sender.options import Judgement, Retransmit, SendPlan, SendReport, Target, TlsOptions

Planned = Callable[..., SendPlan]


@pytest.fixture
def planned(runner: CliRunner, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Planned:
    """Give the plan a command line makes; nothing is sent."""
    (folder / "one.hl7").write_bytes(b"MSH|^~\\&|A\r")
    plans: list[SendPlan] = []

    async def send(plan: SendPlan, **_: object) -> SendReport:
        plans.append(plan)
        return SendReport(total=1, written=1, unsent=0, elapsed=0.1, counts={Judgement.POSITIVE: plan.total})

    monkeypatch.setattr(sending, "send_plan", send)

    def plan(*words: str) -> SendPlan:
        runner.invoke(app, ["send", "one.hl7", "--to", "127.0.0.1:2575", *words])
        return plans[-1]

    return plan


def test_a_plain_send_sends_once_in_order_without_tls(planned: Planned) -> None:
    plan = planned()
    assert plan.target == Target(host="127.0.0.1", port=2575)
    assert [each.payload for each in plan.messages] == [b"MSH|^~\\&|A\r"]
    assert (plan.repeat, plan.rate, plan.connections, plan.pipeline, plan.answer_timeout) == (1, None, 1, 1, 30.0)
    assert (plan.tls, plan.fresh_ids, plan.retransmit) == (None, None, None)


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--repeat", "3"], "repeat", 3),
        (["--rate", "2.5"], "rate", 2.5),
        (["--connections", "4"], "connections", 4),
        (["--pipeline", "8"], "pipeline", 8),
        (["--timeout", "1.5"], "answer_timeout", 1.5),
        (["--retransmit"], "retransmit", Retransmit()),
        (["--tls"], "tls", TlsOptions()),
        (["--tls-ca", "ca.pem"], "tls", TlsOptions(ca_file=Path("ca.pem"))),
        (
            ["--tls-cert", "c.pem", "--tls-key", "k.pem"],
            "tls",
            TlsOptions(cert_file=Path("c.pem"), key_file=Path("k.pem")),
        ),
        (["--tls-name", "hl7.example.org"], "tls", TlsOptions(server_name="hl7.example.org")),
        (["--tls-insecure"], "tls", TlsOptions(verify=False)),
    ],
)
def test_every_option_of_send_is_in_the_plan(planned: Planned, words: list[str], name: str, value: object) -> None:
    assert getattr(planned(*words), name) == value


def test_fresh_ids_are_different_every_time(planned: Planned) -> None:
    fresh = planned("--fresh-ids").fresh_ids
    assert fresh is not None
    assert fresh() != fresh()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {"host": "127.0.0.1", "port": 8765, "extensions": True, "script": None, "ready_file": None}),
        (["--listen", "[::1]:0"], {"host": "::1", "port": 0}),
        (["--plain"], {"extensions": False}),
        (["--no-extensions"], {"extensions": False}),
        (["--script", "faults.toml"], {"script": Path("faults.toml")}),
        (["--ready-file", "ready.json"], {"ready_file": Path("ready.json")}),
    ],
)
def test_every_option_of_receive_reaches_the_receiver(
    runner: CliRunner, monkeypatch: pytest.MonkeyPatch, words: list[str], expected: dict[str, Any]
) -> None:
    told: dict[str, Any] = {}

    async def receive(**given: Any) -> int:
        told.update(given)
        return 0

    monkeypatch.setattr(receiving, "receive", receive)
    assert runner.invoke(app, ["receive", "--journal", "taken.jsonl", *words]).exit_code == 0
    assert told["journal"] == Path("taken.jsonl")
    assert {name: told[name] for name in expected} == expected
