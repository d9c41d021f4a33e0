"""One connection: bytes in, answers out. Decides when to read and how to end, and nothing about messages."""

import asyncio

from gateway.listener.door import Door, peer_of, tune
from gateway.listener.intake import FrameIntake
from gateway.listener.options import ChannelOptions
from gateway.listener.outgoing import Outgoing
from gateway.listener.premises import SMALL, Premises
from gateway.listener.rate import Rate
from gateway.listener.reception import Reception
from gateway.listener.slots import Peer, peer_at
from gateway.listener.trace import Trace
from gateway.listener.watch import Alarms, Watch
from gateway.ports.observe import Observer
from gateway.wire.mllp import AnomalyKind, Decoder, Item

_AT_ONCE = frozenset({AnomalyKind.LOOKS_LIKE_TLS, AnomalyKind.LOOKS_LIKE_HTTP, AnomalyKind.TRUNCATED})
"""Reasons after which nobody reads an answer, or nothing more comes."""


class Session(asyncio.Protocol):
    """Speaks MLLP with one peer. Made for each connection by the listener's server."""

    __slots__ = (
        "_below",
        "_decoder",
        "_door",
        "_has_ended",
        "_intake",
        "_is_busy",
        "_is_draining",
        "_is_finished",
        "_is_heard",
        "_is_paused",
        "_is_secure",
        "_last_call",
        "_loop",
        "_observer",
        "_options",
        "_outgoing",
        "_pause",
        "_rate",
        "_reason",
        "_reception",
        "_share",
        "_trace",
        "_transport",
        "_watch",
        "number",
        "peer",
    )

    _transport: asyncio.Transport
    _below: asyncio.Transport
    _outgoing: Outgoing
    _reception: Reception
    _watch: Watch

    def __init__(
        self,
        options: ChannelOptions,
        *,
        intake: FrameIntake,
        observer: Observer,
        rate: Rate,
        door: Door,
        premises: Premises,
        trace: Trace,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.number = 0
        self.peer = peer_at("", 0)
        self._options = options
        self._intake = intake
        self._observer = observer
        self._rate = rate
        self._door = door
        self._trace = trace
        self._loop = loop
        self._share = premises.share(squeezed=self._steer, eased=self._eased)
        self._decoder = Decoder(framing=options.framing, max_message_bytes=options.max_message_bytes)
        self._is_heard = False
        self._is_paused = False
        self._is_secure = False
        self._is_draining = False
        self._is_busy = False
        self._has_ended = False
        self._is_finished = False
        self._reason: str | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._last_call: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        """True while answers can still be written."""
        return not self._is_finished and not self._transport.is_closing()

    def push(self, answer: bytes) -> bool:
        """Write an answer that belongs to no frame in line; False if the connection cannot take it any more."""
        return self.is_open and self._outgoing.push(answer)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, or close at once whom the door turns away."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # what a stream server makes
        self._transport = transport
        self.peer = peer_of(transport)
        admitted = self._door.admit(self)
        if isinstance(admitted, str):
            self._is_finished = True
            self._observer.event("turned-away", channel=self._options.name, peer=self.peer.host, reason=admitted)
            transport.close()
            return
        tune(transport)
        self.number = admitted
        self._begin()

    def secured(self, transport: asyncio.Transport, *, below: asyncio.Transport, number: int, peer: Peer) -> None:
        """Begin on a connection that was let in before and has TLS now, over the transport `below`."""
        self._transport = transport
        self._is_secure = True
        self._below = below
        self.number = number
        self.peer = peer
        self._begin()

    def data_received(self, data: bytes) -> None:
        """Take bytes of the peer."""
        if self._is_finished:
            return
        self._is_heard = True
        items = self._decoder.feed(data)
        self._trace.saw(data, items)
        self._watch.bytes_came(len(data))
        if items:
            if self._share.is_overflowing:
                self._reception.lose_patience()
            self._reception.take(items)
        self._go_on()
        if self._share.is_overflowing and self._share.growing > SMALL:
            self._crowd_out()

    def eof_received(self) -> bool:
        """Note that the peer sends no more; it may still read, so its answers go out before the end."""
        self._has_ended = True
        if self._is_finished:
            return False
        self._watch.close()
        self._last(self._decoder.end())
        if self._is_secure:
            # A TLS connection ends in both directions at once, so that no answer of it can leave any more.
            self._finish(None, lingers=False)
            return False
        self._go_on()
        return True

    def pause_writing(self) -> None:
        """Hold answers back while the peer does not read them."""
        if not self._is_finished:
            self._outgoing.block()

    def resume_writing(self) -> None:
        """Go on answering."""
        if not self._is_finished:
            self._outgoing.unblock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop what is left; committed rows stay, and a retransmit gets their answers."""
        if not self.number:
            return
        self._is_finished = True
        self._watch.close()
        for timer in (self._pause, self._last_call):
            if timer is not None:
                timer.cancel()
        self._reception.close()
        left = self._decoder.end()
        self._trace.end(left)
        self._reception.note_lost(left)
        self._outgoing.drop()
        self._share.release()
        self._intake.forget(self)
        self._door.lost(self)
        reason = self._reason or ("reset" if exc else "peer" if self._is_heard else "probe")
        self._observer.event("disconnected", channel=self._options.name, reason=reason, frames=self._reception.frames)

    def drain(self) -> None:
        """Answer what was read, then close between frames."""
        self._is_draining = True
        self._is_busy = self._is_paused or len(self._outgoing.slots) > 0
        self._go_on()

    def abort(self) -> None:
        """Close now, whatever is unanswered."""
        self._reason = self._reason or "stopping"
        self._transport.abort()

    def _begin(self) -> None:
        patience = self._options.patience
        self._trace.number, self._trace.peer = self.number, self.peer.text
        self._outgoing = Outgoing(
            self._transport,
            self._loop,
            backlog=self._backlog if self._is_secure else self._transport.get_write_buffer_size,
            patience=patience.write,
            flushed=self._flushed,
            stuck=self._give_up_on_reader,
        )
        self._reception = Reception(
            self._options,
            intake=self._intake,
            observer=self._observer,
            rate=self._rate,
            outgoing=self._outgoing,
            line=self,
            loop=self._loop,
            changed=self._go_on,
        )
        alarms = Alarms(silent=self._end_frame, stalled=self._give_up_frame, idle=self._end_idle)
        self._watch = Watch(self._loop, patience, self._decoder, alarms=alarms, is_quiet=self._is_quiet)
        self._observer.event("connected", channel=self._options.name, connections=len(self._door))

    def _go_on(self) -> None:
        if self._is_finished:
            return
        self._share.hold(self._decoder.frame_size + self._reception.held, self._outgoing.held)
        if self._is_calm and self._has_room:
            return
        self._steer()
        if self._is_quiet():
            self._rest()

    def _steer(self) -> None:
        """Read while there is room; stop at most `patience.pause` seconds at a time for want of it."""
        if self._is_finished or self._has_ended:
            return
        has_room = self._has_room
        wanted = has_room and (not self._is_draining or self._decoder.in_frame)
        if wanted and self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
            self._watch.run()
        elif not wanted and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
            self._watch.stop()
        if has_room and self._pause is not None:
            self._pause.cancel()
            self._pause = None
        elif not has_room and self._pause is None and self._reception.ending is None:
            self._pause = self._loop.call_later(self._options.patience.pause, self._lose_patience)

    def _rest(self) -> None:
        """End the connection if nothing is owed and there is a reason to."""
        ending = self._reception.ending
        if ending is not None:
            self._finish(ending.value, lingers=ending not in _AT_ONCE)
        elif self._has_ended:
            self._finish(None, lingers=False)
        elif self._is_draining and not self._decoder.in_frame:
            self._finish("stopping", lingers=self._is_busy)

    def _finish(self, reason: str | None, *, lingers: bool) -> None:
        """Close; a peer that may still be writing gets its answers first, since unread bytes would reset them away."""
        self._is_finished = True
        self._reason = self._reason or reason
        self._watch.close()
        self._reception.close()
        self._outgoing.drop()
        self._share.release()
        patience = self._options.patience
        if not lingers or self._has_ended:
            self._close()
            return
        if self._is_paused:
            self._transport.resume_reading()
        if self._transport.can_write_eof():
            self._transport.write_eof()
            self._last_call = self._loop.call_later(patience.linger, self._transport.abort)
        else:
            # TLS cannot say that nothing more comes and go on reading, so the peer gets its answer first.
            self._last_call = self._loop.call_later(patience.linger, self._close)

    def _close(self) -> None:
        self._transport.close()
        self._last_call = self._loop.call_later(self._options.patience.write, self._transport.abort)

    @property
    def _has_room(self) -> bool:
        return self._reception.has_room and self._share.may_grow

    @property
    def _is_calm(self) -> bool:
        """True when nothing but want of room could change what is to be done next."""
        return not (self._is_paused or self._is_draining or self._has_ended or self._is_finished or self._pause)

    def _is_quiet(self) -> bool:
        return not self._outgoing.slots and self._reception.is_empty

    def _flushed(self, closes: bool) -> None:
        if closes:
            self._finish("unavailable", lingers=True)
            return
        self._reception.room_made()
        self._go_on()

    def _lose_patience(self) -> None:
        self._pause = None
        if self._decoder.in_frame and not self._share.may_grow:
            self._crowd_out()
            return
        if not self._reception.has_room:
            self._reception.lose_patience()
        self._go_on()

    def _crowd_out(self) -> None:
        """Give up a connection whose frame memory has no room for; what it was answered for is kept."""
        self._observer.event("crowded-out", channel=self._options.name, peer=self.peer.host)
        self._reception.note_lost(self._decoder.give_up())
        self._finish("memory", lingers=False)

    def _backlog(self) -> int:
        return self._transport.get_write_buffer_size() + self._below.get_write_buffer_size()

    def _eased(self) -> None:
        # Not at once: what made room is in the middle of its own work.
        self._loop.call_soon(self._steer)

    def _end_frame(self) -> None:
        self._last(self._decoder.silence())
        self._go_on()

    def _give_up_frame(self) -> None:
        self._last(self._decoder.give_up())
        self._go_on()

    def _last(self, items: list[Item]) -> None:
        """Take what no further byte will change."""
        self._trace.understood(items)
        self._reception.take(items)

    def _end_idle(self) -> None:
        self._finish("idle", lingers=False)

    def _give_up_on_reader(self) -> None:
        self._reason = "unread-answers"
        self._transport.abort()
