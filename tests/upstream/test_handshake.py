import asyncio
import socket
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from gateway.model.upstream import Answer, Extension, Granted
from tests.upstream.world import EXTENSIONS, TLS, callback, linked, named, serving


async def test_the_connect_request_says_who_we_are_and_what_we_wish_for() -> None:
    async with serving() as server, linked(server.url, epoch=9, token="secret") as world:
        request = await (await server.accept()).greet()
        await world.live()
    assert request == {
        "type": "agent:connect:request",
        "accessToken": "secret",
        "agentId": "demo",
        "extensions": EXTENSIONS,
        "epoch": 9,
    }


async def test_no_token_is_named_when_none_is_configured() -> None:
    async with serving() as server, linked(server.url):
        assert "accessToken" not in await (await server.accept()).greet()


async def test_the_link_is_live_only_once_the_connect_request_was_answered() -> None:
    async with serving() as server, linked(server.url) as world:
        assert world.link.state == "connecting"
        peer = await server.accept()
        await peer.hear_of("agent:connect:request")
        waiting = asyncio.ensure_future(world.link.live())
        # An answer to something else shows that the link reads, and still is not live.
        await peer.say("agent:heartbeat:request")
        await peer.hear_of("agent:heartbeat:response")
        assert not waiting.done()
        assert world.link.state == "connecting"
        await peer.say("agent:connect:response")
        connection = await waiting
        assert connection.is_live
        assert connection.number == 1
        assert world.link.state == "live"
        assert world.link.last_error is None


async def test_a_legacy_name_makes_it_live_as_well() -> None:
    async with serving() as server, linked(server.url) as world:
        await (await server.accept()).say("connected")
        assert (await world.live()).granted == Granted()


async def test_what_the_server_grants_is_known() -> None:
    async with serving() as server, linked(server.url) as world:
        await server.welcome(extensions=["dedupe", "receipt"], dedupeWindow=60)
        granted = (await world.live()).granted
        assert granted == Granted(extensions=frozenset({Extension.DEDUPE, Extension.RECEIPT}), dedupe_window=60.0)
        (up,) = world.events.of("link-up")
        assert up["granted"] == "dedupe,receipt"


async def test_an_unanswered_connect_request_closes_and_tries_again() -> None:
    async with serving() as server, linked(server.url, connect_timeout=0.05) as world:
        first = await server.accept()
        await first.gone()
        await server.welcome()
        await world.live()
    (down,) = world.events.of("link-down")[:1]
    assert (down["step"], down["reason"]) == ("connect", "the connect request was not answered in time")


async def test_a_refused_connect_request_closes_and_tries_again() -> None:
    async with serving() as server, linked(server.url) as world:
        first = await server.accept()
        await first.say("agent:error", body="invalid token of Jane Doe")
        await first.gone()
        assert world.link.last_error is None or "Jane" not in world.link.last_error
        await server.welcome()
        await world.live()
    (down,) = world.events.of("link-down")[:1]
    assert (down["step"], down["reason"]) == ("connect", "the server refused the connect request")


async def test_a_connection_closed_instead_of_an_answer_tries_again() -> None:
    async with serving() as server, linked(server.url) as world:
        first = await server.accept()
        await first.hear_of("agent:connect:request")
        await first.socket.close(1008)
        await server.welcome()
        await world.live()
    (down,) = world.events.of("link-down")[:1]
    assert (down["step"], down["reason"]) == ("connect", "closed before the answer, close code 1008")


async def test_answers_that_come_before_the_connect_response_are_not_lost() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.accept()
        await peer.answer(named(3), statusCode=200)
        await peer.greet()
        stray = await world.link.stray()
    assert stray.callback == callback(3)
    assert isinstance(stray.outcome, Answer)


async def test_a_second_connect_response_changes_nothing() -> None:
    async with serving() as server, linked(server.url) as world:
        peer = await server.welcome()
        connection = await world.live()
        await peer.say("agent:connect:response", extensions=EXTENSIONS)
        await world.events.wait("frame-unexpected")
        assert connection.granted == Granted()


