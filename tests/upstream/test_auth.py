import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import NotLive
from gateway.model.upstream import LinkLost
from gateway.upstream.connection import LiveConnection
from gateway.upstream.options import LinkOptions
from tests.upstream.tokens import Endpoint, endpoint
from tests.upstream.world import Peer, linked, message, outcome, serving


def client(tokens: Endpoint, **more: Any) -> dict[str, Any]:
    return {"token_url": tokens.url, "client_id": "gate way", "client_secret": "s3cr&t"} | more


def is_prepared(connection: LiveConnection) -> bool:
    """Read it afresh: the clock moves between two looks."""
    return connection.is_prepared


async def token_of(peer: Peer) -> str:
    """The token in the next transmit request."""
    return str((await peer.hear_of("agent:transmit:request"))["accessToken"])


async def test_a_token_is_fetched_by_client_credentials_before_the_connect_request() -> None:
    async with endpoint() as tokens, serving() as server, linked(server.url, **client(tokens)):
        assert (await (await server.accept()).greet())["accessToken"] == "token-1"
    assert tokens.asked == [("/oauth2/token", "gate+way:s3cr%26t", {"grant_type": ["client_credentials"]})]


async def test_the_secret_can_stand_in_a_file(tmp_path: Path) -> None:
    place(tmp_path / "secret", "from-file\n")
    given = {"client_secret": None, "client_secret_file": tmp_path / "secret"}
    async with endpoint() as tokens, serving() as server, linked(server.url, **client(tokens, **given)):
        await server.welcome()
    assert tokens.asked[0][1] == "gate+way:from-file"


async def test_a_secret_file_that_is_gone_is_named(tmp_path: Path) -> None:
    given = {"client_secret": None, "client_secret_file": tmp_path / "secret"}
    async with endpoint() as tokens, serving() as server, linked(server.url, **client(tokens, **given)) as world:
        (down, *_) = await world.events.wait("link-down", 2)
    assert (down["step"], down["reason"]) == ("auth", "the client secret file cannot be read")


async def test_the_token_endpoint_of_the_servers_own_host_is_the_default() -> None:
    async with endpoint() as tokens:
        url = tokens.url.replace("/oauth2/token", "")
        async with linked(url, client_id="a", client_secret="b"):
            await tokens.wait_asked(1)
    assert tokens.asked[0][0] == "/oauth2/token"


async def test_a_token_is_renewed_before_it_expires_and_used_in_the_next_send() -> None:
    async with endpoint(life=600) as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        peer = await server.welcome()
        connection = await world.live()
        assert is_prepared(connection)
        world.clock.forward(539)
        assert is_prepared(connection)
        await connection.prepare()
        connection.transmit(message(1))
        assert await token_of(peer) == "token-1"
        world.clock.forward(2)
        assert not is_prepared(connection)
        await connection.prepare()
        assert is_prepared(connection)
        connection.transmit(message(2))
        assert await token_of(peer) == "token-2"


async def test_a_send_never_waits_for_a_token() -> None:
    async with endpoint(life=600) as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        peer = await server.welcome()
        connection = await world.live()
        world.clock.forward(599)
        connection.transmit(message(1))
        assert await token_of(peer) == "token-1"
        assert len(tokens.asked) == 1


async def test_many_that_wait_for_a_token_share_one_request() -> None:
    async with endpoint(life=600) as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        await server.welcome()
        connection = await world.live()
        world.clock.forward(560)
        async with asyncio.timeout(5):
            await asyncio.gather(*(connection.prepare() for _ in range(10)))
        assert len(tokens.asked) == 2


async def test_a_token_that_still_holds_is_used_on_while_the_endpoint_fails() -> None:
    async with endpoint(life=600) as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        peer = await server.welcome()
        connection = await world.live()
        tokens.status = 500
        world.clock.forward(560)
        await connection.prepare()
        # It is not asked again for a while: sends must not queue up behind a sick endpoint.
        assert is_prepared(connection)
        connection.transmit(message(1))
        assert await token_of(peer) == "token-1"
        assert len(tokens.asked) == 2
        world.clock.forward(11)
        assert not is_prepared(connection)


async def test_without_any_valid_token_the_connection_is_given_up_and_comes_back() -> None:
    async with endpoint(life=600) as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        peer = await server.welcome()
        connection = await world.live()
        in_air = connection.transmit(message(1))
        tokens.status = 500
        world.clock.forward(601)
        with pytest.raises(NotLive):
            await connection.prepare()
        assert not connection.is_live
        assert await outcome(in_air) == LinkLost(too_large=False)
        await peer.gone()
        (down, *_) = await world.events.wait("link-down", 2)
        assert down["step"] == "auth"
        tokens.status = 200
        peer = await server.accept()
        assert (await peer.greet())["accessToken"] == f"token-{len(tokens.asked)}"
        await world.live(after=1)


