"""The commands about messages and channels, beside a store that a gateway has open at the same time."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gateway.app.world import clock, operator
from gateway.cli.main import app
from gateway.model.ids import RowId
from gateway.model.states import State
from tests.cli.conftest import Program, environment
from tests.console.shop import Shop, message, opened

STABLE_KEYS = [
    "id",
    "channel",
    "state",
    "control_id",
    "sequence",
    "sends",
    "attempts",
    "generation",
    "error_code",
    "received_at",
    "sha256",
]


@asynccontextmanager
async def _gateway(folder: Path) -> AsyncIterator[Shop]:
    async with opened(folder / "var" / "queue.db", clock) as shop:
        yield shop


@pytest.fixture
async def shop(folder: Path) -> AsyncIterator[Shop]:
    async with _gateway(folder) as found:
        yield found


class Terminal:
    """Runs commands in a thread of their own, as another process would, while the test holds the store open."""

    def __init__(self, runner: CliRunner) -> None:
        self._runner = runner

    async def __call__(self, *words: object, code: int = 0) -> Result:
        result = await asyncio.to_thread(self._runner.invoke, app, [str(word) for word in words])
        assert result.exit_code == code, result.output
        return result

    async def json(self, *words: object) -> Any:
        return json.loads((await self(*words, "--json")).stdout)

    async def lines(self, *words: object) -> list[Any]:
        return [json.loads(line) for line in (await self(*words, "--json")).stdout.splitlines()]


@pytest.fixture
def terminal(runner: CliRunner) -> Terminal:
    return Terminal(runner)


async def _in_review(shop: Shop, control_id: str = "A1") -> RowId:
    row = await shop.accept(control_id)
    if shop.term is None:
        await shop.lead()
    await shop.fail(row)
    return row


# --- list ------------------------------------------------------------------------------------------------------------


async def test_list_json_is_one_object_per_line_with_the_promised_keys_first(shop: Shop, terminal: Terminal) -> None:
    rows = [await shop.accept(f"A{number}") for number in range(3)]
    found = await terminal.lines("list")
    assert [each["row"] for each in found] == rows
    assert all(list(each)[: len(STABLE_KEYS)] == STABLE_KEYS for each in found)
    assert [each["control_id"] for each in found] == ["A0", "A1", "A2"]
    assert [each["sequence"] for each in found] == [1, 2, 3]


async def test_list_json_gives_every_row_unless_a_limit_is_given(shop: Shop, terminal: Terminal) -> None:
    count = 1_203
    await asyncio.gather(*(shop.accept(f"A{number}") for number in range(count)))
    assert len(await terminal.lines("list")) == count
    assert len(await terminal.lines("list", "--limit", 7)) == 7


async def test_list_filters_by_channel_state_and_control_id(shop: Shop, terminal: Terminal) -> None:
    failed = await _in_review(shop, "A1")
    queued = await shop.accept("A2")
    odd = await shop.accept("A\x1b3")

    async def rows(*words: object) -> list[int]:
        return [each["row"] for each in await terminal.lines("list", *words)]

    assert await rows("--state", "failed") == [failed]
    assert await rows("--state", "failed", "--state", "queued") == [failed, queued, odd]
    assert await rows("--control-id", "A2") == [queued]
    assert await rows("--control-id", "A\\x1b3") == [odd]
    assert await rows("--channel", "lab") == []
    await terminal("list", "--channel", "nonsense", code=1)


async def test_no_control_character_of_a_message_reaches_the_terminal(shop: Shop, terminal: Terminal) -> None:
    row = await shop.accept("A\x1b[2J\x9b1m\u202e")
    for words in (["list"], ["list", "--json"], ["show", row], ["show", row, "--json"], ["events"], ["status"]):
        shown = (await terminal(*words)).output
        assert not {"\x1b", "\x9b", "\u202e"} & set(shown)


# --- show ------------------------------------------------------------------------------------------------------------


async def test_show_raw_writes_the_stored_bytes_unchanged(shop: Shop, program: Program) -> None:
    payload = message("A1") + b"OBX|1|TX|||\x00\x1b\xff\xfe\r\n\n"
    row = await shop.accept("A1", payload=payload)
    by_number = await asyncio.to_thread(program, "show", str(row), "--raw")
    assert (by_number.returncode, by_number.stdout, by_number.stderr) == (0, payload, b"")
    public = (await shop.store.desk.row(row)).id  # type: ignore[union-attr] # the row is there
    by_id = await asyncio.to_thread(program, "show", str(public), "--raw")
    assert by_id.stdout == payload


async def test_show_raw_of_bytes_that_are_not_kept_is_refused(shop: Shop, terminal: Terminal) -> None:
    row = await shop.refuse(b"A" * 100, kept=False)
    result = await terminal("show", row, "--raw", code=1)
    assert (result.stdout, result.stderr) == ("", f"the bytes of row {row} are not kept\n")


async def test_show_masks_the_message(shop: Shop, terminal: Terminal) -> None:
    row = await shop.accept("A1")
    text = (await terminal("show", row)).stdout
    assert "PID-5  [9 characters, 2 components]" in text
    found = await terminal.json("show", row)
    assert found["outline"]["segments"][1]["name"] == "PID"
    assert "ANNA" not in text + json.dumps(found)


# --- status, why -----------------------------------------------------------------------------------------------------


async def test_status_shows_every_channel(shop: Shop, terminal: Terminal) -> None:
    await _in_review(shop)
    await shop.accept("A2")
    lines = (await terminal("status")).stdout.splitlines()
    assert lines[0].split()[:2] == ["CHANNEL", "DEPTH"]
    assert [line.split()[0] for line in lines[1:3]] == ["adt", "lab"]
    assert all(len(line) <= 80 for line in lines)
    found = await terminal.json("status")
    adt = found["channels"][0]
    assert (adt["channel"], adt["depth"], adt["in_review"], adt["why"]["waits_for"]) == ("adt", 1, 1, "turn")
    assert [(each["upstream"], each["link"]) for each in found["upstreams"]] == [("main", "live")]


async def test_why_answers_in_one_line(shop: Shop, terminal: Terminal) -> None:
    first = await shop.accept("A1")
    second = await shop.accept("A2")
    assert (await terminal("why", "adt")).stdout == (
        f"channel adt: Its head is row {first}. No running gateway leads upstream main.\n"
    )
    assert (await terminal("why", second)).stdout.startswith(f"row {second}: It waits behind row {first} (queued).")
    assert (await terminal.json("why", second))["behind"] == first
    await terminal("why", "nonsense", code=1)


# --- acts ------------------------------------------------------------------------------------------------------------


async def test_requeue_takes_ids_of_both_kinds_and_records_the_user_and_the_reason(
    shop: Shop, terminal: Terminal
) -> None:
    first, second = await _in_review(shop, "A1"), await _in_review(shop, "A2")
    public = (await terminal.json("show", second))["id"]
    result = await terminal("requeue", first, public, "--reason", "server was repaired")
    assert result.stdout == f"row {first} is queued (generation 1)\nrow {second} is queued (generation 1)\n"
    for row in (first, second):
        acts = [each for each in await terminal.lines("events", "--row", row) if each["kind"] == "requeued"]
        assert [(each["actor"], each["reason"], each["from"], each["to"]) for each in acts] == [
            (operator(), "server was repaired", "failed", "queued")
        ]


async def test_an_order_that_is_lost_is_warned_of_on_standard_error(shop: Shop, terminal: Terminal) -> None:
    first = await _in_review(shop, "A1")
    await shop.deliver(await shop.accept("A2"))
    result = await terminal("requeue", first, "--reason", "x")
    assert "already delivered" in result.stderr
    assert "already delivered" not in result.stdout


@pytest.mark.parametrize(("act", "state"), [("resolve", State.PROCESSED), ("discard", State.DISCARDED)])
async def test_resolve_and_discard_settle_and_may_forget(
    shop: Shop, terminal: Terminal, act: str, state: State
) -> None:
    kept, forgotten = await _in_review(shop, "A1"), await _in_review(shop, "A2")
    assert (await terminal(act, kept, "--reason", "x")).stdout == f"row {kept} is {state} (generation 0)\n"
    await terminal(act, forgotten, "--reason", "x", "--forget")
    assert await shop.accept("A1") == kept
    assert await shop.accept("A2") > forgotten


@pytest.mark.parametrize("act", ["requeue", "resolve", "discard"])
async def test_one_refused_message_does_not_keep_the_others_from_an_act(
    shop: Shop, terminal: Terminal, act: str
) -> None:
    done = await shop.accept("A1")
    await shop.lead()
    await shop.deliver(done)
    failed = await _in_review(shop, "A2")
    result = await terminal(act, done, 99, failed, "--reason", "x", code=1)
    assert result.stdout.startswith(f"row {failed} is ")
    said = result.stderr.splitlines()
    assert [line.split(":")[0] for line in said] == [str(done), "99"]
    assert "names no message" in said[1]


async def test_halt_and_resume_hold_and_free_a_channel(shop: Shop, terminal: Terminal) -> None:
    row = await shop.accept("A1")
    await shop.lead()
    assert (await terminal("halt", "adt", "--reason", "maintenance")).stdout == "channel adt is halted\n"
    assert (await terminal.json("why", row))["waits_for"] == "halted"
    assert (await terminal("resume", "adt", "--reason", "over")).stdout == "channel adt goes on: 1 halt lifted\n"
    assert (await terminal.json("why", row))["waits_for"] == "turn"
    assert (await terminal("resume", "adt", "--reason", "over")).stdout == "channel adt was not halted\n"
    await terminal("halt", "nonsense", "--reason", "x", code=1)
    acts = [each for each in await terminal.lines("events") if each["actor"] == operator()]
    assert [(each["kind"], each["reason"]) for each in acts] == [("halted", "maintenance"), ("resumed", "over")]


# --- events, verify, migrate -----------------------------------------------------------------------------------------


async def test_events_come_in_order_and_from_where_they_are_asked_for(shop: Shop, terminal: Terminal) -> None:
    rows = [await shop.accept(f"A{number}") for number in range(5)]
    found = await terminal.lines("events")
    assert [(each["kind"], each["row"]) for each in found] == [("accepted", row) for row in rows]
    assert await terminal.lines("events", "--after", found[2]["event"]) == found[3:]
    assert await terminal.lines("events", "--last", 2) == found[3:]
    assert await terminal.lines("events", "--row", rows[1]) == found[1:2]
    assert await terminal.lines("events", "--channel", "lab") == []
    await terminal("events", "--row", "99", code=1)
    assert (await terminal("events", "--last", 1)).stdout.splitlines()[1].split()[2:4] == [str(rows[4]), "accepted"]


async def test_follow_goes_on_with_events_of_other_processes_until_ctrl_c(shop: Shop, folder: Path) -> None:
    early = await shop.accept("A1")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gateway", "events", "--follow", "--json"),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            assert json.loads(await process.stdout.readline())["row"] == early
            late = await shop.accept("A2")
            assert json.loads(await process.stdout.readline())["row"] == late
            process.send_signal(signal.SIGINT)
            rest = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, rest) == (130, (b"", b""))


async def test_verify_of_a_sound_store_ends_with_0(shop: Shop, terminal: Terminal) -> None:
    await _in_review(shop)
    assert (await terminal("verify")).stdout == "Nothing is wrong.\n"
    assert await terminal.lines("verify") == []


async def test_verify_names_a_damaged_row_and_ends_with_1(folder: Path, terminal: Terminal) -> None:
    async with _gateway(folder) as shop:
        row = await shop.accept("A1")
        await shop.lead()
        await shop.deliver(row)
    await asyncio.to_thread(_damage, folder / "var" / "queue.db", row)
    result = await terminal("verify", code=1)
    assert f"row {row}: " in result.stdout
    assert "ANNA" not in result.stdout
    lines = [json.loads(line) for line in (await terminal("verify", "--json", code=1)).stdout.splitlines()]
    assert [each["row"] for each in lines] == [row]


def _damage(file: Path, row: RowId) -> None:
    """Change one stored byte behind the store's back."""
    import apsw

    db = apsw.Connection(str(file))
    for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {name}")
    db.execute(
        "UPDATE contents SET original = CAST(replace(CAST(original AS TEXT), 'ANNA', 'ANNE') AS BLOB) WHERE row = ?",
        (row,),
    )
    db.close()


