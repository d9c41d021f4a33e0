"""The upstream's frames: read with tolerance, written as the protocol has them."""

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.errors import FrameInvalid
from gateway.model.upstream import (
    Answer,
    Callback,
    ErrorAnswer,
    Extension,
    Granted,
    Known,
    Msa,
    StatusResult,
    Transmit,
)
from gateway.wire import agent
from gateway.wire.agent import (
    AgentError,
    ConnectResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    ReceiptNote,
    ServerRequest,
    StatusResponse,
    TransmitResponse,
)

ROW = UUID("018f0000-0000-8000-8000-000000000007")
CALLBACK = Callback(agent="demo-1", row=ROW, generation=0, send=3)
TEXT = f"Agent/demo-1-{ROW}#0.3"
ACK = "MSH|^~\\&|S|F|R|F|2026||ACK|9|P|2.5\rMSA|AA|77\r"


def read(*, now: float | None = None, **fields: Any) -> agent.Inbound:
    return agent.read(json.dumps(fields), now=now)


def answer(**given: Any) -> Answer:
    usual: dict[str, Any] = {"status": None, "body": None, "begins_msh": False, "msa": None, "retry_after": None}
    return Answer(**(usual | given))


# Reading.


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "JSON"), ("{", "JSON"), (b"\xff", "JSON"), ('"\\ud800"', "JSON"), ("[]", "object"), ("1", "object"),
     ("{}", "type"), ('{"type":5}', "type")],
)  # fmt: skip
def test_what_is_no_frame_is_refused_with_a_fixed_phrase(text: str | bytes, reason: str) -> None:
    with pytest.raises(FrameInvalid, match=reason):
        agent.read(text)


@pytest.mark.parametrize("name", ["agent:connect:response", "connected"])
def test_a_plain_connect_response_grants_nothing(name: str) -> None:
    assert read(type=name, extra=1) == ConnectResponse(Granted())


def test_what_the_server_grants_is_read_and_unknown_extensions_are_not() -> None:
    found = read(type="agent:connect:response", extensions=["status", "dedupe", "magic", 5], dedupeWindow=60)
    assert found == ConnectResponse(
        Granted(extensions=frozenset({Extension.STATUS, Extension.DEDUPE}), dedupe_window=60.0)
    )


@pytest.mark.parametrize("window", [0, -1, "60", True, None, []])
def test_a_window_that_is_no_promise_is_none(window: object) -> None:
    found = read(type="agent:connect:response", extensions="dedupe", dedupeWindow=window)
    assert found == ConnectResponse(Granted())


def test_heartbeats_are_read() -> None:
    assert read(type="agent:heartbeat:request") == HeartbeatRequest()
    assert read(type="agent:heartbeat:response", version="5") == HeartbeatResponse()


@pytest.mark.parametrize("name", ["agent:transmit:response", "transmit"])
def test_a_transmit_response_is_read(name: str) -> None:
    found = read(type=name, callback=TEXT, statusCode=200, body=ACK, channel="adt", remote="1.2.3.4:5")
    msa = Msa(code="AA", control_id="77", errors=())
    assert found == TransmitResponse(CALLBACK, answer(status=200, body=ACK, begins_msh=True, msa=msa))


def test_a_bare_transmit_response_is_read() -> None:
    assert read(type="agent:transmit:response", callback=TEXT) == TransmitResponse(CALLBACK, answer())


@pytest.mark.parametrize("callback", [None, "", "x", 5, TEXT + "x", [TEXT]])
def test_an_answer_with_a_foreign_callback_has_none(callback: object) -> None:
    assert read(type="agent:transmit:response", callback=callback) == TransmitResponse(None, answer())


@pytest.mark.parametrize(("status", "value"), [(200, 200), (503.0, 503), ("429", 429), (None, None), (-1, -1)])
def test_a_status_is_read_in_every_usual_form(status: object, value: int | None) -> None:
    found = read(type="agent:transmit:response", callback=TEXT, statusCode=status)
    assert found == TransmitResponse(CALLBACK, answer(status=value))


