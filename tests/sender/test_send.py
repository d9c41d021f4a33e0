import asyncio
from itertools import count

import pytest

from fixtures.make import ALL
from fixtures.oddities import LARGE
from gateway.sender.options import Judgement, Outgoing, SendPlan, Target, Verdict
from gateway.sender.send import send
from tests.sender.listening import Hangup, Heard, Listening, Script, ack, agree, framed, message, outgoing
from tests.sender.running import SOON, judged, kinds, plan


async def test_every_message_is_framed_sent_as_it_is_and_judged_by_its_answer() -> None:
    async with Listening() as listening:
        verdicts, sent, code = await judged(plan(listening, "A", "B", "C"))
    assert bytes(listening.streams[0]) == b"".join(framed(message(one)) for one in "ABC")
    assert len(listening.streams) == 1
    assert kinds(verdicts) == [("A", Judgement.POSITIVE), ("B", Judgement.POSITIVE), ("C", Judgement.POSITIVE)]
    assert [one.answer for one in verdicts] == [ack(one.encode()) for one in "ABC"]
    assert [(one.number, one.origin, one.code, one.attempt) for one in verdicts] == [
        (1, "A.hl7", "AA", 1),
        (2, "B.hl7", "AA", 1),
        (3, "C.hl7", "AA", 1),
    ]
    assert [one.payload for one in sent] == [message(one) for one in "ABC"]
    assert code == 0


async def test_one_message_at_a_time_waits_for_each_answer() -> None:
    waiting: list[int] = []

    def script(heard: Heard) -> list[bytes | Hangup]:
        waiting.append(len(listening.heard))
        return agree(heard)

    async with Listening(script) as listening:
        await judged(plan(listening, "A", "B", "C"))
    assert waiting == [1, 2, 3]


async def test_a_pipeline_sends_that_many_before_the_first_answer() -> None:
    def script(heard: Heard) -> list[bytes | Hangup]:
        if heard.place < 3:
            return []
        return [framed(ack(one.control_id)) for one in listening.heard]

    async with Listening(script) as listening:
        verdicts, _, code = await judged(plan(listening, "A", "B", "C", "D", pipeline=4))
    assert [one.judgement for one in verdicts] == [Judgement.POSITIVE] * 4
    assert code == 0


async def test_a_refusal_is_reported_with_its_reason_and_the_next_message_goes_on() -> None:
    def script(heard: Heard) -> list[bytes | Hangup]:
        return [framed(ack(heard.control_id, "AR", text="not wanted"))] if heard.place == 0 else agree(heard)

    async with Listening(script) as listening:
        verdicts, _, code = await judged(plan(listening, "A", "B"))
    assert kinds(verdicts) == [("A", Judgement.NEGATIVE), ("B", Judgement.POSITIVE)]
    assert (verdicts[0].code, verdicts[0].text, code) == ("AR", "not wanted", 1)


async def test_an_answer_for_another_message_is_a_mismatch() -> None:
    async with Listening(lambda heard: [framed(ack(b"OTHER"))]) as listening:
        verdicts, _, code = await judged(plan(listening, "A"))
    assert kinds(verdicts) == [("A", Judgement.MISMATCH)]
    assert code == 1


async def test_swapped_answers_are_seen() -> None:
    def script(heard: Heard) -> list[bytes | Hangup]:
        return [] if heard.place == 0 else [framed(ack(b"B")), framed(ack(b"A"))]

    async with Listening(script) as listening:
        verdicts, _, code = await judged(plan(listening, "A", "B", pipeline=2))
    assert kinds(verdicts) == [("B", Judgement.MISMATCH), ("A", Judgement.POSITIVE)]
    assert code == 1


async def test_an_answer_that_cannot_be_read_is_unreadable() -> None:
    async with Listening(lambda heard: [framed(b"all is well")]) as listening:
        verdicts, _, code = await judged(plan(listening, "A"))
    assert kinds(verdicts) == [("A", Judgement.UNREADABLE)]
    assert (verdicts[0].answer, code) == (b"all is well", 1)


@pytest.mark.parametrize("answer", [framed(b""), b"\x0bMSH|^~\\&|A\x1c\rMSA|AA|A\r\x1c\r"], ids=["empty", "cut"])
async def test_an_answer_in_a_broken_frame_is_unreadable(answer: bytes) -> None:
    async with Listening(lambda heard: [answer]) as listening:
        verdicts, _, code = await judged(plan(listening, "A"))
    assert kinds(verdicts) == [("A", Judgement.UNREADABLE)]
    assert code == 1


