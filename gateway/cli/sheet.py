"""Lays out everything about one message: facts, why, timeline, shape. Decides nothing, reads nothing."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from gateway.cli.screen import Cell, Column, table
from gateway.cli.tables import EVENT_COLUMNS, event_cells, state_text
from gateway.console.plain import control_text, iso, visible
from gateway.console.values import FieldView, Outline, Reading, Replies, Shown
from gateway.model.review import Row

_TIMELINE = tuple(column for column in EVENT_COLUMNS if column.title != "ROW")


def shown_view(shown: Shown) -> RenderableType:
    """Give one row: facts, why, answers, timeline, and the message's shape with its content masked."""
    facts = table((Column(title="", width=14), Column(title="", share=1)), _facts(shown), titled=False)
    parts: list[RenderableType] = [facts, Text(), Text(shown.reason.sentence), Text()]
    parts.append(table(_TIMELINE, (_without_row(event_cells(event)) for event in shown.events)))
    if shown.outline is None:
        parts += [Text(), Text("The message's bytes are not kept.")]
    else:
        parts += [Text(), _tree(shown.outline)]
    return Group(*parts)


def _without_row(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    return tuple(cell for cell, column in zip(cells, EVENT_COLUMNS, strict=True) if column.title != "ROW")


def _facts(shown: Shown) -> Iterable[tuple[Cell, Cell]]:
    row = shown.row
    yield "id", str(row.id)
    yield "row", f"{row.row} of channel {row.channel}"
    yield "state", state_text(row.state)
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
    yield "tries", ", ".join(_tries(row))
    yield "partition", f"{row.partition or '(whole channel)'}{'  barrier' if row.barrier else ''}"
    yield "charset", f"declared {row.declared_charset or 'none'}, {_configured(shown.reading)}, read as {row.encoding}"
    yield "flags", " ".join(row.flags) or "none"
    yield "size", f"{_count(row.size, 'byte')}, {_count(row.repeats, 'retransmit')}"
    yield "sha256", row.sha256.hex()
    yield "answer leg", row.answer_state.value
    if shown.replies is not None:
        yield from _reply_facts(shown.replies)


def _reply_facts(replies: Replies) -> Iterable[tuple[Cell, Cell]]:
    yield "commit answer", _reply(replies.commit_code, replies.commit_size or None)
    yield "server said", _reply(replies.server_code, replies.server_size, status=replies.server_status)
    yield "passed on", _reply(replies.application_code, replies.application_size)


def _reply(code: str | None, size: int | None, *, status: int | None = None) -> str:
    parts = [code] if code else []
    parts += [f"status {status}"] if status is not None else []
    parts += [_count(size, "byte")] if size is not None else []
    return ", ".join(parts) or "nothing"


def _tree(outline: Outline) -> Tree:
    tree = Tree(Text(f"message, content masked{f' ({outline.flaw})' if outline.flaw else ''}"))
    for segment in outline.segments:
        branch = tree.add(Text(f"{segment.name}  {_count(segment.length, 'character')}"))
        for field in segment.fields:
            branch.add(Text(_field(field)))
    return tree


def _field(field: FieldView) -> str:
    if field.value is not None:
        return f"{field.path}  {visible(field.value)}"
    parts = [_count(field.length, "character")]
    parts += [_count(field.repetitions, "repetition")] if field.repetitions > 1 else []
    parts += [_count(field.components, "component")] if field.components > 1 else []
    return f"{field.path}  [{', '.join(parts)}]"


def _configured(reading: Reading | None) -> str:
    if reading is None:
        return "not configured"
    if reading.fixed is not None:
        return f"configured {reading.fixed} (else {reading.fallback})"
    return f"default {reading.default} (else {reading.fallback})"


def _tries(row: Row) -> Iterator[str]:
    yield _count(row.sends, "send")
    yield _count(row.attempts, "attempt")
    yield f"generation {row.generation}"
    if row.link_losses:
        yield f"took the link down {_count(row.link_losses, 'time')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
