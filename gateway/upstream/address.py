"""Where an upstream is: its WebSocket and its token endpoint, from one configured URL. Looks nothing up."""

from urllib.parse import SplitResult, urlsplit, urlunsplit

_SOCKET_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
_WEB_SCHEMES = {"ws": "http", "wss": "https", "http": "http", "https": "https"}
_DEFAULT_PORTS = {"ws": 80, "wss": 443}


def socket_url(url: str) -> str:
    """Give the WebSocket URL: ws(s):// as given, from http(s)://HOST[:PORT] the agents' own path."""
    parts = urlsplit(url)
    if parts.scheme in {"ws", "wss"}:
        return url
    return urlunsplit(SplitResult(_SOCKET_SCHEMES[parts.scheme], parts.netloc, "/ws/agent", "", ""))


def token_url(url: str) -> str:
    """Give the default token endpoint of the same host."""
    parts = urlsplit(url)
    return urlunsplit(SplitResult(_WEB_SCHEMES[parts.scheme], parts.netloc, "/oauth2/token", "", ""))


def host_and_port(url: str) -> tuple[str, int]:
    """Give the host and port a WebSocket URL leads to."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme]


def is_secure(url: str) -> bool:
    """Say whether the URL asks for TLS."""
    return urlsplit(url).scheme in {"wss", "https"}