async def test_a_connection_lost_while_the_token_comes_is_not_live() -> None:
    async with endpoint(life=600) as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        peer = await server.welcome()
        connection = await world.live()
        world.clock.forward(560)
        tokens.holds = asyncio.Event()
        preparing = asyncio.ensure_future(connection.prepare())
        await tokens.wait_asked(2)
        peer.cut()
        await world.events.wait("link-down")
        tokens.holds.set()
        with pytest.raises(NotLive):
            await preparing


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ({"status": 401}, "the token endpoint answered status 401"),
        ({"raw": b"<html>"}, "the token endpoint did not answer in JSON"),
        ({"raw": b"[]"}, "the token endpoint did not answer with an object"),
        ({"raw": b"{}"}, "the token endpoint gave no access_token"),
        ({"raw": b'{"access_token": ""}'}, "the token endpoint gave no access_token"),
    ],
)
async def test_trouble_at_the_token_endpoint_is_named(trouble: dict[str, Any], reason: str) -> None:
    async with endpoint(**trouble) as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        (down, *_) = await world.events.wait("link-down", 2)
        assert server.arrivals.empty()
    assert (down["step"], down["reason"]) == ("auth", reason)


async def test_a_token_endpoint_that_is_away_is_named() -> None:
    async with endpoint() as tokens:
        pass
    async with serving() as server, linked(server.url, **client(tokens)) as world:
        (down, *_) = await world.events.wait("link-down", 2)
    assert (down["step"], down["reason"]) == ("auth", "the token endpoint failed: ConnectError")


async def test_a_token_endpoint_that_is_silent_is_given_up() -> None:
    async with endpoint(holds=asyncio.Event()) as tokens, serving() as server:
        async with linked(server.url, **client(tokens, token_timeout=0.05)) as world:
            (down, *_) = await world.events.wait("link-down", 2)
        assert tokens.holds is not None
        tokens.holds.set()
    assert down["step"] == "auth"


@pytest.mark.parametrize("life", [None, "soon", True, 0, -5])
async def test_a_life_that_cannot_be_read_counts_as_an_hour(life: object) -> None:
    async with endpoint(life=life) as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        await server.welcome()
        connection = await world.live()
        world.clock.forward(3539)
        assert is_prepared(connection)
        world.clock.forward(2)
        assert not is_prepared(connection)


async def test_a_refused_connect_request_fetches_a_new_token() -> None:
    async with endpoint() as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        world.clock.forward(0)
        first = await server.accept()
        assert (await first.hear())["accessToken"] == "token-1"
        world.clock.forward(10)
        await first.say("agent:error", body="bad token")
        assert (await (await server.accept()).greet())["accessToken"] == "token-2"


async def test_an_error_that_names_nothing_fetches_a_new_token_before_the_next_send() -> None:
    async with endpoint() as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        peer = await server.welcome()
        connection = await world.live()
        world.clock.forward(10)
        await peer.say("agent:error", body="bad token")
        await world.events.wait("error-without-callback")
        assert not is_prepared(connection)
        await connection.prepare()
        connection.transmit(message())
        assert await token_of(peer) == "token-2"


async def test_a_token_only_a_moment_old_is_not_doubted() -> None:
    async with endpoint() as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        peer = await server.welcome()
        connection = await world.live()
        await peer.say("agent:error", body="unknown channel")
        await world.events.wait("error-without-callback")
        assert is_prepared(connection)


async def test_a_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "token"
    place(path, " first\n")
    async with serving() as server, linked(server.url, token_file=path) as world:
        peer = await server.accept()
        assert (await peer.greet())["accessToken"] == "first"
        connection = await world.live()
        place(path, "second")
        world.clock.forward(1)
        assert is_prepared(connection)
        connection.transmit(message())
        assert await token_of(peer) == "second"


async def test_a_token_file_that_is_gone_leaves_the_last_token_in_use(tmp_path: Path) -> None:
    path = tmp_path / "token"
    place(path, "first")
    async with serving() as server, linked(server.url, token_file=path) as world:
        peer = await server.welcome()
        connection = await world.live()
        remove(path)
        world.clock.forward(5)
        await connection.prepare()
        connection.transmit(message())
        assert await token_of(peer) == "first"


async def test_a_token_file_with_nothing_in_it_leads_to_no_connection(tmp_path: Path) -> None:
    path = tmp_path / "token"
    place(path, "\n")
    async with serving() as server, linked(server.url, token_file=path) as world:
        (down, *_) = await world.events.wait("link-down", 2)
        assert server.arrivals.empty()
        assert (down["step"], down["reason"]) == ("auth", "the token file cannot be read or is empty")
        place(path, "late")
        assert (await (await server.accept()).greet())["accessToken"] == "late"


async def test_a_doubted_token_file_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    place(path, "first")
    async with serving() as server, linked(server.url, token_file=path) as world:
        peer = await server.welcome()
        connection = await world.live()
        place(path, "second")
        await peer.say("agent:error", body="bad token")
        await world.events.wait("error-without-callback")
        assert is_prepared(connection)
        connection.transmit(message())
        assert await token_of(peer) == "second"


async def test_secrets_and_tokens_are_in_no_event_and_no_repr() -> None:
    async with endpoint(status=401) as tokens, serving() as server, linked(server.url, **client(tokens)) as world:
        await world.events.wait("link-down", 2)
        shown = repr(world.events.all) + repr(world.options) + str(world.link.last_error)
    shown += repr(LinkOptions(name="a", url="ws://b", agent_id="c", token="t0ken"))
    assert "s3cr" not in shown
    assert "t0ken" not in shown


def place(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def remove(path: Path) -> None:
    path.unlink()
