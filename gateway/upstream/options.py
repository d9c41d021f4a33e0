"""What a link is told. It reads no configuration file; the protocol's numbers are the defaults."""

from dataclasses import dataclass, field
from pathlib import Path

from gateway.model.policy import Profile

MAX_FRAME = 64 << 20
"""Longest text frame taken, in bytes (PROTOCOL, section 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOptions:
    """One upstream. Times are in seconds.

    `url` is ws:// or wss:// as given, or http(s)://HOST[:PORT], from which ws(s)://HOST[:PORT]/ws/agent is derived.
    A token comes from `token`, from `token_file`, or from `token_url` (default: /oauth2/token at the host of `url`)
    by `client_id` and a secret, given as text or as a file; at most one of the three ways is used, in that order.
    Secrets are never shown by `repr`.
    """

    name: str
    url: str
    agent_id: str
    profile: Profile = Profile.GATEWAY
    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    client_secret_file: Path | None = None
    token_url: str | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    response_timeout: float = 60.0
    open_timeout: float = 10.0
    connect_timeout: float = 10.0
    status_timeout: float = 10.0
    token_timeout: float = 10.0
    close_timeout: float = 1.0
    heartbeat_interval: float = 10.0
    heartbeat_quiet: float = 20.0
    heartbeat_misses: int = 2
    reconnect_initial: float = 1.0
    reconnect_max: float = 30.0
    max_size: int = MAX_FRAME
    stray_limit: int = 10_000
