"""Frames of the server, as the gateway reads them: only FrameInvalid leaves, and a callback comes back as it went."""

from collections.abc import Iterable

import orjson

from gateway.errors import FrameInvalid
from gateway.model.upstream import Answer, Callback
from gateway.wire import agent
from gateway.wire.msa import is_hl7, read_msa
from gateway.wire.retry_after import LONGEST_WAIT
from tests.fuzz.metered import cost_of
from tests.fuzz.target import Choices, Target, fixed_phrase

_CALLBACK = "Agent/demo-00000000-0000-4000-8000-000000000001#1.2"
_ACK = "MSH|^~\\&|R|F|S|F|20260101120000||ACK^A01^ACK|1|P|2.5.1\rMSA|AA|M1\rERR||MSH^1^10|101^x^HL70357|E\r"
_LONG = 1 << 11


def one(data: bytes) -> None:
    """Read one frame."""
    choices = Choices(data)
    now, is_text = choices.one_of((None, 0.0, 1_767_265_200.0)), choices.number(2)
    weighs, frame = choices.number(32) == 1, choices.rest()
    text = frame.decode("utf-8", "replace")
    agent.parse_callback(text)
    if weighs:
        _weigh(text)
    try:
        found = agent.read(text if is_text else frame, now=now)
    except FrameInvalid as why:
        fixed_phrase(why.reason)
        return
    _hold(found)


def _hold(found: agent.Inbound) -> None:
    match found:
        case agent.TransmitResponse(callback=callback, answer=answer):
            _callback(callback)
            _answer(answer)
        case agent.AgentError(callback=callback):
            _callback(callback)
        case agent.ReceiptNote(callback=callback):
            _callback(callback)
        case agent.StatusResponse(results=results):
            for result in results:
                _callback(result.callback)
                if result.answer is not None:
                    _answer(result.answer)
        case agent.ConnectResponse(granted=granted):
            assert granted.dedupe_window is None or granted.dedupe_window > 0
        case agent.ServerRequest(type=name, callback=named):
            assert orjson.loads(agent.response(name, callback=named))["statusCode"] == 200
            agent.error(body="unknown", callback=named)
        case _:
            pass


def _callback(callback: Callback | None) -> None:
    if callback is not None:
        assert agent.parse_callback(agent.callback_text(callback)) == callback


def _answer(answer: Answer) -> None:
    assert answer.status is None or isinstance(answer.status, int)
    assert answer.retry_after is None or 0 <= answer.retry_after <= LONGEST_WAIT
    assert answer.begins_msh == (answer.body is not None and is_hl7(answer.body))
    assert answer.body is not None or answer.msa is None


def _weigh(text: str) -> None:
    once = _ACK + text * (_LONG // max(1, len(text)) + 1)
    costs = [cost_of(lambda data=data: read_msa(data)) for data in (once, once + once)]  # type: ignore[misc]
    assert costs[1].calls <= 2.5 * costs[0].calls + 400


def _seeds() -> Iterable[bytes]:
    frames: tuple[dict[str, object], ...] = (
        {"type": "agent:transmit:response", "callback": _CALLBACK, "statusCode": 200, "body": _ACK},
        {"type": "transmit", "callback": _CALLBACK, "statusCode": "503", "retryAfter": "120", "body": {"a": [1]}},
        {"type": "agent:transmit:response", "retryAfter": "Thu, 01 Jan 2026 12:00:00 GMT", "statusCode": 4.0},
        {"type": "agent:error", "callback": _CALLBACK, "body": "no"},
        {"type": "agent:error", "body": None},
        {"type": "gateway:receipt", "callback": _CALLBACK},
        {
            "type": "gateway:status:response",
            "results": [{"callback": _CALLBACK, "state": "done", "statusCode": 200, "body": _ACK}, 5, None],
        },
        {"type": "agent:connect:response", "extensions": ["dedupe", "status", "receipt", "?"], "dedupeWindow": 3600},
        {"type": "agent:heartbeat:request"},
        {"type": "agent:heartbeat:response"},
        {"type": "push", "callback": "x"},
        {"type": "agent:upgrade:request"},
        {"type": 5},
    )
    for place, frame in enumerate(frames):
        yield bytes([place % 3, place % 2, place % 8]) + orjson.dumps(frame)
    yield b"\0\0\0" + b"[" * 2_000
    yield b"\0\1\0[]"


TARGET = Target(
    name="upstream",
    one=one,
    seeds=_seeds,
    tokens=(
        b'"type"',
        b'"callback"',
        b'"statusCode"',
        b'"body"',
        b'"retryAfter"',
        b'"results"',
        b'"dedupeWindow"',
        b":",
        b",",
        b"{",
        b"}",
        b"[",
        b"]",
        b"null",
        b"true",
        b"-0",
        b"1e400",
        b"99999999999999999999999999",
        b"\\ud800",
        b"\\u0000",
        _CALLBACK.encode(),
        b"MSH|^~\\\\&",
        b"\\rMSA|",
        b"\\rERR|",
        b"\xff",
    ),
)
