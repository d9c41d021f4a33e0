"""The database defends itself: words, fence, what only grows, what must stay."""

import os
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import apsw
import pytest

from gateway.core.states import LIVE
from gateway.model.policy import Strategy
from gateway.model.states import AnswerState, ErrorCode, Event, Note, State
from gateway.store.options import StoreOptions
from gateway.store.sqlite import migrate
from gateway.store.sqlite.opening import configure
from gateway.store.sqlite.statements import ask
from tests.store.samples import ManualClock


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    migrate.migrate(connection, Path("memory"), clock=ManualClock(), random=os.urandom)
    configure(connection, StoreOptions(low_space=0))
    connection.execute("INSERT INTO channels VALUES (1, 'adt', 'main')")
    connection.execute("INSERT INTO policies VALUES (1, zeroblob(32), 'linear', 1, 2, 1, 3, 4)")
    yield connection
    connection.close()


DEFAULTS: dict[str, object] = {
    "channel_id": 1, "state": "queued", "live": 1, "partition": "", "barrier": 0, "answer_state": "not_owed",
    "received_at": 1, "sha256": bytes(32), "size": 1, "control_id": b"A", "message_type": "", "sender": "",
    "version": "", "inbound_sequence": "", "declared_charset": "", "encoding": "", "flags": "", "remote": "",
}  # fmt: skip

SHAPES: dict[State, dict[str, object]] = {
    State.QUEUED: {},
    State.CLAIMED: {"epoch": 5, "policy_id": 1},
    State.INFLIGHT: {
        "epoch": 5, "policy_id": 1, "first_send": 1, "first_sent_boot": "b", "first_sent_ms": 1, "first_sent_wall": 1,
    },
    State.PROCESSED: {"live": 0, "settled_at": 1},
    State.REJECTED: {"live": 0, "settled_at": 1, "error_code": "upstream-rejected"},
    State.FAILED: {"live": 0, "settled_at": 1, "error_code": "interrupted"},
    State.DISCARDED: {"live": 0, "settled_at": 1},
    State.NACKED: {"live": 0, "error_code": "bad-header"},
}  # fmt: skip


def insert(db: apsw.Connection, shape: State, **more: object) -> int:
    values = {**DEFAULTS, "state": shape.value, **SHAPES[shape], **more}
    names = ", ".join(values)
    places = ", ".join("?" for _ in values)
    db.execute(f"INSERT INTO messages ({names}) VALUES ({places})", tuple(values.values()))
    row = db.last_insert_rowid()
    db.execute("INSERT INTO contents VALUES (?, x'41', x'42')", (row,))
    return row


def _words(db: apsw.Connection, table: str, column: str) -> list[str]:
    """Read the CHECK list of a column out of the schema as SQLite holds it."""
    [(sql,)] = ask(db, "SELECT sql FROM sqlite_schema WHERE name = ?", (table,))
    found = re.search(rf"CHECK \({column} (?:= '|IN \()[^)]*\)", sql)
    assert found is not None
    assert len(re.findall(rf"{column} =", found.group())) in {0, len(re.findall("'[^']*'", found.group()))}
    return re.findall(r"'([^']*)'", found.group())


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("messages", "state", State),
        ("messages", "answer_state", AnswerState),
        ("events", "from_state", State),
        ("events", "to_state", State),
        ("policies", "strategy", Strategy),
    ],
)
def test_the_check_lists_are_the_words_of_the_model(
    db: apsw.Connection, table: str, column: str, words: type[StrEnum]
) -> None:
    assert _words(db, table, column) == [word.value for word in words]


def test_live_is_what_the_transition_table_calls_live(db: apsw.Connection) -> None:
    [(sql,)] = ask(db, "SELECT sql FROM sqlite_schema WHERE name = 'messages'")
    found = re.search(r"CHECK \(live = \(([^)]*)\)\)", sql)
    assert found is not None
    assert set(re.findall(r"'([^']*)'", found.group(1))) == {state.value for state in LIVE}


def test_no_rule_that_runs_at_every_insert_builds_a_table_for_a_list(db: apsw.Connection) -> None:
    rules = [
        sql for (sql,) in ask(db, "SELECT sql FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL")
    ]
    rules += [
        sql for (sql,) in ask(db, "SELECT sql FROM sqlite_schema WHERE name LIKE 'messages_%' AND sql IS NOT NULL")
    ]
    lists = [found for sql in rules for found in re.findall(r"IN \(('[^)]*)\)", sql)]
    assert lists
    assert all(found.count(",") < 2 for found in lists)


