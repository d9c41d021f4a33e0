from pathlib import Path
from typing import Any

import pytest

from gateway.errors import OperatorError
from gateway.receiver.script import CloseAt, ErrorKind, Fault, load, parse


def test_every_member_is_read(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(
        '{"A": {"delay": 1.5, "silence": true, "ack": "AE", "statusCode": 429, "retryAfter": "Wed, 21 Oct 2026 07:28:00'
        ' GMT", "close": "after-storing", "closeCode": 1011, "answers": 2, "msa2": "X", "error": "bare"}}'
    )
    assert load(path).next("A") == Fault(
        delay=1.5,
        silence=True,
        ack="AE",
        status=429,
        retry_after="Wed, 21 Oct 2026 07:28:00 GMT",
        close=CloseAt.AFTER_STORING,
        close_code=1011,
        answers=2,
        msa2="X",
        error=ErrorKind.BARE,
    )


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ([], "one JSON object"),
        ({"A": 3}, "A: a fault"),
        ({"A": [3]}, "A: a fault"),
        ({"A": {"dealy": 1}}, "dealy"),
        ({"A": {"delay": -1}}, "delay"),
        ({"A": {"delay": True}}, "delay"),
        ({"A": {"silence": 1}}, "silence"),
        ({"A": {"ack": "XX"}}, "ack"),
        ({"A": {"ack": ["AE"]}}, "ack"),
        ({"A": {"statusCode": 99}}, "statusCode"),
        ({"A": {"statusCode": True}}, "statusCode"),
        ({"A": {"close": "soon"}}, "close"),
        ({"A": {"closeCode": 5000}}, "closeCode"),
        ({"A": {"answers": 0}}, "answers"),
        ({"A": {"msa2": 1}}, "msa2"),
        ({"A": {"error": "x"}}, "error"),
    ],
)
def test_a_mistake_is_named(script: Any, named: str) -> None:
    with pytest.raises(OperatorError, match=named):
        parse(script)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="nowhere"):
        load(tmp_path / "nowhere")
    (tmp_path / "broken").write_text("{")
    with pytest.raises(OperatorError, match="not JSON, line 1"):
        load(tmp_path / "broken")
