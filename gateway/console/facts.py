"""Rows, events and summaries as plain dictionaries, the shape of `--json`. Never holds content or control characters.

The first keys of a row (`id` to `sha256`) are read by outside tools and keep their names and meaning.
"""

from gateway.console.hints import hint
from gateway.console.plain import control_text, iso, visible
from gateway.console.values import ChannelStatus, Explained, FieldView, Outline, Reason, Replies, Shown, Status
from gateway.model.anomalies import NotedOddity
from gateway.model.review import EventRow, Finding, Halt, LeaseView, Row
from gateway.wire.charset import ENCODING_MISMATCH

Fact = str | int | bool | None | list["Fact"] | dict[str, "Fact"]
"""What JSON can carry."""

Facts = dict[str, Fact]


def row_facts(row: Row) -> Facts:
    """Give one row; `row` is its place in store order, times are ISO 8601 in UTC."""
    return {
        "id": str(row.id),
        "channel": visible(row.channel),
        "state": row.state.value,
        "control_id": control_text(row.control_id, row.encoding),
        "sequence": row.sequence,
        "sends": row.sends,
        "attempts": row.attempts,
        "generation": row.generation,
        "error_code": row.error_code,
        "received_at": iso(row.received_at),
        "sha256": row.sha256.hex(),
        "row": row.row,
        "size": row.size,
        "message_type": visible(row.message_type),
        "version": visible(row.version),
        "sender": visible(row.sender),
        "remote": visible(row.remote),
        "inbound_sequence": visible(row.inbound_sequence),
        "declared_charset": visible(row.declared_charset),
        "encoding": row.encoding,
        "flags": list(row.flags),
        "partition": visible(row.partition),
        "barrier": row.barrier,
        "link_losses": row.link_losses,
        "epoch": row.epoch,
        "repeats": row.repeats,
        "first_sent_at": _moment(row.first_sent_at),
        "settled_at": _moment(row.settled_at),
        "answer_state": row.answer_state.value,
    }


def event_facts(event: EventRow) -> Facts:
    """Give one event; `row` is the row's number."""
    return {
        "event": event.id,
        "at": iso(event.at),
        "kind": visible(event.kind),
        "row": event.row,
        "channel": _text(event.channel),
        "actor": visible(event.actor),
        "from": event.from_state.value if event.from_state else None,
        "to": event.to_state.value if event.to_state else None,
        "send": event.send,
        "epoch": event.epoch,
        "code": event.code,
        "reason": _text(event.reason),
    }


def anomaly_facts(noted: NotedOddity) -> Facts:
    """Give one anomaly; `count` bytes from `offset` of the connection on, `bytes` empty where they are payload."""
    oddity = noted.oddity
    return {
        "anomaly": noted.id,
        "at": iso(oddity.at),
        "channel": visible(oddity.channel),
        "kind": visible(oddity.kind),
        "peer": visible(oddity.peer),
        "offset": oddity.offset,
        "count": oddity.count,
        "bytes": oddity.bytes_hex,
        "hint": hint(oddity.kind),
    }


def finding_facts(finding: Finding) -> Facts:
    """Give one thing `verify` found."""
    return {"kind": finding.kind, "row": finding.row, "text": visible(finding.text)}


def reason_facts(reason: Reason) -> Facts:
    """Give what something waits for."""
    return {
        "waits_for": reason.waits_for.value,
        "sentence": reason.sentence,
        "behind": reason.row,
        "until": _moment(reason.until),
    }


def explained_facts(explained: Explained) -> Facts:
    """Give an answered `why`."""
    return {"channel": visible(explained.channel), "row": explained.row, **reason_facts(explained.reason)}


def status_facts(status: Status) -> Facts:
    """Give the whole gateway at a glance."""
    return {
        "at": iso(status.at),
        "channels": [_channel_facts(each, status.at) for each in status.channels],
        "upstreams": [_lease_facts(each) for each in status.leases],
    }


def shown_facts(shown: Shown) -> Facts:
    """Give everything `show` tells; field values only where the outline has them."""
    return {
        **row_facts(shown.row),
        "charset": _charset_facts(shown),
        "why": reason_facts(shown.reason),
        "events": [event_facts(each) for each in shown.events],
        "replies": _replies_facts(shown.replies) if shown.replies else None,
        "outline": _outline_facts(shown.outline) if shown.outline else None,
    }


def _channel_facts(status: ChannelStatus, at: int) -> Facts:
    summary = status.summary
    return {
        "channel": visible(summary.channel),
        "upstream": status.upstream,
        "depth": summary.depth,
        "oldest_at": _moment(summary.oldest_at),
        "oldest_age_ms": max(0, at - summary.oldest_at) if summary.oldest_at is not None else None,
        "head": summary.head,
        "head_state": summary.head_state.value if summary.head_state else None,
        "head_attempts": summary.head_attempts,
        "next_try_at": _moment(status.reason.until),
        "last_error": summary.last_error,
        "last_sequence": summary.last_sequence,
        "in_review": summary.in_review,
        "counts": {state.value: count for state, count in summary.counts.items()},
        "halts": [_halt_facts(each) for each in summary.halted],
        "anomalies": dict(summary.anomalies),
        "why": reason_facts(status.reason),
    }


def _charset_facts(shown: Shown) -> Facts:
    """Give what MSH-18 said, what the channel is set to today, and what the bytes were really read by."""
    row, reading = shown.row, shown.reading
    return {
        "declared": visible(row.declared_charset),
        "configured": reading.fixed if reading else None,
        "default": reading.default if reading else None,
        "fallback": reading.fallback if reading else None,
        "observed": row.encoding,
        "mismatch": ENCODING_MISMATCH in row.flags,
    }


def _halt_facts(halt: Halt) -> Facts:
    return {
        "partition": _text(halt.partition),
        "row": halt.row,
        "who": visible(halt.who),
        "why": visible(halt.why),
        "since": iso(halt.since),
    }


def _lease_facts(lease: LeaseView) -> Facts:
    return {
        "upstream": visible(lease.group),
        "holder": _text(lease.holder),
        "epoch": lease.epoch,
        "expires_in_ms": lease.expires_in,
        "link": visible(lease.link),
    }


def _replies_facts(replies: Replies) -> Facts:
    return {
        "commit_code": replies.commit_code,
        "commit_size": replies.commit_size,
        "application_code": replies.application_code,
        "application_size": replies.application_size,
        "server_status": replies.server_status,
        "server_code": replies.server_code,
        "server_size": replies.server_size,
    }


def _outline_facts(outline: Outline) -> Facts:
    return {
        "flaw": outline.flaw,
        "segments": [
            {"name": each.name, "length": each.length, "fields": [_field_facts(one) for one in each.fields]}
            for each in outline.segments
        ],
    }


def _field_facts(field: FieldView) -> Facts:
    return {
        "path": field.path,
        "length": field.length,
        "repetitions": field.repetitions,
        "components": field.components,
        "value": field.value,
    }


def _moment(at: int | None) -> str | None:
    return iso(at) if at is not None else None


def _text(text: str | None) -> str | None:
    return visible(text) if text is not None else None
