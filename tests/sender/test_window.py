from gateway.sender.feed import Job
from gateway.sender.judging import Reading
from gateway.sender.options import Judgement
from gateway.sender.window import Window


def job(number: int, control_id: bytes | None = None) -> Job:
    own = control_id if control_id is not None else f"M{number}".encode()
    return Job(number=number, origin="f", payload=b"x", control_ids=(own,))


def reading(control_id: str, code: str = "AA") -> Reading:
    return Reading(codes=(code,), ids=(control_id,), text=None, codec="utf-8")


def window(*jobs: Job) -> Window:
    made = Window()
    for one in jobs:
        made.add(one)
    return made


def test_answers_in_order_settle_messages_in_order() -> None:
    jobs = [job(1), job(2)]
    made = window(*jobs)
    assert made.head is jobs[0]
    for one in jobs:
        match = made.match(reading(f"M{one.number}"))
        assert (match.job, match.judgement, match.note, match.extra) == (one, Judgement.POSITIVE, None, False)
    assert made.head is None


def test_a_refusal_is_negative() -> None:
    assert window(job(1)).match(reading("M1", "AE")).judgement is Judgement.NEGATIVE


def test_an_answer_before_its_turn_is_never_a_yes_and_the_head_still_waits() -> None:
    first, second = job(1), job(2)
    made = window(first, second)
    match = made.match(reading("M2"))
    assert (match.job, match.judgement, match.note) == (second, Judgement.MISMATCH, "answered before its turn")
    assert made.head is first
    assert made.match(reading("M1")).judgement is Judgement.POSITIVE


def test_a_foreign_id_is_the_heads_mismatch() -> None:
    first, second = job(1), job(2)
    made = window(first, second)
    match = made.match(reading("ZZZ"))
    assert (match.job, match.judgement, match.extra) == (first, Judgement.MISMATCH, False)
    assert made.head is second


def test_an_unreadable_answer_is_the_heads() -> None:
    first = job(1)
    match = window(first).match(None)
    assert (match.job, match.judgement, match.extra) == (first, Judgement.UNREADABLE, False)


def test_an_answer_nobody_waits_for_belongs_to_nobody() -> None:
    for given, judgement in ((reading("ZZZ"), Judgement.MISMATCH), (None, Judgement.UNREADABLE)):
        match = Window().match(given)
        assert (match.job, match.judgement, match.extra) == (None, judgement, True)


def test_a_second_answer_is_an_extra_mismatch_and_takes_nobodys_turn() -> None:
    first, second = job(1), job(2)
    made = window(first, second)
    made.match(reading("M1"))
    match = made.match(reading("M1"))
    assert (match.job, match.judgement, match.note, match.extra) == (first, Judgement.MISMATCH, "second answer", True)
    assert made.head is second


def test_an_application_answer_after_a_commit_answer_says_what_it_says() -> None:
    for code, judgement in (("AA", Judgement.POSITIVE), ("AE", Judgement.NEGATIVE)):
        made = window(job(1))
        assert made.match(reading("M1", "CA")).judgement is Judgement.POSITIVE
        match = made.match(reading("M1", code))
        assert (match.judgement, match.note, match.extra) == (judgement, "application answer", True)


def test_a_second_commit_answer_is_no_application_answer() -> None:
    made = window(job(1))
    made.match(reading("M1", "CA"))
    assert made.match(reading("M1", "CA")).judgement is Judgement.MISMATCH


def test_a_late_answer_is_told_apart_from_the_next_ones() -> None:
    first, second = job(1), job(2)
    made = window(first, second)
    assert made.abandon() is first
    match = made.match(reading("M1"))
    assert (match.job, match.judgement, match.note, match.extra) == (first, Judgement.POSITIVE, "late answer", True)
    assert made.head is second


def test_equal_ids_are_answered_oldest_first() -> None:
    first, second = job(1, b"SAME"), job(2, b"SAME")
    made = window(first, second)
    assert made.match(reading("SAME")).job is first
    match = made.match(reading("SAME"))
    assert (match.job, match.judgement) == (second, Judgement.POSITIVE)


def test_only_the_last_settled_ones_are_remembered() -> None:
    made = Window()
    for number in range(300):
        made.add(job(number))
        made.match(reading(f"M{number}"))
    assert made.match(reading("M299")).note == "second answer"
    assert made.match(reading("M0")).job is None


def test_draining_gives_the_unanswered_in_order_once() -> None:
    first, second = job(1), job(2)
    made = window(first, second)
    assert made.drain() == (first, second)
    assert made.drain() == ()
    assert made.abandon() is None
    assert len(made) == 0
