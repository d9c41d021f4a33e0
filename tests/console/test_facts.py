"""The shape of `--json`: names and meanings outside tools rely on."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from gateway.console import facts
from gateway.console.values import (
    ChannelStatus,
    Explained,
    Outline,
    Reason,
    Replies,
    SegmentView,
    Shown,
    Status,
    Waiting,
)
from gateway.model.clock import Due
from gateway.model.ids import ChannelName, RowId
from gateway.model.review import Finding
from gateway.model.states import State
from tests.console.rows import ADT, AT, event, halt, lease, public, row, summary

READY = Reason(waits_for=Waiting.TURN, sentence="Nothing is in its way: it is sent next.")


def test_a_row_begins_with_the_keys_outside_tools_rely_on() -> None:
    found = facts.row_facts(row(error_code="interrupted", sends=3, attempts=2, generation=1))
    assert list(found.items())[:12] == [
        ("id", str(public(7))),
        ("channel", "adt"),
        ("state", "queued"),
        ("control_id", "MSG00007"),
        ("sequence", 7),
        ("sends", 3),
        ("attempts", 2),
        ("generation", 1),
        ("error_code", "interrupted"),
        ("received_at", "2026-01-01T12:00:00.123Z"),
        ("sha256", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"),
        ("row", 7),
    ]


def test_what_is_absent_is_null() -> None:
    found = facts.row_facts(row(sequence=None))
    absent = ("sequence", "error_code", "first_sent_at", "settled_at", "epoch")
    assert all(found[key] is None for key in absent)


@given(st.text(alphabet=st.characters(codec=None)), st.binary(max_size=30))
def test_no_control_character_reaches_json(text: str, control_id: bytes) -> None:
    wild = row(
        control_id=control_id,
        sender=text,
        message_type=text,
        version=text,
        inbound_sequence=text,
        declared_charset=text,
        partition=text,
        remote=text,
    )
    line = orjson.dumps(facts.row_facts(wild)).decode()
    assert line.isprintable() or not {"\x1b", "\x9b", "\x7f", "\n"} & set(line)
    line = orjson.dumps(facts.event_facts(event(actor=text, reason=text, kind=text))).decode()
    assert not {"\x1b", "\x9b", "\x7f", "\n"} & set(line)


def test_an_event_says_who_moved_what_from_where_to_where() -> None:
    found = facts.event_facts(event(from_state=State.FAILED, actor="anna", kind="requeued", reason="fixed", code="x"))
    assert found == {
        "event": 1,
        "at": "2026-01-01T12:00:00.123Z",
        "kind": "requeued",
        "row": 7,
        "channel": "adt",
        "actor": "anna",
        "from": "failed",
        "to": "queued",
        "send": None,
        "epoch": None,
        "code": "x",
        "reason": "fixed",
    }
    bare = facts.event_facts(event(channel=None, row=None, to_state=None))
    assert (bare["channel"], bare["row"], bare["to"]) == (None, None, None)


def test_a_finding_names_kind_row_and_sentence() -> None:
    found = facts.finding_facts(Finding(kind="hash", row=RowId(7), text="bytes do not match"))
    assert found == {"kind": "hash", "row": 7, "text": "bytes do not match"}


def test_status_tells_each_channel_with_its_reason_and_each_upstream() -> None:
    backoff = Reason(waits_for=Waiting.BACKOFF, sentence="x", row=RowId(7), until=AT + 5_000)
    channel = ChannelStatus(
        summary=summary(halted=(halt(),), last_error="server-error", head_due=Due(boot_id="b", ms=1), head_attempts=2),
        upstream="main",
        reason=backoff,
    )
    found = facts.status_facts(Status(at=AT + 61_000, channels=(channel,), leases=(lease(),)))
    assert found == {
        "at": "2026-01-01T12:01:01.123Z",
        "channels": [
            {
                "channel": "adt",
                "upstream": "main",
                "depth": 1,
                "oldest_at": "2026-01-01T12:00:00.123Z",
                "oldest_age_ms": 61_000,
                "head": 7,
                "head_state": "queued",
                "head_attempts": 2,
                "next_try_at": "2026-01-01T12:00:05.123Z",
                "last_error": "server-error",
                "last_sequence": 7,
                "in_review": 0,
                "counts": {"queued": 1},
                "halts": [
                    {
                        "partition": None,
                        "row": None,
                        "who": "anna",
                        "why": "maintenance",
                        "since": "2026-01-01T12:00:00.123Z",
                    }
                ],
                "anomalies": {},
                "why": {
                    "waits_for": "backoff",
                    "sentence": "x",
                    "behind": 7,
                    "until": "2026-01-01T12:00:05.123Z",
                },
            }
        ],
        "upstreams": [{"upstream": "main", "holder": "gw-a:42", "epoch": 3, "expires_in_ms": 12_000, "link": "live"}],
    }


def test_a_clock_set_back_does_not_make_ages_negative() -> None:
    channel = ChannelStatus(summary=summary(), upstream=None, reason=READY)
    found = facts.status_facts(Status(at=AT - 5_000, channels=(channel,), leases=()))
    assert orjson.loads(orjson.dumps(found))["channels"][0]["oldest_age_ms"] == 0


def test_an_empty_channel_has_no_age_and_no_head() -> None:
    empty = summary(oldest_at=None, head=None, head_state=None)
    found = facts.status_facts(
        Status(at=AT, channels=(ChannelStatus(summary=empty, upstream=None, reason=READY),), leases=())
    )
    channel = orjson.loads(orjson.dumps(found))["channels"][0]
    assert (channel["oldest_at"], channel["oldest_age_ms"], channel["head_state"]) == (None, None, None)


def test_an_answered_why_names_its_subject() -> None:
    found = facts.explained_facts(Explained(channel=ChannelName("adt"), row=None, reason=READY))
    assert found == {
        "channel": "adt",
        "row": None,
        "waits_for": "turn",
        "sentence": READY.sentence,
        "behind": None,
        "until": None,
    }


def test_show_tells_the_row_its_events_answers_and_outline() -> None:
    replies = Replies(
        commit_code="AA",
        commit_size=90,
        application_code=None,
        application_size=None,
        server_status=200,
        server_code="AA",
        server_size=80,
    )
    shape = Outline(segments=(SegmentView(name="PID", length=5, fields=()),))
    shown = Shown(row=row(), reason=READY, events=(event(),), replies=replies, outline=shape)
    found = facts.shown_facts(shown)
    assert found["id"] == str(public(7))
    assert found["replies"] == {
        "commit_code": "AA",
        "commit_size": 90,
        "application_code": None,
        "application_size": None,
        "server_status": 200,
        "server_code": "AA",
        "server_size": 80,
    }
    assert found["outline"] == {"flaw": None, "segments": [{"name": "PID", "length": 5, "fields": []}]}
    assert found["events"] == [facts.event_facts(event())]
    gone = facts.shown_facts(Shown(row=row(), reason=READY, events=(), replies=None, outline=None))
    assert (gone["replies"], gone["outline"]) == (None, None)


def test_the_words_of_json_are_those_of_the_database() -> None:
    assert {facts.row_facts(row(state=state))["state"] for state in State} == {state.value for state in State}
    assert facts.row_facts(row(channel=ADT))["answer_state"] == "not_owed"
