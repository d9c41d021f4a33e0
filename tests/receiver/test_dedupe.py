from pathlib import Path

from gateway.receiver.values import Reply, Taken
from tests.receiver.client import ALL, callback, dialled, hl7, lines
from tests.receiver.conftest import NOW, Start


def repeats(journal: Path) -> list[bool]:
    return [line["repeat"] for line in lines(journal)]


class Application:
    """Counts what it sees, and answers what it is told to."""

    def __init__(self, *replies: Reply) -> None:
        self.seen: list[Taken] = []
        self._replies = list(replies)

    def __call__(self, taken: Taken) -> Reply:
        self.seen.append(taken)
        return self._replies.pop(0)


async def test_a_repeat_of_an_accepted_row_gets_the_stored_answer_byte_for_byte(start: Start, journal: Path) -> None:
    receiver = await start()
    async with dialled(receiver.url, extensions=ALL) as client:
        first = await client.exchange(callback(1), hl7("MSG1"))
        second = await client.exchange(callback(1, generation=1, send=2), hl7("MSG1"))
    assert second["body"] == first["body"]
    assert second["callback"] == callback(1, generation=1, send=2)
    assert repeats(journal) == [False, True]


async def test_the_application_never_sees_an_accepted_row_twice(start: Start) -> None:
    application = Application(Reply(status=200))
    receiver = await start(take=application)
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.exchange(callback(1), hl7("MSG1"))
        second = await client.exchange(callback(1, send=2), hl7("MSG1"))
    assert second["statusCode"] == 200
    assert [each.callback for each in application.seen] == [callback(1)]
    assert [each.runs for each in receiver.taken] == [True, False]


async def test_a_repeat_of_a_refused_row_is_run_again_and_replaces_the_outcome(start: Start) -> None:
    application = Application(Reply(status=400), Reply(status=201))
    receiver = await start(take=application)
    async with dialled(receiver.url, extensions=ALL) as client:
        answers = [await client.exchange(callback(1, send=send), hl7("MSG1")) for send in (1, 2, 3)]
    assert [each["statusCode"] for each in answers] == [400, 201, 201]
    assert [each.runs for each in receiver.taken] == [True, True, False]
    assert [each.repeat for each in receiver.taken] == [False, True, True]


async def test_an_answer_with_ae_counts_as_failed_and_is_run_again(start: Start) -> None:
    receiver = await start(script={"MSG1": [{"ack": "AE"}]})
    async with dialled(receiver.url, extensions=ALL) as client:
        first = await client.exchange(callback(1), hl7("MSG1"))
        second = await client.exchange(callback(1, send=2), hl7("MSG1"))
    assert "MSA|AE|MSG1" in first["body"]
    assert "MSA|AA|MSG1" in second["body"]


async def test_a_row_whose_application_failed_is_run_again(start: Start) -> None:
    receiver = await start(take=Application())
    async with dialled(receiver.url, extensions=ALL) as client:
        assert (await client.exchange(callback(1), hl7("MSG1")))["statusCode"] == 500
        assert (await client.exchange(callback(1, send=2), hl7("MSG1")))["statusCode"] == 500
    assert [each.runs for each in receiver.taken] == [True, True]


async def test_a_repeat_of_a_running_row_joins_that_run(start: Start) -> None:
    application = Application(Reply(status=202))
    receiver = await start(take=application, script={"MSG1": [{"delay": 0.05}]})
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.transmit(callback(1), hl7("MSG1"))
        await client.transmit(callback(1, send=2), hl7("MSG1"))
        heard = [await client.hear() for _ in range(4)]
    answers = {each["callback"]: each for each in heard if each["type"] == "agent:transmit:response"}
    assert [answers[callback(1, send=send)]["statusCode"] for send in (1, 2)] == [202, 202]
    assert len(application.seen) == 1


async def test_a_run_ends_though_its_connection_is_gone(start: Start) -> None:
    application = Application(Reply(status=202))
    receiver = await start(take=application, script={"MSG1": [{"delay": 0.05}]})
    async with dialled(receiver.url, extensions=ALL) as client:
        await client.transmit(callback(1), hl7("MSG1"))
        await receiver.wait_taken(1)
    await receiver.until(lambda: bool(application.seen))
    async with dialled(receiver.url, extensions=ALL) as client:
        assert (await client.exchange(callback(1, send=2), hl7("MSG1")))["statusCode"] == 202
    assert len(application.seen) == 1


async def test_rows_are_told_apart_by_everything_before_the_last_hash(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url, extensions=ALL) as client:
        for name in ("Agent/a#b-1#1", "Agent/a#b-1#2", "Agent/a#b-2#1", "bare", "bare"):
            await client.exchange(name, hl7("MSG1"))
    assert [each.repeat for each in receiver.taken] == [False, True, False, False, True]


async def test_a_row_out_of_the_window_is_new_again(start: Start, journal: Path) -> None:
    first = await start(dedupe_window=10.0)
    async with dialled(first.url, extensions=ALL) as client:
        await client.exchange(callback(1), hl7("MSG1"))
    await first.stop()
    second = await start(dedupe_window=10.0, now=NOW + 10_000)
    async with dialled(second.url, extensions=ALL) as client:
        await client.exchange(callback(1, send=2), hl7("MSG1"))
    assert repeats(journal) == [False, False]


async def test_a_row_just_inside_the_window_is_known(start: Start, journal: Path) -> None:
    first = await start(dedupe_window=10.0)
    async with dialled(first.url, extensions=ALL) as client:
        await client.exchange(callback(1), hl7("MSG1"))
    await first.stop()
    second = await start(dedupe_window=10.0, now=NOW + 9_999)
    async with dialled(second.url, extensions=ALL) as client:
        await client.exchange(callback(1, send=2), hl7("MSG1"))
    assert repeats(journal) == [False, True]
