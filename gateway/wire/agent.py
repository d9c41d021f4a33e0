"""The upstream's JSON text frames, both ways (PROTOCOL, sections 1 and 4). Knows JSON, not sockets."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.model.upstream import Answer, Callback, ErrorAnswer, Extension, Granted, StatusResult, Transmit


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


def read(text: str | bytes) -> Inbound:
    """Read one frame of the server; legacy type names are aliases, unknown fields ignored. Raises FrameInvalid."""


def callback_text(callback: Callback) -> str:
    """`Agent/<agentId>-<row uuid>#<generation>.<send>`."""


def parse_callback(text: str) -> Callback | None:
    """Read a callback back; None when it is not one of ours."""


def connect_request(*, agent_id: str, token: str | None, extensions: Sequence[Extension], epoch: int) -> str: ...
def heartbeat_request() -> str: ...
def heartbeat_response(*, version: str) -> str: ...
def transmit_request(request: Transmit, *, token: str | None, epoch: int | None) -> str: ...
def status_request(callbacks: Sequence[Callback]) -> str: ...
def error(*, body: str, callback: str | None) -> str: ...
def response(type: str, *, callback: str | None) -> str:
    """`<type without :request>:response`, statusCode 200."""
