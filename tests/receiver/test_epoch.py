from pathlib import Path

from websockets.asyncio.client import connect

from tests.receiver.client import ALL, Client, callback, dialled, hl7, text_of
from tests.receiver.conftest import Start


async def test_a_send_of_an_earlier_epoch_is_refused_and_not_taken(start: Start, journal: Path) -> None:
    receiver = await start()
    old, new = (dialled(receiver.url, extensions=ALL, epoch=epoch) for epoch in (1, 2))
    async with old as stale, new:
        heard = await stale.exchange(callback(1), hl7("MSG1"), epoch=1)
    assert (heard["type"], heard["callback"]) == ("agent:error", callback(1))
    assert text_of(journal) == ""


async def test_a_leader_of_an_earlier_epoch_is_not_let_in(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url, extensions=ALL, epoch=2), connect(receiver.url) as socket:
        heard = await Client(socket).greet(extensions=ALL, epoch=1)
        assert heard["type"] == "agent:error"
        await socket.wait_closed()
        assert socket.close_code == 1008


async def test_the_same_epoch_may_connect_again(start: Start) -> None:
    receiver = await start()
    for _ in range(2):
        async with dialled(receiver.url, extensions=ALL, epoch=2) as client:
            assert (await client.exchange(callback(1), hl7("MSG1"), epoch=2))["type"] == "agent:transmit:response"


async def test_agents_have_epochs_of_their_own(start: Start) -> None:
    receiver = await start()
    async with dialled(receiver.url, extensions=ALL, epoch=9), connect(receiver.url) as socket:
        client = Client(socket)
        await client.say("agent:connect:request", agentId="other", epoch=1)
        assert (await client.hear())["type"] == "agent:connect:response"


async def test_a_restarted_receiver_knows_the_epochs_of_what_it_took(start: Start) -> None:
    first = await start()
    async with dialled(first.url, extensions=ALL, epoch=5) as client:
        await client.exchange(callback(1), hl7("MSG1"), epoch=5)
    await first.stop()
    second = await start()
    async with connect(second.url) as socket:
        assert (await Client(socket).greet(extensions=ALL, epoch=4))["type"] == "agent:error"