def test_the_word_tables_are_the_words_of_the_model(db: apsw.Connection) -> None:
    assert {code for (code,) in ask(db, "SELECT code FROM error_codes")} == {code.value for code in ErrorCode}
    assert {kind for (kind,) in ask(db, "SELECT kind FROM event_kinds")} == {*Event, *Note}


@pytest.mark.parametrize("state", State)
def test_every_state_can_be_stored_in_its_shape_and_in_no_other(db: apsw.Connection, state: State) -> None:
    insert(db, state)
    with pytest.raises(apsw.ConstraintError):
        insert(db, state, live=0 if state in LIVE else 1)
    for name in SHAPES[state]:
        if name != "live":
            with pytest.raises(apsw.ConstraintError):
                insert(db, state, **{name: None})


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "lost"},
        {"answer_state": "maybe"},
        {"sha256": b"short"},
        {"dedupe_key": b"short"},
        {"sequence": 0},
        {"error_code": "no such code"},
        {"channel_id": 9},
        {"due_boot": "b"},
        {"size": "one"},
        {"barrier": 2},
        {"settled_at": 1},
    ],
)
def test_what_makes_no_sense_is_not_stored(db: apsw.Connection, wrong: dict[str, object]) -> None:
    with pytest.raises(apsw.ConstraintError):
        insert(db, State.QUEUED, **wrong)


def _lead(db: apsw.Connection, epoch: int) -> None:
    db.execute("INSERT INTO leases (grp, holder, epoch) VALUES ('main', 'one', ?)", (epoch,))


@pytest.mark.parametrize("state", [State.CLAIMED, State.INFLIGHT])
def test_the_fence_stops_a_stale_epoch_from_moving_a_row_on_its_way(db: apsw.Connection, state: State) -> None:
    row = insert(db, state)
    _lead(db, 6)
    settle = "UPDATE messages SET state = 'processed', live = 0, settled_at = 1, epoch = ? WHERE id = ?"
    with pytest.raises(apsw.ConstraintError, match="stale-epoch"):
        db.execute(settle, (5, row))
    with pytest.raises(apsw.ConstraintError, match="stale-epoch"):
        db.execute(settle, (None, row))
    db.execute(settle, (6, row))


def test_the_fence_stops_a_stale_epoch_from_claiming(db: apsw.Connection) -> None:
    row = insert(db, State.QUEUED)
    _lead(db, 6)
    claim = "UPDATE messages SET state = 'claimed', policy_id = 1, epoch = ? WHERE id = ?"
    with pytest.raises(apsw.ConstraintError, match="stale-epoch"):
        db.execute(claim, (5, row))
    db.execute(claim, (6, row))


def test_the_fence_lets_replays_be_counted_on_a_row_in_doubt(db: apsw.Connection) -> None:
    row = insert(db, State.INFLIGHT)
    _lead(db, 6)
    db.execute("UPDATE messages SET repeats = repeats + 1, answer_state = 'pending' WHERE id = ?", (row,))


@pytest.mark.parametrize("state", [State.PROCESSED, State.DISCARDED, State.NACKED])
def test_a_final_state_is_final(db: apsw.Connection, state: State) -> None:
    row = insert(db, state)
    with pytest.raises(apsw.ConstraintError, match="state-is-final"):
        db.execute("UPDATE messages SET state = 'failed', error_code = 'corrupt', settled_at = 1 WHERE id = ?", (row,))


@pytest.mark.parametrize("column", ["sends", "generation"])
def test_numbers_of_sends_and_generations_never_fall(db: apsw.Connection, column: str) -> None:
    row = insert(db, State.QUEUED, **{column: 3})
    with pytest.raises(apsw.ConstraintError, match="number-lowered"):
        db.execute(f"UPDATE messages SET {column} = 2 WHERE id = ?", (row,))


def test_what_a_row_is_cannot_be_rewritten(db: apsw.Connection) -> None:
    row = insert(db, State.PROCESSED)
    for change in ("sha256 = zeroblob(32)", "sequence = 1", "control_id = x'00'", "partition = 'p'", "id = 99"):
        with pytest.raises(apsw.ConstraintError, match="identity-changed"):
            db.execute(f"UPDATE messages SET {change} WHERE id = ?", (row,))
    with pytest.raises(apsw.ConstraintError, match="content-is-fixed"):
        db.execute("UPDATE contents SET commit_answer = x'00' WHERE row = ?", (row,))
    with pytest.raises(apsw.ConstraintError, match="content-is-fixed"):
        db.execute("UPDATE contents SET original = x'00' WHERE row = ?", (row,))
    db.execute("UPDATE contents SET original = NULL WHERE row = ?", (row,))