async def test_a_port_nobody_listens_on_is_tried_again_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with linked(f"ws://127.0.0.1:{port}") as world:
        downs = await world.events.wait("link-down", 5)
        assert {(each["step"], each["reason"]) for each in downs} == {("tcp", "Connection refused")}
        assert world.link.state == "connecting"
        assert world.link.last_error == "tcp: Connection refused"
        async with serving(port=port) as server:
            await server.welcome()
            await world.live()
            assert world.link.last_error is None


async def test_the_name_is_looked_up_afresh_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as server:
        asked: list[object] = []

        def resolver(host: Any, port: Any, *_: Any, **__: Any) -> list[Any]:
            asked.append(host)
            if len(asked) < 3:
                raise socket.gaierror(socket.EAI_NONAME, "unknown")
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]

        monkeypatch.setattr(socket, "getaddrinfo", resolver)
        async with linked("ws://server.example:1/ws/agent") as world:
            await server.welcome()
            await world.live()
    assert asked == ["server.example"] * 3
    assert [each["step"] for each in world.events.of("link-down")[:2]] == ["dns", "dns"]


async def test_an_http_refusal_is_named_with_its_status() -> None:
    def refuse(connection: ServerConnection, _: Request) -> Response:
        return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "busy with Jane Doe")

    async with serving(process_request=refuse) as server, linked(server.url) as world:
        (down, *_) = await world.events.wait("link-down", 2)
    assert (down["step"], down["reason"]) == ("http", "status 503")


async def test_something_that_is_no_websocket_is_named() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        async with linked(f"ws://127.0.0.1:{port}") as world:
            (down, *_) = await world.events.wait("link-down", 2)
    assert down["step"] == "http"


async def test_a_server_that_never_answers_http_is_given_up() -> None:
    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(hold, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        async with linked(f"ws://127.0.0.1:{port}", open_timeout=0.05) as world:
            (down, *_) = await world.events.wait("link-down", 2)
    assert (down["step"], down["reason"]) == ("tcp", "not open in time")


async def test_a_redirect_to_another_server_is_not_followed() -> None:
    async with serving() as elsewhere:

        def redirect(_: ServerConnection, __: Request) -> Response:
            return Response(307, "Temporary Redirect", Headers({"Location": elsewhere.url, "Content-Length": "0"}))

        async with serving(process_request=redirect) as server, linked(server.url, token="secret") as world:
            (down, *_) = await world.events.wait("link-down", 2)
            assert elsewhere.arrivals.empty()
    assert down["step"] == "http"


async def test_tls_works_with_the_authority_we_trust() -> None:
    async with serving(tls=True) as server, linked(server.url, ca_file=TLS / "server.pem") as world:
        await server.welcome()
        assert (await world.live()).is_live


@pytest.mark.parametrize("ca_file", [TLS / "other.pem", None])
async def test_a_certificate_we_do_not_trust_is_refused(ca_file: Path | None) -> None:
    async with serving(tls=True) as server, linked(server.url, ca_file=ca_file, token="secret") as world:
        (down, *_) = await world.events.wait("link-down", 2)
        assert server.arrivals.empty()
    assert down["step"] == "tls"
    assert str(down["reason"]).startswith("certificate: ")


async def test_a_server_without_tls_behind_a_wss_url_is_named() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        async with linked(f"wss://127.0.0.1:{port}") as world:
            (down, *_) = await world.events.wait("link-down", 2)
    assert (down["step"], down["reason"]) == ("tls", "the TLS handshake failed")


async def test_a_client_certificate_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    async with serving(tls=True) as server, linked(server.url, cert_file=tmp_path / "gone.pem") as world:
        (down, *_) = await world.events.wait("link-down", 2)
    assert (down["step"], down["reason"]) == ("tcp", "No such file or directory")