@pytest.mark.parametrize("status", [True, "ok", "", 200.5, [], {}, "20", "\uff12\uff10\uff10"])
def test_a_status_that_is_there_but_unreadable_never_counts_as_absent(status: object) -> None:
    with pytest.raises(FrameInvalid, match="statusCode"):
        read(type="agent:transmit:response", callback=TEXT, statusCode=status)


@pytest.mark.parametrize(("body", "text"), [({"a": 1}, '{"a":1}'), (5, "5"), ([], "[]"), (False, "false")])
def test_a_body_that_is_no_text_is_kept_as_evidence(body: object, text: str) -> None:
    found = read(type="agent:transmit:response", callback=TEXT, body=body, statusCode=400)
    assert found == TransmitResponse(CALLBACK, answer(status=400, body=text))


def test_the_wait_a_server_asks_for_is_read_and_bounded() -> None:
    def wait(value: object, now: float | None = None) -> float | None:
        found = read(type="agent:transmit:response", callback=TEXT, statusCode=503, retryAfter=value, now=now)
        assert isinstance(found, TransmitResponse)
        return found.answer.retry_after

    assert wait(7) == 7.0
    assert wait(7_000) == 300.0
    assert wait("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_770) == 7.0
    assert wait("Sun, 06 Nov 1994 08:49:37 GMT") is None


def test_errors_are_read_with_and_without_a_callback() -> None:
    assert read(type="agent:error", body="no", callback=TEXT) == AgentError(CALLBACK, ErrorAnswer(body="no"))
    assert read(type="agent:error", body="no") == AgentError(None, ErrorAnswer(body="no"))
    assert read(type="agent:error", callback="") == AgentError(None, ErrorAnswer(body=None))


@pytest.mark.parametrize("callback", ["Agent/other", 5, [], False])
def test_an_error_about_something_foreign_does_not_pass_for_one_about_nothing(callback: object) -> None:
    with pytest.raises(FrameInvalid, match="foreign"):
        read(type="agent:error", body="no", callback=callback)


def test_a_receipt_is_read() -> None:
    assert read(type="gateway:receipt", callback=TEXT) == ReceiptNote(CALLBACK)
    with pytest.raises(FrameInvalid, match="receipt"):
        read(type="gateway:receipt", callback="x")


def test_a_status_response_is_read_line_by_line() -> None:
    lines = [
        {"callback": TEXT, "state": "done", "statusCode": 200, "body": ACK},
        {"callback": TEXT, "state": "running", "statusCode": 200},
        {"callback": TEXT, "state": "unknown"},
        {"callback": TEXT, "state": "perhaps"},
        {"callback": TEXT, "state": "done", "statusCode": "oops"},
        {"callback": "x", "state": "unknown"},
        {"callback": TEXT},
        "unknown",
    ]
    msa = Msa(code="AA", control_id="77", errors=())
    done = answer(status=200, body=ACK, begins_msh=True, msa=msa)
    assert read(type="gateway:status:response", results=lines) == StatusResponse(
        (
            StatusResult(callback=CALLBACK, known=Known.DONE, answer=done),
            StatusResult(callback=CALLBACK, known=Known.RUNNING, answer=None),
            StatusResult(callback=CALLBACK, known=Known.UNKNOWN, answer=None),
        )
    )
    assert read(type="gateway:status:response", results={}) == StatusResponse(())


@pytest.mark.parametrize(
    "name",
    ["agent:transmit:request", "push", "agent:stats:request", "agent:logs:request", "agent:reloadconfig:request",
     "agent:upgrade:request", "agent:connect:request", "connect", "something"],
)  # fmt: skip
def test_every_other_frame_is_a_request_that_wants_an_answer(name: str) -> None:
    assert read(type=name, callback="cb-1") == ServerRequest(name, "cb-1")
    assert read(type=name, callback=5) == ServerRequest(name, None)


# Callbacks.


def test_a_callback_is_written_as_the_protocol_has_it() -> None:
    assert agent.callback_text(CALLBACK) == TEXT


@example("a\nb-#/", ROW, 0, 1)
@given(st.text(), st.uuids(), st.integers(0, 10**17), st.integers(0, 10**17))
def test_a_callback_is_read_back_as_it_was(name: str, row: UUID, generation: int, send: int) -> None:
    callback = Callback(agent=name, row=row, generation=generation, send=send)
    assert agent.parse_callback(agent.callback_text(callback)) == callback


@pytest.mark.parametrize(
    "text",
    ["", "x", f"agent/demo-{ROW}#0.1", f"Agent/demo{ROW}#0.1", f"Agent/demo-{ROW}", f"Agent/demo-{ROW}#0",
     f"Agent/demo-{ROW}#0.-1", f"Agent/demo-{ROW}#00.1", f"Agent/demo-{ROW}#0.01", f"Agent/demo-{ROW}#0.1 ",
     f"Agent/demo-{ROW}#0.1\n", f"Agent/demo-{str(ROW).upper()}#0.1", f"Agent/demo-{ROW}#0.{'9' * 19}",
     f"Agent/demo-{ROW}#\u0660.\u0661"],
)  # fmt: skip
def test_what_is_not_ours_is_no_callback(text: str) -> None:
    assert agent.parse_callback(text) is None


# Writing.


def test_a_connect_request_wishes_for_extensions_and_tells_the_epoch() -> None:
    text = agent.connect_request(agent_id="demo", token="t", extensions=list(Extension), epoch=4)
    assert json.loads(text) == {
        "type": "agent:connect:request",
        "accessToken": "t",
        "agentId": "demo",
        "extensions": ["dedupe", "status", "receipt"],
        "epoch": 4,
    }


def test_without_a_token_none_is_sent() -> None:
    text = agent.connect_request(agent_id="demo", token=None, extensions=(), epoch=0)
    assert json.loads(text) == {"type": "agent:connect:request", "agentId": "demo", "extensions": [], "epoch": 0}


def test_a_transmit_request_carries_the_message_as_it_is() -> None:
    body = 'MSH|^~\\&|Ä\u2028\x1c"\r\nPID|\U0001f600\r'
    request = Transmit(channel="adt", remote="10.0.0.1:4000", body=body, callback=CALLBACK)
    assert json.loads(agent.transmit_request(request, token="t", epoch=4)) == {
        "type": "agent:transmit:request",
        "accessToken": "t",
        "channel": "adt",
        "remote": "10.0.0.1:4000",
        "contentType": "x-application/hl7-v2+er7",
        "body": body,
        "callback": TEXT,
        "epoch": 4,
    }
    plain = json.loads(agent.transmit_request(request, token=None, epoch=None))
    assert "accessToken" not in plain
    assert "epoch" not in plain


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (agent.heartbeat_request(), {"type": "agent:heartbeat:request"}),
        (agent.heartbeat_response(version="1.0"), {"type": "agent:heartbeat:response", "version": "1.0"}),
        (agent.status_request([CALLBACK]), {"type": "gateway:status:request", "callbacks": [TEXT]}),
        (agent.error(body="no", callback="cb"), {"type": "agent:error", "body": "no", "callback": "cb"}),
        (agent.error(body="no", callback=None), {"type": "agent:error", "body": "no"}),
        (
            agent.response("agent:stats:request", callback="cb"),
            {"type": "agent:stats:response", "statusCode": 200, "callback": "cb"},
        ),
    ],
)
def test_the_small_frames_are_written_as_the_protocol_has_them(text: str, fields: dict[str, Any]) -> None:
    assert json.loads(text) == fields
    assert "\n" not in text


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(
    ["agent:transmit:response", "agent:error", "agent:connect:response", "gateway:receipt", "gateway:status:response"]
)
keys = st.sampled_from(["callback", "statusCode", "body", "retryAfter", "extensions", "dedupeWindow", "results"])


@given(names, st.dictionaries(keys, json_values | st.just(TEXT)))
def test_any_object_is_read_or_refused(name: str, fields: dict[str, Any]) -> None:
    try:
        found = read(type=name, now=0, **fields)
    except FrameInvalid:
        return
    assert not isinstance(found, ServerRequest)
