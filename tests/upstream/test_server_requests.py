import pytest

from gateway.model.upstream import Answer
from tests.upstream.world import callback, linked, message, named, outcome, serving


@pytest.mark.parametrize(
    ("type_", "counted"),
    [
        ("agent:transmit:request", "agent:transmit:request"),
        ("push", "unknown"),
        ("agent:stats:request", "agent:stats:request"),
        ("agent:logs:request", "agent:logs:request"),
        ("agent:reloadconfig:request", "agent:reloadconfig:request"),
        ("agent:upgrade:request", "agent:upgrade:request"),
        ("agent:jane-doe:request", "unknown"),
        ("anything", "unknown"),
    ],
)
async def test_every_request_of_the_server_is_refused_with_its_callback(type_: str, counted: str) -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        await world.live()
        await peer.say(type_, callback="their/own#1", remote="10.0.0.1:2575", body="MSH|secret")
        heard = await peer.hear()
        assert (heard["type"], heard["callback"]) == ("agent:error", "their/own#1")
        assert heard["body"]
        (refused,) = world.events.of("server-request-refused")
        assert refused["type"] == counted


async def test_a_request_without_a_callback_is_refused_without_one() -> None:
    async with serving() as server, linked(server.url):
        peer = await server.welcome()
        await peer.say("agent:upgrade:request")
        heard = await peer.hear()
        assert heard["type"] == "agent:error"
        assert "callback" not in heard


async def test_a_request_of_the_server_does_not_disturb_a_send() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        future = (await world.live()).transmit(message())
        await peer.hear_of("agent:transmit:request")
        # Even one that bears the very callback of the send.
        await peer.say("agent:transmit:request", callback=named(), body="MSH|push")
        assert (await peer.hear())["callback"] == named()
        assert not future.done()
        await peer.answer(named(), statusCode=200)
        assert isinstance(await outcome(future), Answer)


async def test_a_receipt_is_given_on() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome(extensions=["receipt"])
        future = (await world.live()).transmit(message())
        await peer.say("gateway:receipt", callback=named())
        assert await world.link.receipt() == callback()
        assert not future.done()
