import asyncio
from itertools import count

import pytest

from gateway.sender.options import Judgement, Retransmit, SendPlan, Target, Verdict
from gateway.sender.send import send
from tests.sender.listening import Hangup, Heard, Listening, ack, agree, framed, message, outgoing
from tests.sender.running import SOON, judged, kinds, plan

AGAIN = Retransmit(pause=0.0, patience=20.0)


async def test_retransmitting_sends_the_unanswered_again_byte_for_byte_before_anything_new() -> None:
    def script(heard: Heard) -> list[bytes | Hangup]:
        return [Hangup()] if heard.place == 1 else agree(heard)

    async with Listening(script) as listening:
        verdicts, sent, code = await judged(plan(listening, "A", "B", "C", retransmit=AGAIN))
    assert listening.payloads == [message("A"), message("B"), message("B"), message("C")]
    assert [(one.control_id, one.attempt) for one in sent] == [(b"A", 1), (b"B", 1), (b"B", 2), (b"C", 1)]
    assert [(one.control_id, one.judgement, one.retried) for one in verdicts] == [
        (b"A", Judgement.POSITIVE, False),
        (b"B", Judgement.SILENCE, True),
        (b"B", Judgement.POSITIVE, False),
        (b"C", Judgement.POSITIVE, False),
    ]
    assert code == 0


async def test_a_whole_window_is_sent_again_in_order() -> None:
    def script(heard: Heard) -> list[bytes | Hangup]:
        if heard.connection == 0:
            return [Hangup()] if heard.place == 3 else agree(heard) if heard.place == 0 else []
        return agree(heard)

    async with Listening(script) as listening:
        _, sent, code = await judged(plan(listening, "A", "B", "C", "D", "E", pipeline=3, retransmit=AGAIN))
    again = [one.control_id for one in listening.heard if one.connection == 1]
    assert again == [b"B", b"C", b"D", b"E"]
    assert {one.control_id: one.attempt for one in sent} == {b"A": 1, b"B": 2, b"C": 2, b"D": 2, b"E": 1}
    assert code == 0


async def test_fresh_ids_stay_the_same_on_a_retransmit() -> None:
    numbers = count(1)
    async with Listening(lambda heard: [Hangup()] if heard.place == 0 else agree(heard)) as listening:
        chosen = plan(listening, "A", fresh_ids=lambda: f"N{next(numbers)}", retransmit=AGAIN)
        _, _, code = await judged(chosen)
    assert listening.payloads == [message("N1"), message("N1")]
    assert code == 0


async def test_a_silent_listener_is_asked_again_on_a_new_connection() -> None:
    async with Listening(lambda heard: [] if heard.place == 0 else agree(heard)) as listening:
        verdicts, _, code = await judged(plan(listening, "A", answer_timeout=SOON, retransmit=AGAIN))
    assert [(one.judgement, one.retried) for one in verdicts] == [
        (Judgement.SILENCE, True),
        (Judgement.POSITIVE, False),
    ]
    assert [one.connection for one in listening.heard] == [0, 1]
    assert code == 0


async def test_a_listener_that_comes_back_on_its_port_gets_what_was_not_answered() -> None:
    async with Listening() as gone:
        port = gone.port
    refused = asyncio.Event()
    verdicts: list[Verdict] = []
    chosen = SendPlan(
        target=Target(host="127.0.0.1", port=port),
        messages=outgoing("A"),
        retransmit=Retransmit(pause=0.01, patience=20.0),
    )
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        running = group.create_task(send(chosen, on_verdict=verdicts.append))
        group.create_task(_come_back(port, running, refused))
    assert kinds(verdicts) == [("A", Judgement.POSITIVE)]
    assert running.result().exit_code == 0


async def _come_back(port: int, running: "asyncio.Task[object]", refused: asyncio.Event) -> None:
    # The first attempt meets a closed port: only after a probe of our own was refused does the listener return.
    with pytest.raises(OSError, match=r".*"):
        await asyncio.open_connection("127.0.0.1", port)
    refused.set()
    async with Listening(port=port):
        await asyncio.wait([running])


async def test_patience_ends_and_what_was_sent_is_silence_and_the_rest_unsent() -> None:
    async with Listening(lambda heard: [Hangup()]) as listening:
        chosen = plan(listening, "A", "B", retransmit=Retransmit(pause=0.0, patience=SOON))
        verdicts, sent, code = await judged(chosen)
    final = [one for one in verdicts if not one.retried]
    assert kinds(final) == [("A", Judgement.SILENCE)]
    assert final[0].note == "given up: closed by the other side"
    assert len(sent) > 1
    assert {one.payload for one in sent} == {message("A")}
    assert code == 1


async def test_patience_starts_anew_with_every_message_brought_to_its_end() -> None:
    def script(heard: Heard) -> list[bytes | Hangup]:
        return [Hangup()] if heard.place % 2 == 0 else agree(heard)

    # Twelve pauses together are longer than patience; each alone is a tenth of it.
    again = Retransmit(pause=0.05, patience=0.5)
    async with Listening(script) as listening:
        verdicts, _, code = await judged(plan(listening, *(f"M{n}" for n in range(12)), retransmit=again))
    assert sum(one.retried for one in verdicts) == 12
    assert code == 0


async def test_codes_that_mean_later_are_sent_again_and_others_are_not() -> None:
    def script(heard: Heard) -> list[bytes | Hangup]:
        code = {0: "AR", 1: "AA", 2: "AE"}[heard.place]
        return [framed(ack(heard.control_id, code))]

    async with Listening(script) as listening:
        again = Retransmit(pause=0.0, patience=20.0, codes=frozenset({"AR"}))
        verdicts, _, code = await judged(plan(listening, "A", "B", retransmit=again))
    assert [(one.control_id, one.judgement, one.retried) for one in verdicts] == [
        (b"A", Judgement.NEGATIVE, True),
        (b"A", Judgement.POSITIVE, False),
        (b"B", Judgement.NEGATIVE, False),
    ]
    assert code == 1


async def test_eight_senders_side_by_side_lose_and_double_nothing_over_a_listener_that_hangs_up() -> None:
    answered: dict[bytes, int] = {}

    def script(heard: Heard) -> list[bytes | Hangup]:
        if heard.place % 7 == 3:
            return [Hangup()]
        answered[heard.control_id] = answered.get(heard.control_id, 0) + 1
        return agree(heard)

    async with Listening(script) as listening:
        plans = [
            plan(listening, *(f"S{sender}-{n}" for n in range(25)), pipeline=4, retransmit=AGAIN) for sender in range(8)
        ]
        async with asyncio.timeout(20):
            reports = await asyncio.gather(*(send(one) for one in plans))
    assert [report.counts for report in reports] == [{Judgement.POSITIVE: 25}] * 8
    assert {f"S{sender}-{n}".encode() for sender in range(8) for n in range(25)} == answered.keys()
