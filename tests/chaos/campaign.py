"""A crash campaign: eight senders that retransmit, one server, and a gateway that is killed again and again."""

import asyncio
import hashlib
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

from gateway.model.states import Landmark
from gateway.sender.options import Outgoing, Retransmit, SendPlan, Sent, Target, Verdict
from gateway.sender.send import send
from tests.chaos.oracle import WAITING, Answered, Delivered, Evidence, Stored
from tests.processes import Program, command
from tests.waiting import until, until_async

SENDERS = 8
CHANNELS = ("adt", "oru")
DRAIN_PATIENCE = 30.0

CONFIG = """
[gateway]
data_dir = "{data}"
[metrics]
listen = "127.0.0.1:0"
[lease]
ttl = 1.0
[store]
low_space = 16777216
[log]
level = "warning"
[[upstream]]
name = "main"
url = "{url}"
agent_id = "chaos"
{channels}
"""

CHANNEL = """
[[channel]]
name = "{name}"
listen = "{listen}"
upstream = "main"
sequence = "stamp"
"""


@dataclass(kw_only=True)
class Campaign:
    """One campaign in a folder of its own. `tells`: the server grants extensions. `mutant`: a broken gateway."""

    folder: Path
    seed: int
    tells: bool
    mutant: str | None = None
    messages: int = 160
    sent: dict[str, bytes] = field(default_factory=dict)
    answers: list[Answered] = field(default_factory=list)
    listens: dict[str, str] = field(default_factory=dict)
    passed: Counter[Landmark] = field(default_factory=Counter)
    ids: dict[str, list[str]] = field(default_factory=lambda: {channel: [] for channel in CHANNELS})

    async def run(self, cycles: int) -> Evidence:
        """Kill `cycles` gateways in full traffic, let the last one drain, and give what was written down."""
        chance = random.Random(self.seed)
        server = await self._server()
        gateway: Program | None = None
        try:
            for number, landmark in enumerate(islice(cycle([*Landmark, None]), cycles)):
                # A claim of its own happens only when a lane was idle; in traffic it shares the settle's commit.
                most = 3 if landmark is Landmark.AFTER_CLAIM else 30
                gateway = await self._start(server, landmark, chance.randrange(1, most))
                senders = asyncio.create_task(self._send(f"C{number}-"))
                await self._end(gateway, landmark, senders, chance.random())
                gateway = await self._start(server, None, 0)
                await senders
                await gateway.kill()
            gateway = await self._start(server, None, 0)
            await self._drained()
            rows = await self._rows()
            await self._send_all_again()
            assert await gateway.stop() == 0
            return self._evidence(rows, len(await self._rows()))
        finally:
            if gateway is not None:
                await gateway.kill()
            await server.stop()

    async def _end(
        self, gateway: Program, landmark: Landmark | None, senders: "asyncio.Task[None]", chance: float
    ) -> None:
        """Wait until the landmark killed it; without one, kill it at a moment by chance in the traffic."""
        if landmark is None:
            enough = len(self.answers) + int(chance * self.messages)
            await until(lambda: len(self.answers) >= enough or senders.done(), patience=DRAIN_PATIENCE)
            await gateway.kill()
            return
        # Deliveries go on behind the last answer, so a landmark of theirs may come after it.
        async with asyncio.timeout(DRAIN_PATIENCE):
            await gateway.killed()
        self.passed[landmark] += 1

    async def _server(self) -> Program:
        arguments = ["-m", "gateway", "receive", "--listen", "127.0.0.1:0", "--journal", str(self.folder / "taken")]
        arguments += ["--ready-file", str(self.folder / "server.ready"), *([] if self.tells else ["--plain"])]
        return await Program.start(arguments, ready=self.folder / "server.ready", log=self.folder / "server.log")

    async def _start(self, server: Program, landmark: Landmark | None, number: int) -> Program:
        """Start a gateway on the ports the first one was given."""
        config = self.folder / "channels.toml"
        channels = "".join(CHANNEL.format(name=name, listen=self.listens.get(name, "127.0.0.1:0")) for name in CHANNELS)
        config.write_text(CONFIG.format(data=self.folder / "var", url=server.ready["url"], channels=channels))
        ready = self.folder / "gateway.ready"
        arguments = ["-m", "tests.chaos.victim", str(config), str(ready)]
        arguments += ["--at", landmark.value, "--number", str(number)] if landmark else []
        arguments += ["--mutant", self.mutant] if self.mutant else []
        program = await Program.start(arguments, ready=ready, log=self.folder / "gateway.log")
        self.listens = program.ready["channels"]
        return program

    async def _send(self, prefix: str) -> None:
        """Let eight senders send, each over its own connection, until every message is answered positively."""
        await asyncio.gather(*(self._sender(f"{prefix}{number}-", number) for number in range(SENDERS)))

    async def _sender(self, prefix: str, number: int) -> None:
        channel = CHANNELS[number % len(CHANNELS)]
        each = self.messages // SENDERS
        plan = SendPlan(
            target=Target.parse(self.listens[channel]),
            messages=tuple(
                Outgoing(payload=_message(f"{prefix}{serial}", number, serial), origin=prefix) for serial in range(each)
            ),
            answer_timeout=5.0,
            retransmit=Retransmit(pause=0.05, patience=60.0, codes=frozenset({"AR", "AE", "CE"})),
        )
        self.ids[channel] += [f"{prefix}{serial}" for serial in range(each)]
        report = await send(plan, on_sent=self._note_sent, on_verdict=self._note_answer)
        assert report.exit_code == 0 or self.mutant, f"{prefix}: {report}"

    async def _send_all_again(self) -> None:
        """Send every message once more: a retransmit must get the bytes of its first answer, and make nothing new."""
        for channel in CHANNELS:
            messages = [
                Outgoing(payload=self.sent[each], origin=each) for each in self.ids[channel] if each in self.sent
            ]
            plan = SendPlan(target=Target.parse(self.listens[channel]), messages=tuple(messages), pipeline=16)
            await send(plan, on_verdict=self._note_answer)

    def _note_sent(self, sent: Sent) -> None:
        self.sent[sent.control_id.decode()] = sent.payload

    def _note_answer(self, verdict: Verdict) -> None:
        if verdict.answer is None or verdict.code is None:
            return
        digest = hashlib.sha256(verdict.answer).hexdigest()
        control_id = verdict.control_id.decode()
        self.answers.append(Answered(control_id=control_id, code=verdict.code, answer_sha256=digest))

    async def _drained(self) -> None:
        """Wait until nothing waits any more; the store of a running gateway can only be asked."""

        async def is_drained() -> bool:
            return not any(row.state in WAITING for row in await self._rows())

        await until_async(is_drained, patience=DRAIN_PATIENCE)

    async def _rows(self) -> list[Stored]:
        output = await command("list", "--json", "-c", str(self.folder / "channels.toml"))
        keys = ("id", "row", "channel", "state", "control_id", "sequence", "error_code", "sha256")
        return [Stored(**{key: found[key] for key in keys}) for found in map(json.loads, output.splitlines())]

    def _evidence(self, rows: list[Stored], rows_after: int) -> Evidence:
        lines = (self.folder / "taken").read_bytes().splitlines()
        delivered = [
            Delivered(callback=line["callback"], body=line["body"], repeat=bool(line.get("repeat")))
            for line in map(json.loads, lines)
        ]
        return Evidence(
            sent=self.sent,
            answers=self.answers,
            rows=rows,
            rows_after=rows_after,
            delivered=delivered,
            tells=self.tells,
        )


def _message(control_id: str, sender: int, serial: int) -> bytes:
    """Make a synthetic admission whose length differs from message to message."""
    note = "x" * (serial * 37 % 900)
    return (
        f"MSH|^~\\&|CHAOS|S{sender}|GATE|WAY|20260101120000||ADT^A01^ADT_A01|{control_id}|P|2.5.1\r"
        f"EVN|A01|20260101120000\rPID|1||{1000 + sender}^^^HOSP^MR||TEST^NUMBER {serial}\rNTE|1||{note}\r"
    ).encode()
