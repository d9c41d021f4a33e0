"""One connection to the server, from its connect request to its end (PROTOCOL, sections 1, 3 and 4).

It must never buffer a send for later, and never leave a request of the server without an answer.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from websockets.exceptions import ConnectionClosed

from gateway import __version__
from gateway.errors import ConnectFailed, FrameInvalid, NotLive
from gateway.model.upstream import (
    Answer,
    Callback,
    ErrorAnswer,
    Extension,
    Granted,
    Outcome,
    StatusResult,
    StrayAnswer,
    Transmit,
)
from gateway.ports.clock import Clock
from gateway.ports.observe import Observer
from gateway.upstream.auth import Tokens
from gateway.upstream.correlation import Correlation
from gateway.upstream.inquiry import Inquiry
from gateway.upstream.mailbox import Mailbox
from gateway.upstream.options import LinkOptions
from gateway.upstream.patience import Patience
from gateway.upstream.pipe import Pipe
from gateway.wire import agent

MESSAGE_TOO_BIG = 1009
"""RFC 6455, 7.4.1."""

_REQUESTS = frozenset(
    {
        "agent:transmit:request",
        "agent:stats:request",
        "agent:logs:request",
        "agent:reloadconfig:request",
        "agent:upgrade:request",
    }
)
"""Requests of the server that are shown by name; every other name counts as `unknown`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a connection shares with the others of its link."""

    options: LinkOptions
    tokens: Tokens
    observer: Observer
    clock: Clock
    strays: Mailbox[StrayAnswer]
    receipts: Mailbox[Callback]


class LiveConnection:
    """Implements ports.upstream.Connection over one open WebSocket. `number` counts connections of this process."""

    def __init__(self, pipe: Pipe, *, number: int, epoch: int, around: Surroundings) -> None:
        self.number = number
        self.granted = Granted()
        self.has_answered = False
        self._pipe = pipe
        self._epoch = epoch
        self._options = around.options
        self._around = around
        self._correlation = Correlation()
        self._patience = Patience(pipe, seconds=around.options.response_timeout, silent=self._fall_silent)
        self._inquiry = Inquiry(pipe, seconds=around.options.status_timeout)
        self._is_greeted = False
        self._failure: ConnectFailed | None = None

    # What the dispatcher uses.

    @property
    def is_live(self) -> bool:
        """True while sends can go out."""
        return self._is_greeted and self._failure is None and self._pipe.is_open

    @property
    def in_flight(self) -> int:
        """How many sends wait for their answer."""
        return self._correlation.in_flight

    @property
    def is_prepared(self) -> bool:
        """True while `prepare` would have nothing to wait for."""
        return self.is_live and self._around.tokens.is_fresh()

    async def prepare(self) -> None:
        """Renew the token if it is about to expire. Raises NotLive, after which the link reconnects by itself."""
        self._demand_live()
        if self._around.tokens.is_fresh():
            return
        try:
            await self._around.tokens.renew()
        except ConnectFailed as trouble:
            # Without a token nothing can be sent: the way back leads through a new connection and its backoff.
            self.fail(trouble)
            raise NotLive("no valid token") from trouble
        self._demand_live()

    def transmit(self, request: Transmit) -> "asyncio.Future[Outcome]":
        """Write one send now. Raises NotLive if provably no byte was handed to a socket."""
        self._demand_live()
        text = agent.transmit_request(request, token=self._around.tokens.value, epoch=self._epoch)
        future = self._correlation.expect(request.callback)
        try:
            mark = self._pipe.write(text)
        except NotLive:
            self._correlation.withdraw(request.callback)
            raise
        self._patience.begin(request.callback, mark)
        return future

    async def status(self, callbacks: Sequence[Callback]) -> Sequence[StatusResult] | None:
        """Ask what the server knows; None if not granted, or not answered in time once on this connection."""
        if not callbacks:
            return ()
        if Extension.STATUS not in self.granted.extensions or not self.is_live:
            return None
        was_mute = self._inquiry.is_mute
        results = await self._inquiry.ask(callbacks)
        if self._inquiry.is_mute and not was_mute:
            self._event("status-unanswered")
        return results

    # What the link uses.

    async def greet(self) -> None:
        """Present ourselves; returns once the server has answered. Raises ConnectFailed."""
        try:
            async with asyncio.timeout(self._options.connect_timeout):
                self._pipe.write(
                    agent.connect_request(
                        agent_id=self._options.agent_id,
                        token=self._around.tokens.value,
                        extensions=tuple(Extension),
                        epoch=self._epoch,
                    )
                )
                while not self._is_greeted:
                    self._meet(await self._pipe.recv(decode=False))
        except TimeoutError:
            raise ConnectFailed(step="connect", reason="the connect request was not answered in time") from None
        except (ConnectionClosed, NotLive):
            closed = ConnectFailed(step="connect", reason=f"closed before the answer{self._close_words()}")
            raise (self._failure or closed) from None

    async def run(self) -> ConnectFailed:
        """Serve the connection until it is lost; every waiter is told then. Gives why it ended."""
        too_large = False
        try:
            async with asyncio.TaskGroup() as tasks:
                beat = tasks.create_task(self._beat())
                try:
                    while True:
                        self._meet(await self._pipe.recv(decode=False))
                except ConnectionClosed as closed:
                    too_large = _said_too_big(closed)
                beat.cancel()
        finally:
            self._end(too_large=too_large)
        if self._failure is None:
            self._failure = ConnectFailed(step="link", reason=f"the connection is gone{self._close_words()}")
        return self._failure

    def fail(self, trouble: ConnectFailed) -> None:
        """Give the connection up: nothing is sent on it any more, and `run` ends."""
        if self._failure is None:
            self._failure = trouble
        self._pipe.transport.abort()

    async def close(self) -> None:
        """Close in order, within the close timeout."""
        self._is_greeted = False
        await self._pipe.close()

    # Frames.

    def _meet(self, data: bytes) -> None:
        """Take one frame; nothing here waits."""
        try:
            frame = agent.read(data, now=self._around.clock().wall / 1_000)
        except FrameInvalid as trouble:
            self._event("frame-invalid", reason=trouble.reason)
            return
        self._take(frame)

    def _take(self, frame: agent.Inbound) -> None:
        match frame:
            case agent.ConnectResponse():
                self._welcome(frame.granted)
            case agent.HeartbeatRequest():
                self._reply(agent.heartbeat_response(version=__version__))
            case agent.HeartbeatResponse():
                return
            case agent.TransmitResponse():
                self._answered(frame.callback, frame.answer)
            case agent.AgentError(callback=None):
                self._accused(frame.error)
            case agent.AgentError():
                self._answered(frame.callback, frame.error)
            case agent.ReceiptNote():
                self._around.receipts.put(frame.callback)
            case agent.StatusResponse():
                self._told(frame.results)
            case agent.ServerRequest():
                self._refuse(frame)
            case _:
                assert_never(frame)

    def _welcome(self, granted: Granted) -> None:
        if self._is_greeted:
            self._event("frame-unexpected", type="agent:connect:response")
            return
        self.granted = granted
        self._is_greeted = True

    def _answered(self, callback: Callback | None, outcome: Answer | ErrorAnswer) -> None:
        """Bring an answer to its send, or to whoever reads answers nobody waits for."""
        if callback is None:
            self._event("answer-unknown")
            return
        self._patience.end(callback)
        self.has_answered = True
        if not self._correlation.answer(callback, outcome):
            self._event("stray-answer")
            self._around.strays.put(StrayAnswer(callback=callback, outcome=outcome))

    def _accused(self, error: ErrorAnswer) -> None:
        """Judge an error that names no send: refused at the door, or pinned on the only unanswered request."""
        # A token the server does not know any more is answered like this, too.
        self._around.tokens.doubt()
        if not self._is_greeted:
            self.fail(ConnectFailed(step="connect", reason="the server refused the connect request"))
            return
        pinned = not self._inquiry.is_open and self._correlation.blame(error.body)
        if pinned:
            self._patience.end_all()
        self._event("error-without-callback", attributed=pinned)

    def _told(self, results: Sequence[StatusResult]) -> None:
        """Take a status response; one that speaks of other sends belongs to a question given up."""
        if not self._inquiry.hear(results):
            self._event("frame-unexpected", type="gateway:status:response")

    def _refuse(self, request: agent.ServerRequest) -> None:
        """Say no to a request of the server, with its callback: silence is never an answer."""
        self._event("server-request-refused", type=request.type if request.type in _REQUESTS else "unknown")
        self._reply(agent.error(body="not supported by this gateway", callback=request.callback))

    def _reply(self, text: str) -> None:
        try:
            self._pipe.write(text)
        except NotLive:
            return  # the reader is about to hear that the connection is gone

    def _fall_silent(self, callback: Callback) -> None:
        if self._correlation.fall_silent(callback):
            self._event("response-timeout")

    async def _beat(self) -> None:
        """Ask for a sign of life; give up after two missed ones (PROTOCOL, section 1)."""
        loop = asyncio.get_running_loop()
        missed = 0
        while True:
            await asyncio.sleep(self._options.heartbeat_interval)
            self._pipe.look()
            if loop.time() - self._pipe.moved_at < self._options.heartbeat_quiet:
                missed = 0
            else:
                missed += 1
                self._event("heartbeat-missed", count=missed)
            if missed >= self._options.heartbeat_misses:
                self.fail(ConnectFailed(step="heartbeat", reason="nothing moved in either direction"))
                return
            self._reply(agent.heartbeat_request())

    # The end.

    def _end(self, *, too_large: bool) -> None:
        self._is_greeted = False
        self._patience.end_all()
        lost = self._correlation.lose(too_large=too_large)
        self._inquiry.end()
        if lost:
            self._event("sends-in-doubt", count=lost)

    def _demand_live(self) -> None:
        if not self.is_live:
            raise NotLive("the connection is not live")

    def _close_words(self) -> str:
        code = self._pipe.close_code
        return "" if code is None else f", close code {code}"

    def _event(self, name: str, **facts: str | int | bool) -> None:
        self._around.observer.event(name, upstream=self._options.name, connection=self.number, **facts)


def _said_too_big(closed: ConnectionClosed) -> bool:
    """Say whether the server closed with 1009; when we do, nothing that comes after is read, an echo neither."""
    return closed.rcvd is not None and closed.rcvd.code == MESSAGE_TOO_BIG
