import pytest

from gateway.sender.options import Judgement, SendPlan, SendReport, Target, TargetInvalid
from tests.sender.listening import outgoing


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:2575", "127.0.0.1", 2575),
        ("engine.example:1", "engine.example", 1),
        ("[::1]:65535", "::1", 65535),
        ("[127.0.0.1]:9", "127.0.0.1", 9),
    ],
)
def test_a_target_is_a_host_and_a_port(text: str, host: str, port: int) -> None:
    assert Target.parse(text) == Target(host=host, port=port)


@pytest.mark.parametrize(
    "text", ["", "host", ":2575", "host:", "host:0", "host:65536", "host:-1", "::1:2575", "[]:1", "h:2x", "h:٢"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(TargetInvalid, match=r"HOST:PORT, for example 127\.0\.0\.1:2575") as caught:
        Target.parse(text)
    assert caught.value.text == text


@pytest.mark.parametrize("text", ["127.0.0.1:2575", "[::1]:2575"])
def test_a_target_is_written_as_it_is_read(text: str) -> None:
    assert str(Target.parse(text)) == text


def test_a_repeated_plan_counts_every_sending() -> None:
    assert SendPlan(target=Target(host="h", port=1), messages=outgoing("A", "B"), repeat=3).total == 6


def report(total: int, counts: dict[Judgement, int], extras: dict[Judgement, int] | None = None) -> SendReport:
    return SendReport(total=total, written=total, unsent=0, elapsed=1.0, counts=counts, extras=extras or {})


def test_only_a_yes_for_every_message_and_nothing_odd_beside_is_success() -> None:
    yes = {Judgement.POSITIVE: 2}
    assert report(2, yes).exit_code == 0
    assert report(2, yes, {Judgement.POSITIVE: 1}).exit_code == 0
    assert report(3, yes).exit_code == 1
    assert report(2, yes, {Judgement.NEGATIVE: 1}).exit_code == 1


@pytest.mark.parametrize("kind", [kind for kind in Judgement if kind is not Judgement.POSITIVE])
def test_one_message_without_a_yes_is_failure(kind: Judgement) -> None:
    assert report(3, {Judgement.POSITIVE: 2, kind: 1}).exit_code == 1
