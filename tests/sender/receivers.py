"""Small MLLP receivers for torture: one that does what is asked of it, and ways to be wrong, one each.

Written without the gateway's own framing. Each connection is a buffer of bytes and a list of answers.
"""

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from gateway.sender.options import Target
from tests.sender.listening import ack, framed

VT, FS, END = b"\x0b", b"\x1c", b"\x1c\r"


class Hangup(Exception):
    """Close the connection now."""


def control_id(payload: bytes) -> bytes:
    """Read MSH-10 as a simple receiver does: by bytes, from the first MSH."""
    if (begin := payload.find(b"MSH")) < 0:
        return b""
    fields = payload[begin:].split(b"\r", 1)[0].split(payload[begin + 3 : begin + 4])
    return fields[9] if len(fields) > 9 else b""


@dataclass
class Receiver:
    """Takes every whole frame. Subclasses are wrong in one point."""

    answered: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    port: int = 0

    async def __aenter__(self) -> Self:
        self.tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 16)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        for task in self.tasks:
            task.cancel()
        async with asyncio.timeout(5):
            await asyncio.gather(*self.tasks, return_exceptions=True)

    @property
    def target(self) -> Target:
        return Target(host="127.0.0.1", port=self.port)

    def stop(self) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        self.writers.append(writer)
        try:
            await self.converse(reader, writer)
        except (ConnectionError, Hangup, asyncio.CancelledError):
            pass  # only __aexit__ cancels, and awaits
        finally:
            writer.close()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pending = b""
        while data := await reader.read(1 << 16):
            pending, answers = self.read(pending + data)
            for answer in answers:
                writer.write(answer)

    def read(self, pending: bytes) -> tuple[bytes, list[bytes]]:
        """Take whole frames from the buffer; give what is left, and the answers."""
        answers = []
        while (begin := pending.find(VT)) >= 0 and (end := pending.find(END, begin)) >= 0:
            payload, pending = pending[begin + 1 : end], pending[end + 2 :]
            answers += self.reply(payload)
        return pending, answers

    def reply(self, payload: bytes) -> list[bytes]:
        """Answer one payload."""
        return [self.positive(control_id(payload))]

    def positive(self, name: bytes) -> bytes:
        return framed(self.acknowledge(name, "AA"))

    def negative(self, name: bytes, code: str = "AE") -> bytes:
        return framed(self.acknowledge(name, code))

    def acknowledge(self, name: bytes, code: str) -> bytes:
        self.answered += 1
        return ack(name, code).replace(b"|G1|", b"|G%d|" % self.answered)


class LosesTheSecond(Receiver):
    """Throws away what came behind a frame in the same read."""

    def read(self, pending: bytes) -> tuple[bytes, list[bytes]]:
        begin, end = pending.find(VT), pending.find(END)
        return (pending, []) if end < 0 else (b"", self.reply(pending[begin + 1 : end]))


class SwapsAnswers(Receiver):
    """Answers what came in one read in the wrong order."""

    def read(self, pending: bytes) -> tuple[bytes, list[bytes]]:
        left, answers = super().read(pending)
        return left, answers[::-1]


class NeedsOneRead(Receiver):
    """Takes a frame only when it comes in one piece."""

    def read(self, pending: bytes) -> tuple[bytes, list[bytes]]:
        return b"", super().read(pending)[1]


class EndsAtFs(Receiver):
    """Takes FS alone for the end."""

    def read(self, pending: bytes) -> tuple[bytes, list[bytes]]:
        answers = []
        while (begin := pending.find(VT)) >= 0 and (end := pending.find(FS, begin)) >= 0:
            payload, pending = pending[begin + 1 : end], pending[end + 1 :]
            answers += self.reply(payload)
        return pending, answers


class AnswersTwice(Receiver):
    """Gives every message two answers."""

    def reply(self, payload: bytes) -> list[bytes]:
        return [self.positive(control_id(payload)), self.positive(control_id(payload))]


class NamesNobody(Receiver):
    """Answers under a control id of its own."""

    def reply(self, payload: bytes) -> list[bytes]:
        return [self.positive(b"SOMEBODY")]


class NeverEndsAnAnswer(Receiver):
    """Forgets FS CR."""

    def reply(self, payload: bytes) -> list[bytes]:
        return [self.positive(control_id(payload))[:-2]]


class RefusesAll(Receiver):
    """Says AR to everything."""

    def reply(self, payload: bytes) -> list[bytes]:
        return [self.negative(control_id(payload), "AR")]


