import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256

import pytest

from fixtures.make import ALL, FOLDER
from fixtures.oddities import LARGE
from fixtures.shape import Expected
from gateway.sender.options import Judgement, Outgoing, SendPlan, Target, Verdict
from gateway.sender.send import send
from tests.interop.stack import Stack, running

pytestmark = pytest.mark.interop

JUDGED = {
    Expected.POSITIVE: Judgement.POSITIVE,
    Expected.NEGATIVE: Judgement.NEGATIVE,
    Expected.NOTHING: Judgement.SILENCE,
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("stack"), ("fixtures", "command")) as started:
        yield started


def target(stack: Stack, channel: str) -> Target:
    host, port = stack.channels[channel]
    return Target(host=host, port=port)


async def test_every_fixture_gets_the_answer_its_catalogue_says_and_is_stored_byte_for_byte(stack: Stack) -> None:
    everything = (*ALL, LARGE)
    messages = tuple(Outgoing(payload=one.payload, origin=one.name) for one in everything if one.name != "ack")
    unanswered = tuple(Outgoing(payload=one.payload, origin=one.name) for one in ALL if one.name == "ack")
    verdicts: list[Verdict] = []
    await send(SendPlan(target=target(stack, "fixtures"), messages=messages), on_verdict=verdicts.append)
    # An acknowledgement gets no answer, however long one waits: its own run, with little patience.
    quiet = SendPlan(target=target(stack, "fixtures"), messages=unanswered, answer_timeout=1.0)
    await send(quiet, on_verdict=verdicts.append)
    found = {one.origin: (one.judgement, one.extra) for one in verdicts}
    assert found == {one.name: (JUDGED[one.expected], False) for one in everything}
    rows = {row.sha256: row for row in stack.rows("fixtures")}
    kept = [one for one in everything if one.expected is Expected.POSITIVE]
    assert {sha256(one.payload).hexdigest() for one in kept} <= rows.keys()
    assert all(rows[sha256(one.payload).hexdigest()].state != "nacked" for one in kept)
    assert len(rows) == len(everything)


def run_send(stack: Stack, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = (sys.executable, "-m", "gateway", "send", *arguments, "--to", str(target(stack, "command")))
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_command_ends_with_zero_for_a_yes_and_with_one_for_a_no(stack: Stack) -> None:
    yes = run_send(stack, str(FOLDER / "adt-a01.hl7"))
    assert yes.returncode == 0, yes.stderr
    no = run_send(stack, str(FOLDER / "adt-a03.hl7"), str(FOLDER / "empty-msh-10.hl7"))
    assert no.returncode == 1
    assert "negative" in no.stdout
    assert [row.control_id for row in stack.rows("command") if row.state != "nacked"] == ["EV-ADT-A01", "EV-ADT-A03"]
