import json
import stat
from hashlib import sha256
from pathlib import Path

from gateway.sender.journal import Journal
from gateway.sender.options import Retransmit, SendPlan
from gateway.sender.send import send
from tests.sender.listening import Hangup, Heard, Listening, ack, agree, message, outgoing


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


async def test_the_journal_tells_every_sending_and_every_answer_in_order(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    async with Listening(lambda heard: [Hangup()] if heard.place == 0 else agree(heard)) as listening:
        plan = SendPlan(target=listening.target, messages=outgoing("A"), retransmit=Retransmit(pause=0.0))
        with Journal(path) as journal:
            await send(plan, on_sent=journal.sent, on_verdict=journal.verdict)
    digest = sha256(message("A")).hexdigest()
    who = {"number": 1, "connection": 0, "origin": "A.hl7", "control_id": "A"}
    quiet = {"judgement": "silence", "code": None, "note": "closed by the other side", "answer_sha256": None}
    yes = {"judgement": "positive", "code": "AA", "note": None, "answer_sha256": sha256(ack(b"A")).hexdigest()}
    assert lines(path) == [
        {"event": "sent", **who, "attempt": 1, "sha256": digest},
        {"event": "verdict", **who, "attempt": 1, **quiet, "extra": False, "retried": True},
        {"event": "sent", **who, "attempt": 2, "sha256": digest},
        {"event": "verdict", **who, "attempt": 2, **yes, "extra": False, "retried": False},
    ]


async def test_a_sending_is_noted_before_it_can_arrive(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    noted: list[int] = []

    def script(heard: Heard) -> list[bytes | Hangup]:
        noted.append(len(lines(path)))
        return agree(heard)

    async with Listening(script) as listening:
        with Journal(path) as journal:
            await send(SendPlan(target=listening.target, messages=outgoing("A")), on_sent=journal.sent)
    assert noted == [1]


def test_the_journal_is_for_its_owner_only_and_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"event": "old"}\n')
    path.unlink()
    with Journal(path):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text('{"event": "old"}\n')
    with Journal(path):
        pass
    assert lines(path) == [{"event": "old"}]


async def test_no_content_of_a_message_is_written_down(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    async with Listening() as listening:
        with Journal(path) as journal:
            plan = SendPlan(target=listening.target, messages=outgoing("A"))
            await send(plan, on_sent=journal.sent, on_verdict=journal.verdict)
    assert "20260105083000" not in path.read_text()
    assert "MSH" not in path.read_text()
