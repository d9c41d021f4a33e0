"""Lays out what the service layer tells for 80 columns. Decides nothing, reads nothing."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from gateway.cli.screen import Cell, Column, table
from gateway.console.hints import hint
from gateway.console.plain import clock_time, control_text, span
from gateway.console.values import ChannelStatus, Status, Waiting
from gateway.model.anomalies import NotedOddity
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
    Column(title="CHANNEL", share=3, cut=True),
    Column(title="STATE", width=9),
    Column(title="CONTROL ID", share=4, cut=True),
    Column(title="ERROR", width=17),
)

EVENT_COLUMNS = (
    Column(title="TIME (UTC)", width=19),
    Column(title="ROW", width=8, right=True),
    Column(title="EVENT", width=14),
    Column(title="BY", share=2, cut=True),
    Column(title="DETAIL", share=5),
)

ANOMALY_COLUMNS = (
    Column(title="TIME (UTC)", width=19),
    Column(title="PEER", width=16, cut=True),
    Column(title="KIND", width=17),
    Column(title="AT", width=6, right=True),
    Column(title="DETAIL", share=1),
)

_COUNT_COLUMNS = (
    Column(title="CHANNEL", share=1, cut=True),
    Column(title="ANOMALY", width=17),
    Column(title="TIMES", width=7, right=True),
    Column(title="MEANING", share=3),
)


def row_cells(row: Row) -> tuple[Cell, ...]:
    """Give one line of a listing."""
    return (
        str(row.row),
        clock_time(row.received_at),
        row.channel,
        state_text(row.state),
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


def anomaly_cells(noted: NotedOddity) -> tuple[Cell, ...]:
    """Give one line of a listing: how many bytes, which ones where they may be shown, and what that means."""
    oddity = noted.oddity
    size = "1 byte" if oddity.count == 1 else f"{oddity.count} bytes"
    shown = f" ({oddity.bytes_hex})" if oddity.bytes_hex else ""
    words = f": {hint(oddity.kind)}" if hint(oddity.kind) else ""
    return (clock_time(oddity.at), oddity.peer, oddity.kind, str(oddity.offset), f"{size}{shown}{words}")


def status_view(status: Status) -> RenderableType:
    """Give channels and upstreams at a glance."""
    channels = (
        Column(title="CHANNEL", share=3, cut=True),
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
        Column(title="LEADER", share=4, cut=True),
        Column(title="EPOCH", width=6, right=True),
        Column(title="LEASE", width=7, right=True),
    )
    parts: list[RenderableType] = [
        table(channels, (_channel_cells(each, status.at) for each in status.channels)),
        Text(),
        table(upstreams, (_lease_cells(each) for each in status.leases)),
    ]
    odd = [cells for each in status.channels for cells in _anomaly_counts(each)]
    return Group(*parts, Text(), table(_COUNT_COLUMNS, odd)) if odd else Group(*parts)


def state_text(state: State) -> Text:
    """Give a state's word in its colour."""
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


def _anomaly_counts(status: ChannelStatus) -> Iterator[tuple[Cell, ...]]:
    for kind, times in sorted(status.summary.anomalies.items()):
        yield status.summary.channel, kind, str(times), hint(kind)


def _lease_cells(lease: LeaseView) -> tuple[Cell, ...]:
    left = span(lease.expires_in) if lease.holder and lease.expires_in else ""
    return (lease.group, lease.link, lease.holder or "nobody", str(lease.epoch), left)
