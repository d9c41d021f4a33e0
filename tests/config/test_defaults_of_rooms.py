"""A default that the file and a room both have is one and the same."""

from pathlib import Path

from gateway.app.translate import channel_options
from gateway.listener.options import ChannelOptions, Patience
from gateway.model.ids import ChannelName
from gateway.model.policy import OnCollision, OnFailedRetransmit
from tests.config.files import MINIMAL, loaded, minimal


def test_a_listener_and_the_file_have_the_same_defaults(tmp_path: Path) -> None:
    channel = loaded(tmp_path, MINIMAL).channel[0]
    options = ChannelOptions(name=ChannelName("adt"))
    assert channel.dedupe.key == options.dedupe_key
    assert channel.dedupe.window * 1_000 == options.dedupe_window
    assert channel.dedupe.on_collision == options.on_collision
    assert channel.dedupe.on_failed_retransmit == options.on_failed_retransmit
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


def test_what_the_file_says_of_repeats_reaches_its_own_listener_alone(tmp_path: Path) -> None:
    one = 'dedupe = { window = 60, on_collision = "accept", on_failed_retransmit = "requeue" }'
    other = '[[channel]]\nname = "lab"\nlisten = "127.0.0.1:2576"\nupstream = "main"\ndedupe = { window = 7200 }'
    adt, lab = (channel_options(each) for each in loaded(tmp_path, minimal(channel=one, after=other)).channel)
    assert (adt.dedupe_window, lab.dedupe_window) == (60_000, 7_200_000)
    assert (adt.on_collision, adt.on_failed_retransmit) == (OnCollision.ACCEPT, OnFailedRetransmit.REQUEUE)
    assert (lab.on_collision, lab.on_failed_retransmit) == (OnCollision.REJECT, OnFailedRetransmit.KEEP)
