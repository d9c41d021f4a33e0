"""The upstream's JSON text frames, both ways (PROTOCOL, sections 1 and 4). Knows JSON, not sockets."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from gateway.errors import FrameInvalid
from gateway.model.upstream import (
    Answer,
    Callback,
    ErrorAnswer,
    Extension,
    Granted,
    Known,
    StatusResult,
    Transmit,
)
from gateway.wire.msa import is_hl7, read_msa
from gateway.wire.retry_after import retry_after

CONTENT_TYPE = "x-application/hl7-v2+er7"


@dataclass(frozen=True, slots=True)
class ConnectResponse:
    """The link is live; what the server granted."""

    granted: Granted


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    """To be answered at once."""


@dataclass(frozen=True, slots=True)
class HeartbeatResponse:
    """The server lives."""


@dataclass(frozen=True, slots=True)
class TransmitResponse:
    """The answer to one send; `callback` None: unparseable, to be dropped and counted."""

    callback: Callback | None
    answer: Answer


@dataclass(frozen=True, slots=True)
class AgentError:
    """`agent:error`; `callback` None: it names no send."""

    callback: Callback | None
    error: ErrorAnswer


@dataclass(frozen=True, slots=True)
class ReceiptNote:
    """`gateway:receipt`: durable at the server."""

    callback: Callback


@dataclass(frozen=True, slots=True)
class StatusResponse:
    """Answer to a status request."""

    results: tuple[StatusResult, ...]


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request of the server that wants an answer (push, stats, logs, reloadconfig, upgrade, unknown).

    `callback` is its text as sent, or None.
    """

    type: str
    callback: str | None


Inbound = (
    ConnectResponse
    | HeartbeatRequest
    | HeartbeatResponse
    | TransmitResponse
    | AgentError
    | ReceiptNote
    | StatusResponse
    | ServerRequest
)

_ALIASES = {
    "connected": "agent:connect:response",
    "transmit": "agent:transmit:response",
    "push": "agent:transmit:request",
}
_CALLBACK = re.compile(
    r"Agent/(.*)-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
    r"#(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})",
    re.DOTALL,
)


def read(text: str | bytes, *, now: float | None = None) -> Inbound:
    """Read one frame of the server; legacy type names are aliases, unknown fields ignored. Raises FrameInvalid.

    `now` (Unix seconds) is what a `retryAfter` date is counted from; without it a date is read as absent.
    """
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise FrameInvalid(reason="not JSON") from None
    if not isinstance(found, dict):
        raise FrameInvalid(reason="not a JSON object")
    name = found.get("type")
    if not isinstance(name, str):
        raise FrameInvalid(reason="no type")
    return _frame(_ALIASES.get(name, name), found, name=name, now=now)


def _frame(known_as: str, found: dict[str, Any], *, name: str, now: float | None) -> Inbound:
    callback = found.get("callback")
    match known_as:
        case "agent:transmit:response":
            return TransmitResponse(_callback(callback), _answer(found, now=now))
        case "agent:heartbeat:request":
            return HeartbeatRequest()
        case "agent:heartbeat:response":
            return HeartbeatResponse()
        case "agent:connect:response":
            return ConnectResponse(_granted(found))
        case "agent:error":
            return _error(callback, found)
        case "gateway:receipt":
            return _receipt(callback)
        case "gateway:status:response":
            return StatusResponse(tuple(_results(found.get("results"), now=now)))
        case _:
            return ServerRequest(name, callback if isinstance(callback, str) else None)


def _callback(value: object) -> Callback | None:
    return parse_callback(value) if isinstance(value, str) else None


def _error(callback: object, found: dict[str, Any]) -> AgentError:
    # An error that names something, though nothing of ours, must not pass for one that names nothing: that one is
    # attributed to the only send in the air.
    named = _callback(callback)
    if named is None and callback not in (None, ""):
        raise FrameInvalid(reason="an error with a foreign callback")
    return AgentError(named, ErrorAnswer(body=_text(found.get("body"))))


def _receipt(callback: object) -> ReceiptNote:
    if (named := _callback(callback)) is None:
        raise FrameInvalid(reason="a receipt without a usable callback")
    return ReceiptNote(named)


