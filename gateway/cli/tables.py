"""Lays out what the service layer tells for 80 columns. Decides nothing, reads nothing."""

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from gateway.cli.screen import Cell, Column, table
from gateway.console.plain import clock_time, control_text, iso, span, visible
from gateway.console.values import ChannelStatus, FieldView, Outline, Replies, Shown, Status, Waiting
from gateway.model.review import EventRow, LeaseView, Row
from gateway.model.states import State

_STATE_STYLES = {
    State.PROCESSED: "green",
    State.FAILED: "red",
    State.REJECTED: "red",
    State.NACKED: "yellow",
    State.DISCARDED: "dim",
}

_WORDS = {
    Waiting.NOTHING: "idle",
    Waiting.PERSON: "in review",
    Waiting.HALTED: "halted",
    Waiting.BEHIND: "behind",
    Waiting.LEADER: "no leader",
    Waiting.LINK: "link down",
    Waiting.BACKOFF: "backoff",
    Waiting.ANSWER: "in flight",
    Waiting.TURN: "ready",
    Waiting.UNDRIVEN: "no config",
}
_CALM = frozenset({Waiting.NOTHING, Waiting.ANSWER, Waiting.TURN})

ROW_COLUMNS = (
    Column(title="ROW", width=8, right=True),
    Column(title="RECEIVED (UTC)", width=19),
    Column(title="CHANNEL", share=2),
    Column(title="STATE", width=9),
    Column(title="CONTROL ID", share=3),
    Column(title="ERROR", share=3),
)

EVENT_COLUMNS = (
    Column(title="TIME (UTC)", width=19),
    Column(title="ROW", width=8, right=True),
    Column(title="EVENT", width=14),
    Column(title="BY", share=2),
    Column(title="DETAIL", share=5),
)


def row_cells(row: Row) -> tuple[Cell, ...]:
    """Give one line of a listing."""
    return (
        str(row.row),
        clock_time(row.received_at),
        row.channel,
        _state(row.state),
        control_text(row.control_id, row.encoding),
        row.error_code or "",
    )


def event_cells(event: EventRow) -> tuple[Cell, ...]:
    """Give one line of a timeline."""
    return (
        clock_time(event.at),
        str(event.row) if event.row is not None else "",
        event.kind,
        event.actor,
        ", ".join(_event_details(event)),
    )


def status_view(status: Status) -> RenderableType:
    """Give channels and upstreams at a glance."""
    channels = (
        Column(title="CHANNEL", share=3),
        Column(title="DEPTH", width=6, right=True),
        Column(title="OLDEST", width=7, right=True),
        Column(title="REVIEW", width=6, right=True),
        Column(title="STATE", width=9),
        Column(title="LAST ERROR", share=4),
        Column(title="NEXT TRY", width=8),
    )
    upstreams = (
        Column(title="UPSTREAM", share=2),
        Column(title="LINK", width=10),
        Column(title="LEADER", share=4),
        Column(title="EPOCH", width=6, right=True),
        Column(title="LEASE", width=7, right=True),
    )
    return Group(
        table(channels, (_channel_cells(each, status.at) for each in status.channels)),
        Text(),
        table(upstreams, (_lease_cells(each) for each in status.leases)),
    )


def shown_view(shown: Shown) -> RenderableType:
    """Give one row: facts, why, answers, timeline, and the message's shape with its content masked."""
    facts = table((Column(title="", width=14), Column(title="", share=1)), _facts(shown), titled=False)
    parts: list[RenderableType] = [facts, Text(), Text(shown.reason.sentence), Text()]
    parts.append(table(EVENT_COLUMNS, (event_cells(event) for event in shown.events)))
    if shown.outline is None:
        parts += [Text(), Text("The content is no longer kept (retention).")]
    else:
        parts += [Text(), _tree(shown.outline)]
    return Group(*parts)


def _state(state: State) -> Text:
    return Text(state.value, style=_STATE_STYLES.get(state, ""))


