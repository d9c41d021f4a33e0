from gateway.console.facts import anomaly_facts
from gateway.console.hints import hint
from gateway.listener.reading import LEADING
from gateway.listener.reception import WIDE
from gateway.model.anomalies import NotedOddity, Oddity
from gateway.model.ids import ChannelName
from gateway.wire.frames import AnomalyKind


def test_every_kind_that_can_be_noted_has_words_and_others_have_none() -> None:
    assert [kind for kind in (*AnomalyKind, LEADING, WIDE) if not hint(kind)] == []
    assert hint("never-heard-of") == ""


def test_wrong_protocols_are_named_with_what_to_do() -> None:
    assert "TLS" in hint(AnomalyKind.LOOKS_LIKE_TLS)
    assert "[channel.tls]" in hint(AnomalyKind.LOOKS_LIKE_TLS)
    assert "HTTP" in hint(AnomalyKind.LOOKS_LIKE_HTTP)
    assert "UTF-8" in hint(WIDE)


def test_an_anomaly_tells_what_where_and_who_without_control_characters() -> None:
    oddity = Oddity(
        channel=ChannelName("adt"), at=1_000, peer="10.0.0.1:5\x1b", kind="bom", offset=7, count=3, bytes_hex="efbbbf"
    )
    assert anomaly_facts(NotedOddity(id=4, oddity=oddity)) == {
        "anomaly": 4,
        "at": "1970-01-01T00:00:01.000Z",
        "channel": "adt",
        "kind": "bom",
        "peer": "10.0.0.1:5\\x1b",
        "offset": 7,
        "count": 3,
        "bytes": "efbbbf",
        "hint": hint("bom"),
    }