async def test_an_answer_larger_than_allowed_is_unreadable_and_ends_the_connection() -> None:
    big = framed(ack(b"A", text="x" * 5000))
    async with Listening(lambda heard: [big] if heard.place == 0 else agree(heard)) as listening:
        verdicts, _, code = await judged(plan(listening, "A", "B", max_answer_bytes=2048))
    assert kinds(verdicts)[0] == ("A", Judgement.UNREADABLE)
    assert code == 1


async def test_silence_is_reported_and_the_next_message_uses_a_new_connection() -> None:
    def script(heard: Heard) -> list[bytes | Hangup]:
        return [] if heard.place == 0 else agree(heard)

    async with Listening(script) as listening:
        verdicts, _, code = await judged(plan(listening, "A", "B", answer_timeout=SOON))
    assert kinds(verdicts) == [("A", Judgement.SILENCE), ("B", Judgement.POSITIVE)]
    assert (verdicts[0].note, verdicts[0].answer) == ("no answer within 0.05 s", None)
    assert [heard.connection for heard in listening.heard] == [0, 1]
    assert code == 1


async def test_a_late_answer_is_an_extra_and_never_the_next_messages() -> None:
    verdicts: list[Verdict] = []

    def note(verdict: Verdict) -> None:
        verdicts.append(verdict)
        if verdict.judgement is Judgement.SILENCE:
            listening.writers[0].write(framed(ack(b"A")) + framed(ack(b"B")))

    async with Listening(lambda heard: []) as listening:
        chosen = plan(listening, "A", "B", "C", pipeline=2, rate=2.0, answer_timeout=0.6)
        async with asyncio.timeout(20):
            report = await send(chosen, on_verdict=note)
    assert [(one.control_id, one.judgement, one.extra) for one in verdicts][:3] == [
        (b"A", Judgement.SILENCE, False),
        (b"A", Judgement.POSITIVE, True),
        (b"B", Judgement.POSITIVE, False),
    ]
    assert verdicts[1].note == "late answer"
    assert [one.connection for one in listening.heard] == [0, 0, 1]
    assert report.exit_code == 1


async def test_a_listener_that_closes_without_answering_leaves_silence() -> None:
    async with Listening(lambda heard: [Hangup()] if heard.place == 0 else agree(heard)) as listening:
        verdicts, _, code = await judged(plan(listening, "A", "B"))
    assert kinds(verdicts) == [("A", Judgement.SILENCE), ("B", Judgement.POSITIVE)]
    assert verdicts[0].note == "closed by the other side"
    assert code == 1


async def test_an_answer_cut_off_by_a_close_is_silence() -> None:
    async with Listening(lambda heard: [b"\x0b" + ack(b"A"), Hangup()]) as listening:
        verdicts, _, code = await judged(plan(listening, "A"))
    assert kinds(verdicts) == [("A", Judgement.SILENCE)]
    assert code == 1


async def test_an_answer_without_its_last_cr_counts_when_the_listener_closes() -> None:
    async with Listening(lambda heard: [framed(ack(b"A"))[:-1], Hangup()]) as listening:
        verdicts, _, code = await judged(plan(listening, "A"))
    assert kinds(verdicts) == [("A", Judgement.POSITIVE)]
    assert code == 0


async def test_an_answer_cut_anywhere_is_one_answer() -> None:
    whole = framed(ack(b"A"))
    for at in (1, 7, len(whole) - 2, len(whole) - 1):
        pieces: list[bytes | Hangup] = [b"\r\n" + whole[:at], whole[at:]]
        async with Listening(lambda heard, pieces=pieces: pieces) as listening:  # type: ignore[misc]  # default: binds
            verdicts, _, _ = await judged(plan(listening, "A"))
        assert kinds(verdicts) == [("A", Judgement.POSITIVE)]


async def test_a_second_answer_is_an_extra_mismatch() -> None:
    async with Listening(lambda heard: agree(heard) * 2 if heard.place == 0 else agree(heard)) as listening:
        verdicts, _, code = await judged(plan(listening, "A", "B"))
    assert [(one.control_id, one.judgement, one.extra) for one in verdicts] == [
        (b"A", Judgement.POSITIVE, False),
        (b"A", Judgement.MISMATCH, True),
        (b"B", Judgement.POSITIVE, False),
    ]
    assert code == 1


async def test_a_refusing_application_answer_after_a_commit_answer_fails_the_run() -> None:
    def script(heard: Heard) -> list[bytes | Hangup]:
        codes = ("CA", "AE") if heard.place == 0 else ("CA",)
        return [framed(ack(heard.control_id, code)) for code in codes]

    async with Listening(script) as listening:
        verdicts, _, code = await judged(plan(listening, "A", "B"))
    assert [(one.judgement, one.extra) for one in verdicts] == [
        (Judgement.POSITIVE, False),
        (Judgement.NEGATIVE, True),
        (Judgement.POSITIVE, False),
    ]
    assert code == 1