@pytest.mark.parametrize("state", State)
def test_what_is_undelivered_or_unreviewed_cannot_be_removed(db: apsw.Connection, state: State) -> None:
    row = insert(db, state)
    insert(db, State.QUEUED)
    if state in {State.PROCESSED, State.DISCARDED, State.NACKED}:
        db.execute("UPDATE contents SET original = NULL WHERE row = ?", (row,))
        db.execute("DELETE FROM contents WHERE row = ?", (row,))
        db.execute("DELETE FROM messages WHERE id = ?", (row,))
        return
    with pytest.raises(apsw.ConstraintError, match="content-is-fixed"):
        db.execute("UPDATE contents SET original = NULL WHERE row = ?", (row,))
    with pytest.raises(apsw.ConstraintError, match="undelivered"):
        db.execute("DELETE FROM contents WHERE row = ?", (row,))
    with pytest.raises(apsw.ConstraintError, match="undelivered"):
        db.execute("DELETE FROM messages WHERE id = ?", (row,))


def test_the_newest_row_stays_so_that_no_number_is_used_twice(db: apsw.Connection) -> None:
    rows = [insert(db, State.PROCESSED), insert(db, State.PROCESSED)]
    for row in rows:
        db.execute("DELETE FROM contents WHERE row = ?", (row,))
    with pytest.raises(apsw.ConstraintError, match="newest"):
        db.execute("DELETE FROM messages WHERE id = ?", (rows[1],))
    db.execute("DELETE FROM messages WHERE id = ?", (rows[0],))
    assert insert(db, State.QUEUED) == rows[1] + 1


def test_events_are_appended_and_never_changed(db: apsw.Connection) -> None:
    row = insert(db, State.PROCESSED)
    db.execute("INSERT INTO events (row, at, actor, kind) VALUES (?, 1, 'system', 'sent')", (row,))
    db.execute("INSERT INTO events (row, at, actor, kind) VALUES (?, 1, 'ann', 'resolved')", (row,))
    db.execute("INSERT INTO events (at, actor, kind) VALUES (1, 'system', 'lease-taken')")
    db.execute("INSERT INTO events (row, at, actor, kind) VALUES (9, 1, 'system', 'sent')")
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        db.execute("UPDATE events SET reason = 'another'")
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        db.execute("DELETE FROM events WHERE actor = 'system' AND row IS NOT NULL")
    db.execute("DELETE FROM contents WHERE row = ?", (row,))
    with pytest.raises(apsw.ConstraintError, match="newest"):
        db.execute("DELETE FROM events WHERE row = 9")
    db.execute("DELETE FROM events WHERE actor = 'system' AND row = ?", (row,))
    for kept in ("actor = 'ann'", "row IS NULL"):
        with pytest.raises(apsw.ConstraintError, match="append-only"):
            db.execute(f"DELETE FROM events WHERE {kept}")


def test_policies_and_epochs_are_kept(db: apsw.Connection) -> None:
    _lead(db, 6)
    for change, word in (
        ("UPDATE policies SET attempts = 9", "policies-are-fixed"),
        ("UPDATE leases SET epoch = 5", "epoch-lowered"),
        ("DELETE FROM leases", "epoch-lowered"),
    ):
        with pytest.raises(apsw.ConstraintError, match=word):
            db.execute(change)


def test_tallies_follow_births_ends_and_removals(db: apsw.Connection) -> None:
    def tallies() -> dict[object, object]:
        return dict(ask(db, "SELECT state, n FROM tallies WHERE n > 0"))

    insert(db, State.NACKED)
    row = insert(db, State.FAILED)
    insert(db, State.QUEUED)
    assert tallies() == {"nacked": 1}
    db.execute("UPDATE messages SET state = 'processed', error_code = NULL WHERE id = ?", (row,))
    db.execute("UPDATE messages SET state = 'processed' WHERE id = ?", (row,))
    assert tallies() == {"nacked": 1, "processed": 1}
    db.execute("DELETE FROM contents WHERE row = ?", (row,))
    db.execute("DELETE FROM messages WHERE id = ?", (row,))
    assert tallies() == {"nacked": 1}