async def test_migrate_of_a_current_store_has_nothing_to_do(shop: Shop, terminal: Terminal) -> None:
    assert (await terminal("migrate")).stdout.endswith("nothing to do\n")


def test_migrate_without_a_store_is_refused_as_trouble(program: Program) -> None:
    assert program("migrate").returncode == 3


def test_a_file_that_is_no_store_is_the_gateways_own_trouble(program: Program, folder: Path) -> None:
    (folder / "var").mkdir(mode=0o700)
    (folder / "var" / "queue.db").write_bytes(b"not a database at all" * 1000)
    for words in (["status"], ["list", "--json"], ["show", "1", "--raw"], ["verify"]):
        done = program(*words)
        assert (done.returncode, done.stdout) == (3, b"")
        assert b"queue.db" in done.stderr


async def test_a_reader_that_has_enough_ends_a_listing_quietly(shop: Shop, folder: Path) -> None:
    await asyncio.gather(*(shop.accept(f"A{number}") for number in range(1_500)))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gateway", "list", "--json"),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.timeout(30):
        await process.stdout.readline()
        process.stdout._transport.close()  # type: ignore[attr-defined] # what `head` does to a pipe
        said = await process.stderr.read()
        await process.wait()
    assert (process.returncode, said) == (0, b"")