async def test_a_target_nobody_listens_on_is_reported_and_nothing_counts_as_sent() -> None:
    async with Listening() as listening:
        target = listening.target
    report = await send(SendPlan(target=target, messages=outgoing("A", "B"), connections=2))
    assert (report.written, report.unsent, report.counts, report.exit_code) == (0, 2, {}, 1)
    assert report.trouble is not None
    assert "refused" in report.trouble.lower() or "connect" in report.trouble.lower()


async def test_nothing_to_send_needs_no_connection() -> None:
    report = await send(SendPlan(target=Target(host="127.0.0.1", port=1), messages=()))
    assert (report.total, report.exit_code) == (0, 0)


async def test_several_connections_share_the_messages_and_each_keeps_its_order() -> None:
    ids = [f"M{number:03d}" for number in range(60)]
    arrived = asyncio.Event()

    def script(heard: Heard) -> list[bytes | Hangup]:
        if len({one.connection for one in listening.heard}) == 3:
            arrived.set()
        return agree(heard)

    async with Listening(script) as listening:
        _, _, code = await judged(plan(listening, *ids, connections=3, pipeline=2))
    assert code == 0
    assert sorted(one.control_id.decode() for one in listening.heard) == ids
    assert arrived.is_set()
    for connection in range(3):
        own = [one.control_id for one in listening.heard if one.connection == connection]
        assert own == sorted(own)


async def test_no_more_connections_are_opened_than_there_are_messages() -> None:
    async with Listening() as listening:
        await judged(plan(listening, "A", connections=8))
    assert len(listening.streams) == 1


async def test_fresh_ids_are_on_the_wire_and_in_the_verdicts() -> None:
    numbers = count(1)
    async with Listening() as listening:
        chosen = plan(listening, "A", repeat=2, fresh_ids=lambda: f"N{next(numbers)}")
        verdicts, _, code = await judged(chosen)
    assert listening.payloads == [message("N1"), message("N2")]
    assert kinds(verdicts) == [("N1", Judgement.POSITIVE), ("N2", Judgement.POSITIVE)]
    assert code == 0


async def test_a_rate_is_kept_through_the_whole_run() -> None:
    async with Listening() as listening:
        chosen = plan(listening, "A", "B", "C", rate=50.0)
        report = await send(chosen)
    assert report.exit_code == 0
    assert report.elapsed >= 0.04  # two gaps of 20 ms by the loop's own clock; never an upper bound


async def test_every_fixture_arrives_byte_for_byte() -> None:
    messages = tuple(Outgoing(payload=one.payload, origin=one.name) for one in (*ALL, LARGE))

    def script(heard: Heard) -> list[bytes | Hangup]:
        own = next(one.control_id for one in (*ALL, LARGE) if one.payload == heard.payload)
        return [framed(ack(own))]

    async with Listening(script) as listening:
        report = await send(SendPlan(target=listening.target, messages=messages))
    assert listening.payloads == [one.payload for one in messages]
    assert report.counts == {Judgement.POSITIVE: len(messages)}


async def test_a_batch_gets_one_verdict_for_all_its_messages() -> None:
    batch = b"BHS|^~\\&|A\r" + message("A") + message("B") + b"BTS|2\r"
    answer = b"BHS|^~\\&|GW\r" + ack(b"A") + ack(b"B") + b"BTS|2\r"
    async with Listening(lambda heard: [framed(answer)]) as listening:
        chosen = SendPlan(target=listening.target, messages=(Outgoing(payload=batch, origin="b"),))
        report = await send(chosen)
    assert report.counts == {Judgement.POSITIVE: 1}


@pytest.mark.parametrize(
    "first", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x01\x00\x02\x02\x46"], ids=["http", "tls-alert"]
)
async def test_a_listener_of_another_protocol_is_never_a_yes(first: bytes) -> None:
    async with Listening(lambda heard: [first, Hangup()]) as listening:
        verdicts, _, code = await judged(plan(listening, "A"))
    assert kinds(verdicts) == [("A", Judgement.SILENCE)]
    assert code == 1


async def test_an_answer_without_its_cr_is_taken_after_a_second_of_silence() -> None:
    async with Listening(lambda heard: [framed(ack(heard.control_id))[:-1]]) as listening:
        verdicts, _, code = await judged(plan(listening, "A"))
    assert kinds(verdicts) == [("A", Judgement.POSITIVE)]
    assert code == 0


async def test_callbacks_are_optional() -> None:
    script: Script = agree
    async with Listening(script) as listening:
        report = await send(plan(listening, "A"))
    assert report.counts == {Judgement.POSITIVE: 1}
