"""The load generator: a program of its own that sends on many connections and times every answer. Cheap on purpose.

Reads one plan as a JSON line, connects, says `ready`, waits for a line, sends, and writes its findings as a JSON line.
One thread and the kernel's own poll: an event loop would cost more for each message than the gateway may.
"""

import itertools
import select
import socket
import sys
import time
from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from gateway.sender.bench.figures import classes
from gateway.sender.bench.message import template

_CHUNK = 1 << 16
_LAST_WAIT = 20.0
"""Seconds the last answers may take."""

_END = b"\x1c\r"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one generator does. `targets`: one connection to each, in order. `window`: messages unanswered at once on
    each. `seconds` and `limit` (0: none) end it, whichever comes first. `name` makes its control ids its own.
    """

    name: str
    targets: tuple[tuple[str, int], ...]
    seconds: float
    limit: int = 0
    window: int = 1
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one generator saw. `counts` are latencies in microseconds by class; `wrong` answers were no plain yes to
    their message, `missing` ones never came, `lost` connections were ended by the other side. `cpu`: seconds of its
    own.
    """

    answered: int
    wrong: int
    missing: int
    lost: int
    elapsed: float
    cpu: float
    longest: float
    counts: dict[int, int]


class _Run:
    """Everything the connections share."""

    def __init__(self, plan: Plan) -> None:
        self.ids = _ids(plan)
        self.template = template(plan.size)
        self.window = plan.window
        self.latencies = array("d")
        self.wrong = 0
        self.is_over = False


class _Wire:
    """One connection."""

    __slots__ = ("_out", "_pending", "_run", "is_lost", "socket", "waiting")

    def __init__(self, target: tuple[str, int], run: _Run) -> None:
        self.socket = socket.create_connection(target)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.waiting: deque[tuple[bytes, float]] = deque()
        self.is_lost = False
        self._run = run
        self._pending = b""
        self._out = memoryview(b"")

    def fill(self) -> None:
        """Send until the window is full."""
        run = self._run
        if self._out and not self._push():
            return
        while len(self.waiting) < run.window and not run.is_over:
            control_id = next(run.ids, None)
            if control_id is None:
                run.is_over = True
                return
            self.waiting.append((control_id, time.perf_counter()))
            self._out = memoryview(run.template.frame(control_id))
            if not self._push():
                return

    def _push(self) -> bool:
        """Hand over what is left of a frame; False when the socket takes no more now."""
        try:
            while self._out:
                self._out = self._out[self.socket.send(self._out) :]
        except BlockingIOError:
            return False
        except OSError:
            self.is_lost = True
            return False
        return True

    def hear(self) -> None:
        """Take all that came, and judge every answer that is whole."""
        size = _CHUNK
        # The kernel tells of bytes once: what is not read now would never be heard of again.
        while size == _CHUNK:
            try:
                data = self.socket.recv(_CHUNK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.is_lost = True
                return
            size = len(data)
            now = time.perf_counter()
            *frames, self._pending = (self._pending + data).split(_END)
            for frame in frames:
                self._judge(frame, now)

    def _judge(self, frame: bytes, now: float) -> None:
        run = self._run
        if not self.waiting:
            run.wrong += 1
            return
        control_id, sent_at = self.waiting.popleft()
        if b"\rMSA|AA|" + control_id in frame:
            run.latencies.append((now - sent_at) * 1e6)
        else:
            run.wrong += 1


def _ids(plan: Plan) -> Iterator[bytes]:
    """Give control ids of one length, so that none is the beginning of another."""
    numbers = itertools.count() if not plan.limit else range(plan.limit)
    return (b"%s%07d" % (plan.name.encode("ascii"), number) for number in numbers)


def drive(plan: Plan, wires: list[_Wire], run: _Run) -> Found:
    """Send by the plan until it is over and every answer has come, or does not come."""
    poll = select.epoll()
    by_number = {wire.socket.fileno(): wire for wire in wires}
    cpu, begin = time.process_time(), time.perf_counter()
    for number, wire in by_number.items():
        poll.register(number, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        wire.fill()
    end = begin + plan.seconds
    while (now := time.perf_counter()) < end + _LAST_WAIT:
        run.is_over = run.is_over or now >= end
        if run.is_over and not any(wire.waiting and not wire.is_lost for wire in wires):
            break
        for number, happened in poll.poll(min(0.1, max(0.0, end - now)) if now < end else 0.1):
            wire = by_number[number]
            if happened & ~select.EPOLLOUT:
                wire.hear()
            if not wire.is_lost:
                wire.fill()
    return Found(
        answered=len(run.latencies),
        wrong=run.wrong,
        missing=sum(len(wire.waiting) for wire in wires),
        lost=sum(wire.is_lost for wire in wires),
        elapsed=time.perf_counter() - begin,
        cpu=time.process_time() - cpu,
        longest=max(run.latencies, default=0.0),
        counts=classes(run.latencies),
    )


def plan_of(facts: dict[str, Any]) -> Plan:
    """Read a plan from JSON."""
    return Plan(**facts | {"targets": tuple((host, port) for host, port in facts["targets"])})


def main() -> None:
    """Do one plan."""
    plan = plan_of(orjson.loads(sys.stdin.buffer.readline()))
    run = _Run(plan)
    wires = [_Wire(target, run) for target in plan.targets]
    sys.stdout.buffer.write(b"ready\n")
    sys.stdout.buffer.flush()
    if sys.stdin.buffer.readline():
        found = drive(plan, wires, run)
        sys.stdout.buffer.write(orjson.dumps(asdict(found), option=orjson.OPT_NON_STR_KEYS) + b"\n")


if __name__ == "__main__":
    main()