class RepliesInKind(Receiver):
    """Answers in words that are no HL7."""

    def reply(self, payload: bytes) -> list[bytes]:
        return [framed(b"thank you")]


class ForgetsTheLastCr(Receiver):
    """Leaves the last segment of an answer open."""

    def acknowledge(self, name: bytes, code: str) -> bytes:
        return super().acknowledge(name, code).removesuffix(b"\r")


class RepeatsItsId(Receiver):
    """Gives every answer the same MSH-10."""

    def acknowledge(self, name: bytes, code: str) -> bytes:
        return ack(name, code)


class HasNoId(Receiver):
    """Gives no answer an MSH-10."""

    def acknowledge(self, name: bytes, code: str) -> bytes:
        return ack(name, code).replace(b"|G1|", b"||")


@dataclass
class ReplaysById(Receiver):
    """Takes equal control ids for equal messages."""

    known: dict[bytes, bytes] = field(default_factory=dict)

    def reply(self, payload: bytes) -> list[bytes]:
        name = control_id(payload)
        if name not in self.known:
            self.known[name] = self.positive(name)
        return [self.known[name]]


@dataclass
class RefusesRepeats(Receiver):
    """Refuses a control id it knows, even with the same bytes."""

    known: set[bytes] = field(default_factory=set)

    def reply(self, payload: bytes) -> list[bytes]:
        name = control_id(payload)
        if name in self.known:
            return [self.negative(name, "AR")]
        self.known.add(name)
        return [self.positive(name)]


class NeverAnswersRepeats(RefusesRepeats):
    """Says nothing to a control id it knows."""

    def reply(self, payload: bytes) -> list[bytes]:
        answer = super().reply(payload)
        return [] if b"|AR|" in answer[0] else answer


class Pedant(Receiver):
    """Hangs up on the first byte that does not belong there, and refuses what it cannot read."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pending = b""
        while data := await reader.read(1 << 16):
            pending += data
            while pending:
                if not pending.startswith(VT):
                    raise Hangup
                if (end := pending.find(END)) < 0:
                    break
                payload, pending = pending[1:end], pending[end + 2 :]
                writer.write(self.reply(payload)[0])

    def reply(self, payload: bytes) -> list[bytes]:
        name = control_id(payload)
        fits = payload.startswith(b"MSH|") and payload.count(b"MSH|") == 1 and b"|ACK|" not in payload
        return [self.positive(name) if fits and name and VT not in payload else self.negative(name)]


class Deaf(Receiver):
    """Reads everything and says nothing."""

    def read(self, pending: bytes) -> tuple[bytes, list[bytes]]:
        return b"", []


class SilentAfterNoise(Receiver):
    """Says nothing any more once something stood before VT, and keeps the connection."""

    def read(self, pending: bytes) -> tuple[bytes, list[bytes]]:
        return super().read(pending) if pending.startswith(VT) else (b"x", [])


class StopsReading(Receiver):
    """Never takes more than a few bytes of a long message."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pending = b""
        while len(pending) < 1 << 16 and (data := await reader.read(1 << 16)):
            pending, answers = self.read(pending + data)
            for answer in answers:
                writer.write(answer)
        if len(pending) >= 1 << 16:
            await asyncio.Event().wait()


@dataclass
class OneAtATime(Receiver):
    """Serves a connection only when the one before it is gone."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self.turn:
            await super().converse(reader, writer)


class ClosesAtTheEnd(Receiver):
    """Hangs up without an answer when the sender ends its output right behind the frame."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()


class SpeaksTls(Receiver):
    """Answers everything that is no MLLP with the alert of a TLS server."""

    def read(self, pending: bytes) -> tuple[bytes, list[bytes]]:
        if pending and not pending.startswith(VT):
            return b"", [b"\x15\x03\x03\x00\x02\x02\x46"]
        return super().read(pending)


class DiesOfHttp(Receiver):
    """Is gone for good once it is asked for a page."""

    def read(self, pending: bytes) -> tuple[bytes, list[bytes]]:
        if pending.startswith(b"GET"):
            self.stop()
            raise Hangup
        return super().read(pending)


class NeverStops(Receiver):
    """Answers with noise without end."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        while True:
            writer.write(VT + b"x" * (1 << 16))
            await writer.drain()


class LaterToo(Receiver):
    """Answers in enhanced mode: commit first, then the application."""

    def reply(self, payload: bytes) -> list[bytes]:
        name = control_id(payload)
        return [framed(self.acknowledge(name, "CA")), framed(self.acknowledge(name, "AA"))]
