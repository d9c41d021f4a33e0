"""The server's side of the JSON text frames (PROTOCOL, sections 1 and 4). Knows JSON, not sockets.

Callbacks are opaque text here: a server gives them back as they came.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from gateway.errors import FrameInvalid
from gateway.model.upstream import Extension
from gateway.receiver.ledger import Knowledge
from gateway.receiver.values import Reply

CONTENT_TYPE = "x-application/hl7-v2+er7"
_ALIASES = {"connect": "agent:connect:request", "transmit": "agent:transmit:request"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectRequest:
    """A gateway presents itself; `extensions` are those of its wishes that exist."""

    agent_id: str
    token: str | None
    extensions: tuple[Extension, ...]
    epoch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransmitRequest:
    """One HL7 message."""

    callback: str
    channel: str
    remote: str
    body: str
    token: str | None
    epoch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRequest:
    """What became of these sends?"""

    callbacks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    """To be answered at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """The gateway's answer to a request of the server, or its error."""

    type: str
    callback: str | None
    body: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRequest:
    """A type this server does not know."""

    type: str
    callback: str | None


Frame = ConnectRequest | TransmitRequest | StatusRequest | HeartbeatRequest | Reaction | UnknownRequest


def read(data: bytes | str) -> Frame:
    """Read one frame of a gateway; unknown fields are ignored. Raises FrameInvalid."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise FrameInvalid(reason="not JSON") from None
    if not isinstance(found, dict):
        raise FrameInvalid(reason="not a JSON object")
    name = _need(found, "type", str)
    match _ALIASES.get(name, name):
        case "agent:connect:request":
            return _connect(found)
        case "agent:transmit:request":
            return _transmit(found)
        case "agent:heartbeat:request":
            return HeartbeatRequest()
        case "gateway:status:request":
            return StatusRequest(callbacks=tuple(_texts(found.get("callbacks"))))
        case "agent:error":
            return _reaction(found, name)
        case known if known.endswith(":response"):
            return _reaction(found, name)
        case _:
            return UnknownRequest(type=name, callback=_may(found, "callback", str))


def _connect(found: dict[str, Any]) -> ConnectRequest:
    known = {each.value: each for each in Extension}
    wishes = _texts(found.get("extensions"))
    return ConnectRequest(
        agent_id=_need(found, "agentId", str),
        token=_may(found, "accessToken", str),
        extensions=tuple(known[each] for each in wishes if each in known),
        epoch=_may(found, "epoch", int),
    )


def _transmit(found: dict[str, Any]) -> TransmitRequest:
    return TransmitRequest(
        callback=_need(found, "callback", str),
        channel=_may(found, "channel", str) or "",
        remote=_may(found, "remote", str) or "",
        body=_need(found, "body", str),
        token=_may(found, "accessToken", str),
        epoch=_may(found, "epoch", int),
    )


def _reaction(found: dict[str, Any], name: str) -> Reaction:
    return Reaction(type=name, callback=_may(found, "callback", str), body=_may(found, "body", str))


def _need(found: dict[str, Any], name: str, kind: type[T]) -> T:
    value = _may(found, name, kind)
    if value is None:
        raise FrameInvalid(reason=f"no usable {name}")
    return value


def _may(found: dict[str, Any], name: str, kind: type[T]) -> T | None:
    value = found.get(name)
    # JSON's true is no number, though Python's True is one.
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _texts(value: object) -> Sequence[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _frame(name: str, **fields: Any) -> str:
    """Write one frame; fields that are None are left out."""
    kept = {key: value for key, value in fields.items() if value is not None}
    return orjson.dumps({"type": name, **kept}).decode()


def connect_response(*, extensions: Iterable[Extension], dedupe_window: float | None) -> str:
    """Say that the link is live; a plain server names no extensions at all."""
    granted = sorted(each.value for each in extensions)
    return _frame("agent:connect:response", extensions=granted or None, dedupeWindow=dedupe_window)


def heartbeat_response(*, version: str) -> str:
    """Answer a heartbeat."""
    return _frame("agent:heartbeat:response", version=version)


def transmit_response(reply: Reply, *, callback: str, channel: str, remote: str) -> str:
    """Answer one send."""
    return _frame(
        "agent:transmit:response",
        callback=callback,
        channel=channel,
        remote=remote,
        contentType=None if reply.body is None else CONTENT_TYPE,
        statusCode=reply.status,
        retryAfter=reply.retry_after,
        body=reply.body,
    )


def error(body: str, *, callback: str | None = None) -> str:
    """Tell of trouble, with one send or with something that has no name."""
    return _frame("agent:error", body=body, callback=callback)


def receipt(callback: str) -> str:
    """Say that a message is on durable storage here."""
    return _frame("gateway:receipt", callback=callback)


def status_response(results: Iterable[tuple[str, Knowledge, Reply | None]]) -> str:
    """Say what is known of each callback."""
    lines: list[dict[str, Any]] = []
    for callback, known, reply in results:
        line: dict[str, Any] = {"callback": callback, "state": known.value}
        if reply is not None:
            line |= {"statusCode": reply.status, "body": reply.body, "retryAfter": reply.retry_after}
        lines.append({key: value for key, value in line.items() if value is not None})
    return _frame("gateway:status:response", results=lines)
