"""What the server does with each frame (PROTOCOL, sections 1 and 4). Knows peers, not listening sockets.

It must never answer, or send a receipt, before the message is durable, and never run an accepted row twice.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, assert_never

from gateway import __version__
from gateway.errors import FrameInvalid, OperatorError, Unavailable
from gateway.model.clock import hl7_timestamp
from gateway.model.upstream import Extension
from gateway.receiver import frames
from gateway.receiver.application import acknowledge, control_id, scripted
from gateway.receiver.journal import Journal, Line
from gateway.receiver.ledger import Course, Knowledge, Ledger, Record
from gateway.receiver.options import ReceiverOptions
from gateway.receiver.peer import Peer
from gateway.receiver.script import WELL, CloseAt, ErrorKind, Fault
from gateway.receiver.values import Reply, Taken
from gateway.wire import agent
from gateway.wire.ack import AckCode

Take = Callable[[Taken], Reply]
"""The application: sees every message that is to be run, once it is durable. It must not block."""


class Service:
    """The protocol's server side over one journal; `changed` is called whenever anything happened."""

    def __init__(
        self,
        options: ReceiverOptions,
        *,
        take: Take | None,
        wall: Callable[[], int],
        changed: Callable[[], None],
    ) -> None:
        self._options = options
        self._take = take
        self._wall = wall
        self._changed = changed
        self._journal = Journal(options.journal)
        self._ledger = Ledger(window=int(options.dedupe_window * 1_000))
        self._epochs: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.taken: deque[Taken] = deque(maxlen=options.remember)
        self.taken_count = 0
        self.connections = 0
        self.reactions: deque[frames.Reaction] = deque(maxlen=options.remember)

    def open(self) -> None:
        """Read the journal and finish what a crash left unfinished. Raises OperatorError."""
        unfinished: dict[int, Taken] = {}

        def meet(line: Line) -> None:
            record = self._ledger.arrive(line.taken.callback, line=line.number, at=line.at, runs=line.taken.runs)
            if line.taken.runs:
                record.outcome = line.outcome
                if line.outcome is None:
                    unfinished[line.number] = line.taken
            callback = agent.parse_callback(line.taken.callback)
            if callback is not None and line.taken.epoch is not None:
                self._is_stale(callback.agent, line.taken.epoch)

        try:
            self._journal.open(meet)
        except OperatorError:
            self._journal.shut()
            raise
        self._ledger.forget(self._wall())
        known: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        known.set_result(None)
        for record in self._ledger.unfinished():
            self._begin(record, unfinished[record.line], WELL, durable=known, foregone=None)

    async def close(self) -> None:
        """Stop what runs, and finish the journal."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._journal.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Forget a task; one that failed by a defect is shown by the loop, not swallowed."""
        self._tasks.discard(task)
        if not task.cancelled() and (trouble := task.exception()) is not None:
            task.get_loop().call_exception_handler({"message": "receiver task failed", "exception": trouble})

    def left(self, open_connections: Iterable[int]) -> None:
        """Note that a connection is gone."""
        self._ledger.release_promises(open_connections)

    async def meet(self, peer: Peer, data: bytes) -> None:
        """Take one frame of a peer, in order of arrival; what takes long goes on beside the next frame."""
        try:
            frame = frames.read(data)
        except FrameInvalid as trouble:
            await peer.send(frames.error(trouble.reason))
            return
        match frame:
            case frames.ConnectRequest():
                await self._connect(peer, frame)
            case frames.HeartbeatRequest():
                await peer.send(frames.heartbeat_response(version=__version__))
            case frames.TransmitRequest():
                await self._arrive(peer, frame)
            case frames.StatusRequest():
                await self._tell(peer, frame)
            case frames.Reaction():
                self.reactions.append(frame)
                self._changed()
            case frames.UnknownRequest():
                await peer.send(frames.error("unsupported type", callback=frame.callback))
            case _:
                assert_never(frame)

    def _is_stale(self, agent_id: str, epoch: int | None) -> bool:
        """Say whether a later leader of this agent was seen; a newer epoch is noted."""
        if epoch is None or self._options.plain:
            return False
        newest = max(epoch, self._epochs.get(agent_id, epoch))
        self._epochs[agent_id] = newest
        return epoch < newest

    async def _connect(self, peer: Peer, frame: frames.ConnectRequest) -> None:
        if self._is_stale(frame.agent_id, frame.epoch):
            await peer.send(frames.error("stale epoch"))
            await peer.close(1008)
            return
        granted = () if self._options.plain else frame.extensions
        peer.agent_id, peer.granted = frame.agent_id, frozenset(granted)
        window = self._options.dedupe_window if Extension.DEDUPE in granted else None
        await peer.send(frames.connect_response(extensions=granted, dedupe_window=window))
        self.connections += 1
        self._changed()

    async def _tell(self, peer: Peer, frame: frames.StatusRequest) -> None:
        """Answer a status request; what is called unknown is refused on older connections from now on."""
        if Extension.STATUS not in peer.granted:
            await peer.send(frames.error("unsupported type"))
            return
        results = []
        for callback in frame.callbacks:
            known, reply = self._ledger.look_up(callback)
            if known is Knowledge.UNKNOWN:
                self._ledger.disown(callback, asked_on=peer.number)
            results.append((callback, known, reply))
        await peer.send(frames.status_response(results))

    def _objection(self, peer: Peer, frame: frames.TransmitRequest) -> str | None:
        """Say why a send is not even looked at; None if it is."""
        if peer.agent_id is None:
            return "not connected"
        if self._is_stale(peer.agent_id, frame.epoch):
            return "stale epoch"
        if self._ledger.is_disowned(frame.callback, came_on=peer.number):
            return "called unknown before it came"
        return None

    async def _arrive(self, peer: Peer, frame: frames.TransmitRequest) -> None:
        """Decide about one send at the moment it comes; nothing here waits before it is in the ledger."""
        objection = self._objection(peer, frame)
        if objection is not None:
            await peer.send(frames.error(objection, callback=frame.callback))
            return
        control = control_id(frame.body)
        fault = self._options.script.next(control)
        if fault.close is CloseAt.BEFORE_STORING:
            await peer.close(fault.close_code)
            return
        if fault.error is ErrorKind.BARE:
            await peer.send(frames.error("scripted error"))
            return
        self._take_in(peer, frame, fault, control)

    def _take_in(self, peer: Peer, frame: frames.TransmitRequest, fault: Fault, control: str | None) -> None:
        """Write the message's line and start what follows."""
        now = self._wall()
        self._ledger.forget(now)
        course = self._ledger.course(frame.callback, dedupe=Extension.DEDUPE in peer.granted)
        taken = Taken(
            callback=frame.callback,
            channel=frame.channel,
            remote=frame.remote,
            body=frame.body,
            epoch=frame.epoch,
            control_id=control,
            repeat=self._ledger.knows(frame.callback),
            runs=course is Course.RUN,
        )
        outcome = self._foregone(taken, fault) if course is Course.RUN else None
        line, durable = self._journal.take(taken, at=now, outcome=outcome)
        record = self._ledger.arrive(frame.callback, line=line, at=now, runs=taken.runs)
        if taken.runs:
            self._begin(record, taken, fault, durable=durable, foregone=outcome)
        # What this arrival has to do with is settled now: by the time its task runs, the row may run again.
        self._start(self._answer(peer, taken, fault, durable, run=record.run, stored=record.outcome))

    def _begin(
        self, record: Record, taken: Taken, fault: Fault, *, durable: "asyncio.Future[None]", foregone: Reply | None
    ) -> None:
        """Start the run of a row; it ends whatever becomes of the connection."""
        record.run = asyncio.get_running_loop().create_future()
        self._start(self._run(record, record.run, record.line, taken, fault, durable, foregone))

    async def _run(
        self,
        record: Record,
        run: "asyncio.Future[Reply]",
        line: int,
        taken: Taken,
        fault: Fault,
        durable: "asyncio.Future[None]",
        foregone: Reply | None,
    ) -> None:
        """Run one message once it is durable, and make its outcome durable before anybody hears of it."""
        try:
            await _outcome_of(durable)
            reply = foregone
            if reply is None:
                await asyncio.sleep(fault.delay)
                reply = self._decide(taken, fault)
                await self._journal.settle(line, reply)
        except Unavailable:
            # Nothing is known to be durable: whoever waits is told so, and nobody hears of an outcome.
            run.cancel()
            return
        if record.run is run:
            record.run, record.outcome = None, reply
        run.set_result(reply)
        self._changed()

    async def _answer(
        self,
        peer: Peer,
        taken: Taken,
        fault: Fault,
        durable: "asyncio.Future[None]",
        *,
        run: "asyncio.Future[Reply] | None",
        stored: Reply | None,
    ) -> None:
        """Tell the peer: the receipt once the message is durable, the answer once there is one."""
        try:
            await _outcome_of(durable)
        except Unavailable:
            await peer.send(frames.error("storage", callback=taken.callback))
            return
        self.taken.append(taken)
        self.taken_count += 1
        self._changed()
        if Extension.RECEIPT in peer.granted:
            await peer.send(frames.receipt(taken.callback))
        if fault.close is CloseAt.AFTER_STORING:
            await peer.close(fault.close_code)
            return
        if run is None:
            await asyncio.sleep(fault.delay)
        else:
            await asyncio.wait((run,))
        if run is not None and run.cancelled():
            await peer.send(frames.error("storage", callback=taken.callback))
            return
        reply = stored if run is None else run.result()
        if reply is not None and not fault.silence:
            await self._deliver(peer, taken, fault, reply)

    async def _deliver(self, peer: Peer, taken: Taken, fault: Fault, reply: Reply) -> None:
        """Send the answer, in the shape and as often as the fault wants."""
        if fault.msa2 is not None:
            timestamp = hl7_timestamp(self._wall())
            reply = acknowledge(taken, code=AckCode(fault.ack or "AA"), timestamp=timestamp, control=fault.msa2)
        text = frames.transmit_response(reply, callback=taken.callback, channel=taken.channel, remote=taken.remote)
        if fault.error is ErrorKind.CALLBACK:
            text = frames.error("scripted error", callback=taken.callback)
        for _ in range(fault.answers):
            await peer.send(text)

    def _foregone(self, taken: Taken, fault: Fault) -> Reply | None:
        """Give the outcome that stands before the run, so that one line and one sync hold both."""
        if self._take is not None or fault.delay:
            return None
        return self._decide(taken, fault)

    def _decide(self, taken: Taken, fault: Fault) -> Reply:
        """Run the message: by the script, by the application, or AA."""
        timestamp = hl7_timestamp(self._wall())
        prescribed = scripted(taken, fault, timestamp=timestamp)
        if prescribed is not None:
            return prescribed
        if self._take is None:
            return acknowledge(taken, code=AckCode.AA, timestamp=timestamp)
        try:
            return self._take(taken)
        except Exception:  # noqa: BLE001 - whatever an application raises, this message failed and the next may not
            return Reply(status=500)


async def _outcome_of(future: "asyncio.Future[None]") -> None:
    """Wait for a future that others wait for too: being cancelled here must not cancel it for them."""
    await asyncio.wait((future,))
    future.result()