def _granted(found: dict[str, Any]) -> Granted:
    names = found.get("extensions")
    listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return Granted(
        extensions=frozenset(extension for extension in Extension if extension in listed),
        dedupe_window=_window(found.get("dedupeWindow")),
    )


def _window(value: object) -> float | None:
    """Read a promise in seconds; one that is not above zero and finite is none."""
    is_promise = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
    return float(value) if is_promise else None  # type: ignore[arg-type]  # is_promise has looked at its type


def _answer(found: dict[str, Any], *, now: float | None) -> Answer:
    body = _text(found.get("body"))
    return Answer(
        status=_status(found.get("statusCode")),
        body=body,
        begins_msh=body is not None and is_hl7(body),
        msa=None if body is None else read_msa(body),
        retry_after=retry_after(found.get("retryAfter"), now=now),
    )


def _status(value: object) -> int | None:
    """Read a status; one that is there but unreadable must not pass for an absent one, which counts as 200."""
    match value:
        case None:
            return None
        case bool():
            pass
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str() if value.isascii() and value.isdigit() and len(value) == 3:
            return int(value)
        case _:
            pass
    raise FrameInvalid(reason="an unreadable statusCode")


def _text(value: object) -> str | None:
    """Give a body as text; one that is no text is kept as its JSON, as evidence."""
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value).decode()


def _results(value: object, *, now: float | None) -> Iterator[StatusResult]:
    """Give the readable lines; what cannot be read says nothing about its row."""
    for line in value if isinstance(value, list) else ():
        if not isinstance(line, dict) or (callback := _callback(line.get("callback"))) is None:
            continue
        known = next((state for state in Known if state == line.get("state")), None)
        try:
            if known is not None:
                answer = _answer(line, now=now) if known is Known.DONE else None
                yield StatusResult(callback=callback, known=known, answer=answer)
        except FrameInvalid:
            continue


def callback_text(callback: Callback) -> str:
    """`Agent/<agentId>-<row uuid>#<generation>.<send>`."""
    return f"Agent/{callback.agent}-{callback.row}#{callback.generation}.{callback.send}"


def parse_callback(text: str) -> Callback | None:
    """Read a callback back; None when it is not one of ours."""
    if (found := _CALLBACK.fullmatch(text)) is None:
        return None
    agent, row, generation, send = found.groups()
    return Callback(agent=agent, row=UUID(row), generation=int(generation), send=int(send))


def connect_request(*, agent_id: str, token: str | None, extensions: Sequence[Extension], epoch: int) -> str:
    """Ask to be let in; `extensions` are wished for, `epoch` lets a server refuse a stale leader."""
    return _written(
        "agent:connect:request",
        accessToken=token,
        agentId=agent_id,
        extensions=[extension.value for extension in extensions],
        epoch=epoch,
    )


def heartbeat_request() -> str:
    """Ask whether the server lives."""
    return _written("agent:heartbeat:request")


def heartbeat_response(*, version: str) -> str:
    """Answer the server's heartbeat."""
    return _written("agent:heartbeat:response", version=version)


def transmit_request(request: Transmit, *, token: str | None, epoch: int | None) -> str:
    """Write one HL7 message for the server."""
    return _written(
        "agent:transmit:request",
        accessToken=token,
        channel=request.channel,
        remote=request.remote,
        contentType=CONTENT_TYPE,
        body=request.body,
        callback=callback_text(request.callback),
        epoch=epoch,
    )


def status_request(callbacks: Sequence[Callback]) -> str:
    """Ask what became of these sends."""
    return _written("gateway:status:request", callbacks=[callback_text(callback) for callback in callbacks])


def error(*, body: str, callback: str | None) -> str:
    """Say that a request of the server cannot be done."""
    return _written("agent:error", body=body, callback=callback)


def response(type: str, *, callback: str | None) -> str:  # noqa: A002  # the word of the protocol
    """`<type without :request>:response`, statusCode 200."""
    return _written(f"{type.removesuffix(':request')}:response", statusCode=200, callback=callback)


def _written(name: str, **fields: Any) -> str:
    """Write one frame; fields that are None are left out."""
    return orjson.dumps({"type": name, **{key: value for key, value in fields.items() if value is not None}}).decode()
