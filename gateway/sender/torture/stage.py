"""Where kinds are played: opens connections to the receiver, listens with a deadline, ends what it opened."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from gateway.sender.torture.judge import Due, judge, ordinary
from gateway.sender.torture.letters import Letters, frame, message
from gateway.sender.torture.peer import Answer, Peer
from gateway.sender.torture.values import Fate, Mark, Outcome, TortureOptions

TAKEN = frozenset({Fate.TAKEN})
REFUSED = frozenset({Fate.REFUSED})
CLOSED = frozenset({Fate.CLOSED})
PASSED = frozenset({Fate.PASSED})


class Stage:
    """One run's place. Every wait in it has a deadline."""

    def __init__(self, options: TortureOptions) -> None:
        self.options = options
        self.letters = Letters(options.run)

    def name(self) -> str:
        """Give a fresh control id."""
        return self.letters.name()

    @asynccontextmanager
    async def peer(self, *, receive_buffer: int | None = None) -> AsyncIterator[Peer]:
        """Open a connection for one scene. Raises Unreachable."""
        peer = await Peer.open(self.options.target, within=self.options.patience, receive_buffer=receive_buffer)
        try:
            yield peer
        finally:
            peer.close()

    async def say(self, peer: Peer, data: bytes) -> bool:
        """Write; False when the receiver does not take it all."""
        return await peer.say(data, within=self.options.patience)

    async def listen(self, peer: Peer, dues: Sequence[Due], *, within: float) -> list[Answer]:
        """Hear until the last of the messages, or as many as there are messages, are answered, or silence."""
        answers: list[Answer] = []
        while len(answers) < len(dues):
            answer = await peer.hear(within=within)
            if answer is None:
                break
            answers.append(answer)
            if answer.name == dues[-1].name:
                break
        return answers

    async def ask(self, payload: bytes, due: Due) -> tuple[Outcome, Answer | None]:
        """Send one faultless frame on a new connection, and judge what becomes of it."""
        async with self.peer() as peer:
            await self.say(peer, frame(payload))
            answers = await self.listen(peer, [due], within=self.options.patience)
            outcome = judge([due], answers, peer.ended, has_half=peer.has_half)
            return outcome, answers[0] if answers else None

    async def is_alive(self) -> bool:
        """Tell whether an ordinary message on a new connection is taken. Raises Unreachable."""
        name = self.name()
        outcome, _ = await self.ask(message(name), Due(name=name, right=TAKEN))
        return outcome.mark is Mark.RIGHT

    async def settle(
        self, peer: Peer, dues: Sequence[Due], answers: Sequence[Answer] = (), *, within: float | None = None
    ) -> Outcome:
        """Hear the answers of what was sent, then those of an ordinary message sent after it, and judge all of them.

        The ordinary message proves that the receiver found its way back, and that nothing more was to come before.
        """
        options = self.options
        if within is None:
            within = options.quiet if all(due.may_go_unanswered for due in dues) else options.patience
        heard = [*answers, *await self.listen(peer, dues[len(answers) :], within=within)] if dues else [*answers]
        if peer.ended is None:
            last = ordinary(self.name())
            dues = [*dues, last]
            await self.say(peer, frame(message(last.name)))
            heard += await self._until(peer, last)
        return judge(dues, heard, peer.ended, has_half=peer.has_half)

    async def finished(self, data: bytes, due: Due) -> Outcome:
        """Send these bytes on a new connection, say that nothing more comes, and judge what becomes of the message."""
        async with self.peer() as peer:
            await self.say(peer, data)
            peer.finish()
            answers = await self.listen(peer, [due], within=self.options.patience)
            return judge([due], answers, peer.ended, has_half=peer.has_half)

    async def _until(self, peer: Peer, last: Due) -> list[Answer]:
        answers: list[Answer] = []
        while (answer := await peer.hear(within=self.options.patience)) is not None:
            answers.append(answer)
            if answer.name == last.name:
                break
        return answers

    async def trial(self, *writes: bytes, dues: Sequence[Due], within: float | None = None) -> Outcome:
        """Send these bytes, one write each, on a new connection, and judge what becomes of the messages."""
        async with self.peer() as peer:
            for data in writes:
                await self.say(peer, data)
            return await self.settle(peer, dues, within=within)
