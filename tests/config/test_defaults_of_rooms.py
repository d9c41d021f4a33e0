"""A default that the file and a room both have is one and the same."""

from pathlib import Path

from gateway.listener.options import ChannelOptions, Patience
from gateway.model.ids import ChannelName
from tests.config.files import MINIMAL, loaded


def test_a_listener_and_the_file_have_the_same_defaults(tmp_path: Path) -> None:
    channel = loaded(tmp_path, MINIMAL).channel[0]
    options = ChannelOptions(name=ChannelName("adt"))
    assert channel.dedupe.key == options.dedupe_key
    assert set(channel.order_barrier) == options.order_barrier
    assert len(channel.order_barrier) == len(options.order_barrier)
    limits = ("max_message_bytes", "max_connections", "max_connections_per_address", "max_pipelined", "rate_limit")
    for key in ("framing", *limits, "require_control_id"):
        assert getattr(channel, key) == getattr(options, key), key
    for key in ("encoding", "default_encoding", "fallback_encoding"):
        assert getattr(channel, key) == getattr(options, key), key
    for key in ("mode", "deadline", "on_deadline", "unavailable"):
        assert getattr(channel.ack, key) == getattr(options.ack, key), key
    assert channel.dedupe.on_collision is options.on_collision
    assert Patience(frame=channel.frame_timeout, idle=channel.idle_timeout) == Patience()
