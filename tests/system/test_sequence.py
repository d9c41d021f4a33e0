"""The sequence number protocol through SIGKILL: between a number and its answer nothing is lost or counted twice."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.model.states import Landmark
from tests.processes import Program
from tests.system.site import CONFIG, Site, exchange


def _config(site: Site) -> Path:
    file = site.config()
    text = file.read_text()
    assert 'sequence = "stamp"' in CONFIG
    file.write_text(text.replace('sequence = "stamp"', 'sequence = "protocol"'))
    return file


def _message(control_id: str, number: int) -> bytes:
    return (
        f"MSH|^~\\&|SNDAPP|SNDFAC|RCVAPP|RCVFAC|20260101120000||ADT^A01^ADT_A01|{control_id}|P|2.5.1|{number}\r"
        "EVN|A01|20260101120000\rPID|1||1001^^^HOSP^MR||TEST^ANNA\r"
    ).encode()


async def _victim(site: Site, config: Path, landmark: Landmark, number: int) -> Program:
    ready = site.folder / "victim.ready"
    arguments = ["-m", "tests.chaos.victim", str(config), str(ready), "--at", landmark, "--number", str(number)]
    program = await Program.start(arguments, ready=ready, log=site.log)
    site.programs.append(program)
    return program


def _msa(answer: bytes) -> list[bytes]:
    return next(line for line in answer.split(b"\r") if line.startswith(b"MSA")).split(b"|")


@pytest.mark.parametrize(("landmark", "repeats"), [(Landmark.AFTER_INSERT, 1), (Landmark.AFTER_COMMIT_BEFORE_ACK, 2)])
async def test_a_crash_between_number_and_answer_costs_nothing(site: Site, landmark: Landmark, repeats: int) -> None:
    await site.serve()
    config = _config(site)
    victim = await _victim(site, config, landmark, 2)
    address = victim.ready["channels"]["adt"]
    await exchange(address, _message("K4", 4))
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        await exchange(address, _message("K5", 5))
    await victim.killed()
    gateway = await site.gateway(config)
    address = gateway.ready["channels"]["adt"]
    (asked,) = await exchange(address, _message("L1", 0))
    expected = b"6" if landmark is Landmark.AFTER_COMMIT_BEFORE_ACK else b"5"
    assert _msa(asked) == [b"MSA", b"AA", b"L1", b"", expected]
    first, again = await exchange(address, _message("K5", 5), _message("K5", 5))
    assert first == again
    assert _msa(first) == [b"MSA", b"AA", b"K5", b"", b"5"]
    (following,) = await exchange(address, _message("K6", 6))
    assert _msa(following)[4] == b"6"
    rows = await site.settled(config, 3)
    assert [(row["control_id"], row["state"], row["sequence"]) for row in rows] == [
        ("K4", "processed", None),
        ("K5", "processed", None),
        ("K6", "processed", None),
    ]
    assert rows[1]["repeats"] == repeats
    sent = [line["body"].encode() for line in site.taken()]
    assert sent == [_message("K4", 4), _message("K5", 5), _message("K6", 6)], "MSH-13 goes upstream as it came"
