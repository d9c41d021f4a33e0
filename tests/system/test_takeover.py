"""Two processes on one store: the second takes messages, and takes over when the first is gone or frozen."""

import asyncio
import os
import signal

from tests.system.site import Site, exchange, message
from tests.waiting import until


async def test_a_second_process_takes_messages_and_takes_over_in_time(site: Site) -> None:
    await site.serve()
    first = await site.gateway(site.config("one"))
    second = await site.gateway(site.config("two"))
    config = site.folder / "two.toml"
    await exchange(first.ready["channels"]["adt"], message("T1"))
    await exchange(second.ready["channels"]["adt"], message("T2"))
    await site.settled(config, 2)
    await first.kill()
    await exchange(second.ready["channels"]["adt"], message("T3"))
    await until(lambda: len(site.taken()) == 3, patience=site.ttl + 2)
    rows = await site.settled(config, 3)
    assert [row["sequence"] for row in rows] == [1, 2, 3]
    assert [line["epoch"] for line in site.taken()] == [1, 1, 2]


async def test_a_leader_frozen_past_its_lease_changes_no_state_when_it_wakes(site: Site) -> None:
    cycles = 20
    await site.serve()
    names = ["one", "two"]
    gateways = {name: await site.gateway(site.config(name)) for name in names}
    config = site.folder / "one.toml"
    for cycle in range(cycles):
        leader, standby = names[cycle % 2], names[(cycle + 1) % 2]
        traffic = [message(f"F{cycle}-{number}") for number in range(10)]
        await exchange(gateways[standby].ready["channels"]["adt"], *traffic[:5])
        os.kill(gateways[leader].process.pid, signal.SIGSTOP)
        answers = await exchange(gateways[standby].ready["channels"]["adt"], *traffic[5:])
        assert all(b"MSA|AA|" in answer for answer in answers)
        everything = 10 * (cycle + 1)
        await until(lambda: len(site.control_ids()) == everything, patience=site.ttl + 4)  # noqa: B023 - run at once
        os.kill(gateways[leader].process.pid, signal.SIGCONT)
    rows = await site.settled(config, 10 * cycles)
    assert {row["state"] for row in rows} == {"processed"}
    fresh = [line["body"].split("|")[9] for line in site.taken() if not line["repeat"]]
    assert fresh == [row["control_id"] for row in rows]
    log = site.log.read_text()
    assert "stale-abort" not in log


async def test_twenty_copies_at_one_instant_over_two_processes_are_one_row_and_twenty_equal_answers(site: Site) -> None:
    await site.serve()
    gateways = [await site.gateway(site.config(name)) for name in ("one", "two")]
    addresses = [gateway.ready["channels"]["adt"] for gateway in gateways] * 10
    answers = await asyncio.gather(*(exchange(address, message("D1")) for address in addresses))
    assert len({answer for (answer,) in answers}) == 1
    assert b"MSA|AA|D1" in answers[0][0]
    (row,) = await site.settled(site.folder / "one.toml", 1)
    assert (row["sequence"], row["repeats"]) == (1, 19)
    await exchange(addresses[1], message("D2"))
    assert [row["sequence"] for row in await site.settled(site.folder / "one.toml", 2)] == [1, 2]
    assert [line["body"].split("|")[9] for line in site.taken()] == ["D1", "D2"]