def _event_details(event: EventRow) -> Iterator[str]:
    if event.to_state is not None:
        yield f"{event.from_state} -> {event.to_state}" if event.from_state else f"-> {event.to_state}"
    if event.code is not None:
        yield event.code
    if event.reason is not None:
        yield event.reason
    if event.send is not None:
        yield f"send {event.send}"
    if event.epoch is not None:
        yield f"epoch {event.epoch}"


def _channel_cells(status: ChannelStatus, at: int) -> tuple[Cell, ...]:
    summary, reason = status.summary, status.reason
    return (
        summary.channel,
        str(summary.depth),
        span(at - summary.oldest_at) if summary.oldest_at is not None else "",
        str(summary.in_review),
        Text(_WORDS[reason.waits_for], style="" if reason.waits_for in _CALM else "yellow"),
        summary.last_error or "",
        clock_time(reason.until)[11:] if reason.until is not None else "",
    )


def _lease_cells(lease: LeaseView) -> tuple[Cell, ...]:
    left = span(lease.expires_in) if lease.holder and lease.expires_in else ""
    return (lease.group, lease.link, lease.holder or "nobody", str(lease.epoch), left)


def _facts(shown: Shown) -> Iterable[tuple[Cell, Cell]]:
    row = shown.row
    yield "id", str(row.id)
    yield "row", f"{row.row} of channel {row.channel}"
    yield "state", _state(row.state)
    yield "error", row.error_code or "none"
    yield "control id", control_text(row.control_id, row.encoding)
    yield "type", f"{row.message_type}  version {row.version or 'none'}"
    yield "sender", f"{row.sender}  from {row.remote}"
    yield "received", iso(row.received_at)
    yield "first sent", iso(row.first_sent_at) if row.first_sent_at is not None else "never"
    yield "settled", iso(row.settled_at) if row.settled_at is not None else "not yet"
    yield (
        "sequence",
        f"{row.sequence if row.sequence is not None else 'none'}  (inbound {row.inbound_sequence or 'none'})",
    )
    yield (
        "tries",
        f"{row.sends} sends, {row.attempts} attempts, generation {row.generation}, {row.link_losses} link losses",
    )
    yield "partition", f"{row.partition or '(whole channel)'}{'  barrier' if row.barrier else ''}"
    yield "charset", f"{row.encoding}  (declared {row.declared_charset or 'none'})  {' '.join(row.flags)}".rstrip()
    yield "size", f"{row.size} bytes, {row.repeats} retransmits"
    yield "sha256", row.sha256.hex()
    yield "answer", row.answer_state.value
    if shown.replies is not None:
        yield from _reply_facts(shown.replies)


def _reply_facts(replies: Replies) -> Iterable[tuple[Cell, Cell]]:
    yield "commit answer", _reply(replies.commit_code, replies.commit_size or None)
    yield "server said", _reply(replies.server_code, replies.server_size, status=replies.server_status)
    yield "passed on", _reply(replies.application_code, replies.application_size)


def _reply(code: str | None, size: int | None, *, status: int | None = None) -> str:
    parts = [code] if code else []
    parts += [f"status {status}"] if status is not None else []
    parts += [f"{size} bytes"] if size is not None else []
    return ", ".join(parts) or "nothing"


def _tree(outline: Outline) -> Tree:
    tree = Tree(Text(f"message, content masked{f' ({outline.flaw})' if outline.flaw else ''}"))
    for segment in outline.segments:
        branch = tree.add(Text(f"{segment.name}  {segment.length} characters"))
        for field in segment.fields:
            branch.add(Text(_field(field)))
    return tree


def _field(field: FieldView) -> str:
    if field.value is not None:
        return f"{field.path}  {visible(field.value)}"
    parts = [f"{field.length} characters"]
    parts += [f"{field.repetitions} repetitions"] if field.repetitions > 1 else []
    parts += [f"{field.components} components"] if field.components > 1 else []
    return f"{field.path}  [{', '.join(parts)}]"
