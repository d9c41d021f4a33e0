import pytest

from gateway.upstream.address import host_and_port, is_secure, socket_url, token_url


@pytest.mark.parametrize(
    ("given", "socket", "token"),
    [
        ("ws://h:8765/ws/agent", "ws://h:8765/ws/agent", "http://h:8765/oauth2/token"),
        ("wss://h/elsewhere?x=1", "wss://h/elsewhere?x=1", "https://h/oauth2/token"),
        ("http://h:8103", "ws://h:8103/ws/agent", "http://h:8103/oauth2/token"),
        ("https://h/", "wss://h/ws/agent", "https://h/oauth2/token"),
        ("https://[::1]:8103/fhir?x=1", "wss://[::1]:8103/ws/agent", "https://[::1]:8103/oauth2/token"),
    ],
)
def test_both_addresses_come_from_the_configured_one(given: str, socket: str, token: str) -> None:
    assert (socket_url(given), token_url(given)) == (socket, token)


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("ws://h/x", ("h", 80)),
        ("wss://h/x", ("h", 443)),
        ("wss://h:1/x", ("h", 1)),
        ("ws://[::1]:5/x", ("::1", 5)),
    ],
)
def test_ports_follow_from_the_scheme(url: str, where: tuple[str, int]) -> None:
    assert host_and_port(url) == where


@pytest.mark.parametrize(
    ("url", "secure"), [("ws://h", False), ("wss://h", True), ("http://h", False), ("https://h", True)]
)
def test_only_two_schemes_ask_for_tls(url: str, secure: bool) -> None:
    assert is_secure(url) is secure
