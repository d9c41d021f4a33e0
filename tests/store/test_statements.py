"""Named queries: every one explained, every one understood by SQLite, none that walks a big table on the hot path."""

import os
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import apsw
import pytest

from gateway.store.sqlite import migrate
from gateway.store.sqlite.statements import NAME, ask, load, named
from tests.store.samples import ManualClock

FILES = ("intake", "outbox", "leases", "channels", "desk", "verify", "anomalies")
BIG = ("messages", "contents", "events", "fingerprints", "replies", "late_answers")
ALIAS = re.compile(r"(?:FROM|JOIN|UPDATE)\s+(\w+)\s+(?:AS\s+)?([a-z])\b")
WALKS_ON_PURPOSE = {("verify", "counted"), ("verify", "sequences"), ("verify", "stray_fingerprints")}
"""Verification compares counters and pointers with the whole tables; it runs in a reader, when a person asks."""

QUERIES = [(file, name) for file in FILES for name in named(file)]
ROWS = 100_000

FILL = f"""
INSERT INTO channels (id, name, grp) VALUES (1, 'adt', 'main'), (2, 'lab', 'main'), (3, 'other', 'other');
INSERT INTO policies VALUES (1, zeroblob(32), 'exponential', 1, 2, 1, 3, 4);
INSERT INTO leases (grp, holder, epoch) VALUES ('main', 'one', 1), ('other', 'two', 1);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
INSERT INTO messages (id, channel_id, state, live, partition, barrier, settled_at, error_code, answer_state, sequence,
                      received_at, dedupe_key, sha256, size, control_id, message_type, sender, version,
                      inbound_sequence, declared_charset, encoding, flags, remote)
SELECT i, 1 + i % 2, iif(i > {ROWS} - 2000, 'queued', iif(i % 500 = 0, 'failed', 'processed')), i > {ROWS} - 2000, '',
       0, iif(i > {ROWS} - 2000, NULL, i), iif(i % 500 = 0, 'interrupted', NULL), 'not_owed', NULL, i, randomblob(16),
       randomblob(32), 1, CAST(i AS BLOB), 'ADT^A01', 'S', '2.5', '', '', 'utf-8', '', 'r'
FROM n;
INSERT INTO contents SELECT id, x'41', x'42' FROM messages;
INSERT INTO fingerprints SELECT channel_id, dedupe_key, sha256, id, NULL FROM messages;
INSERT INTO events (row, channel_id, at, actor, kind, from_state, to_state)
SELECT id, channel_id, 1, 'system', 'accepted', NULL, 'queued' FROM messages;
"""


@pytest.fixture(scope="module")
def filled() -> Iterator[apsw.Connection]:
    db = apsw.Connection(":memory:")
    migrate.migrate(db, Path("memory"), clock=ManualClock(), random=os.urandom)
    db.execute(FILL)
    yield db
    db.close()


def _plan(db: apsw.Connection, query: str) -> list[str]:
    places = max((int(number) for number in re.findall(r"\?(\d+)", query)), default=0)
    return [row[3] for row in ask(db, f"EXPLAIN QUERY PLAN {query}", (None,) * places)]


@pytest.mark.parametrize(("file", "name"), QUERIES)
def test_no_query_walks_a_big_table_at_a_hundred_thousand_rows(filled: apsw.Connection, file: str, name: str) -> None:
    query = named(file)[name]
    walks = [step.split()[1] for step in _plan(filled, query) if step.startswith("SCAN ")]
    tables = {alias: table for table, alias in ALIAS.findall(query)}
    big = [table for table in walks if tables.get(table, table) in BIG]
    assert not big or (file, name) in WALKS_ON_PURPOSE, f"{name} walks {big}"


def test_the_plan_test_can_fail(filled: apsw.Connection) -> None:
    [step] = _plan(filled, "SELECT id FROM messages WHERE state = 'queued' AND channel_id = ?1")
    assert step.startswith("SCAN messages")


def test_the_hot_reads_go_by_their_partial_indexes(filled: apsw.Connection) -> None:
    assert "messages_live (channel_id=? AND id>?)" in _plan(filled, named("outbox")["heads"])[0]
    claim = " ".join(_plan(filled, named("outbox")["claim"]))
    for index in ("messages_partition", "messages_barrier", "messages_live", "messages_flying", "halts_channel"):
        assert index in claim
    assert "messages_flying (channel_id=?)" in " ".join(_plan(filled, named("leases")["left_behind"]))
    assert "messages_due" in " ".join(_plan(filled, named("leases")["rebase_dues"]))
    assert "messages_nacked" in _plan(filled, named("intake")["same_refusal"])[0]


@pytest.mark.parametrize("file", FILES)
def test_every_query_says_when_it_returns_nothing(file: str) -> None:
    text = files("gateway.store.sqlite").joinpath("queries", f"{file}.sql").read_text(encoding="utf-8")
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith(NAME):
            assert re.match(r"-- (Nothing: |Returns nothing|Always gives )", lines[number + 1]), line


def test_comments_are_left_out_and_a_name_is_there_once() -> None:
    found = load(
        "-- head\n\n-- name: one\n-- Nothing: never.\nSELECT 1\n-- inside\nFROM x;\n\n-- name: two\nSELECT 2;\n"
    )
    assert dict(found) == {"one": "SELECT 1\nFROM x", "two": "SELECT 2"}
    assert dict(load("-- nothing but a comment\n")) == {}
    with pytest.raises(ValueError, match="one is there twice"):
        load("-- name: one\nSELECT 1;\n-- name: one\nSELECT 2;\n")
