"""Access tokens: none, fixed, from a file, or by OAuth2 client credentials (RFC 6749, 4.4).

A token is renewed before it expires, and before a send is marked; never between the mark and the write.
No secret and no token ever stands in an error, an event or a log.
"""

import asyncio
import ssl
from typing import Protocol
from urllib.parse import quote_plus

import httpx

from gateway.errors import ConnectFailed
from gateway.ports.clock import Clock
from gateway.upstream import address, tls
from gateway.upstream.options import LinkOptions

LIFETIME = 3_600_000
"""Milliseconds a token is trusted for when the endpoint does not say."""

MARGIN = 60_000
"""A token is renewed this many milliseconds before it expires, or at nine tenths of its life if that is later."""

PAUSE = 10_000
"""Milliseconds between two tries to renew a token that still holds."""


class Tokens(Protocol):
    """Where the access token comes from."""

    @property
    def value(self) -> str | None:
        """The token for the next request; None when none is configured."""

    def is_fresh(self) -> bool:
        """Say whether `renew` would have nothing to do."""

    async def renew(self) -> None:
        """Get a token that will hold for a while. Raises ConnectFailed at step `auth` if there is none at all."""

    def doubt(self) -> None:
        """Note that the server refused something: the next `renew` gets a new token."""


def tokens_of(options: LinkOptions, *, clock: Clock) -> Tokens:
    """Choose the one way to a token that is configured."""
    if options.token is not None:
        return FixedToken(options.token)
    if options.token_file is not None:
        return FileToken(options, clock=clock)
    if options.client_id is not None:
        return ClientToken(options, clock=clock)
    return FixedToken(None)


class FixedToken:
    """A token that never changes, or none."""

    def __init__(self, value: str | None) -> None:
        self.value = value

    def is_fresh(self) -> bool:
        """Say yes: there is nothing newer."""
        return True

    async def renew(self) -> None:
        """Do nothing."""

    def doubt(self) -> None:
        """Do nothing: there is no other token."""


class FileToken:
    """A token that somebody else renews in a file; the file is looked at again at most every second."""

    def __init__(self, options: LinkOptions, *, clock: Clock) -> None:
        if options.token_file is None:
            raise ValueError("no token file")
        self._path = options.token_file
        self._clock = clock
        self._looked_at: int | None = None
        self.value: str | None = None

    def is_fresh(self) -> bool:
        """Read the file again if it is time to; a file that is gone leaves the last token in use."""
        now = self._clock().ms
        if self._looked_at is None or now - self._looked_at >= 1_000:
            self._looked_at = now
            self.value = self._read() or self.value
        return self.value is not None

    async def renew(self) -> None:
        """Read the file now."""
        self._looked_at = self._clock().ms
        self.value = self._read() or self.value
        if self.value is None:
            raise ConnectFailed(step="auth", reason="the token file cannot be read or is empty")

    def doubt(self) -> None:
        """Look at the file again before the next use."""
        self._looked_at = None

    def _read(self) -> str | None:
        try:
            return self._path.read_text(encoding="utf-8").strip() or None
        except (OSError, UnicodeDecodeError):
            return None  # renew() says so where it matters: when there is no token at all


class ClientToken:
    """A token of our own by client credentials; many waiters share one request."""

    def __init__(self, options: LinkOptions, *, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._lock = asyncio.Lock()
        self._fetched_at = 0
        self._renew_at = 0
        self._expires_at = 0
        self.value: str | None = None

    def is_fresh(self) -> bool:
        """Say whether the token will hold for a while."""
        return self.value is not None and self._clock().ms < self._renew_at

    async def renew(self) -> None:
        """Ask the endpoint for a token, unless another waiter just did."""
        async with self._lock:
            if self.is_fresh():
                return
            try:
                await self._fetch()
            except ConnectFailed:
                now = self._clock().ms
                if self.value is None or now >= self._expires_at:
                    self.value = None
                    raise
                # The token in hand still holds: go on with it, and try again a little later.
                self._renew_at = min(now + PAUSE, self._expires_at)

    def doubt(self) -> None:
        """Renew before the next use, unless the token is only a moment old."""
        if self._clock().ms - self._fetched_at >= PAUSE:
            self._renew_at = 0

    async def _fetch(self) -> None:
        asked_at = self._clock().ms
        found = await self._post()
        token = found.get("access_token")
        if not isinstance(token, str) or not token:
            raise ConnectFailed(step="auth", reason="the token endpoint gave no access_token")
        life = _milliseconds(found.get("expires_in"))
        self.value = token
        self._fetched_at = asked_at
        self._expires_at = asked_at + life
        self._renew_at = asked_at + max(life - MARGIN, life * 9 // 10)

    async def _post(self) -> dict[str, object]:
        """Make the token request; every failure becomes a ConnectFailed without a trace of the secret."""
        url = self._options.token_url or address.token_url(self._options.url)
        try:
            async with (
                asyncio.timeout(self._options.token_timeout),
                httpx.AsyncClient(
                    verify=self._verify(url), trust_env=False, timeout=self._options.token_timeout
                ) as client,
            ):
                answer = await client.post(
                    url,
                    data={"grant_type": "client_credentials"},
                    headers={"Accept": "application/json"},
                    auth=self._basic(),
                )
                found = answer.json() if answer.status_code == httpx.codes.OK else None
        except TimeoutError:
            raise ConnectFailed(step="auth", reason="the token endpoint did not answer in time") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as trouble:
            raise ConnectFailed(step="auth", reason=f"the token endpoint failed: {type(trouble).__name__}") from None
        except ValueError:
            raise ConnectFailed(step="auth", reason="the token endpoint did not answer in JSON") from None
        if found is None:
            raise ConnectFailed(step="auth", reason=f"the token endpoint answered status {answer.status_code}")
        if not isinstance(found, dict):
            raise ConnectFailed(step="auth", reason="the token endpoint did not answer with an object")
        return found

    def _verify(self, url: str) -> ssl.SSLContext | bool:
        if not address.is_secure(url):
            return False
        return tls.context(
            ca_file=self._options.ca_file, cert_file=self._options.cert_file, key_file=self._options.key_file
        )

    def _basic(self) -> httpx.BasicAuth:
        """RFC 6749, 2.3.1: id and secret are form-encoded first."""
        return httpx.BasicAuth(quote_plus(self._options.client_id or ""), quote_plus(self._secret()))

    def _secret(self) -> str:
        if self._options.client_secret is not None:
            return self._options.client_secret
        if self._options.client_secret_file is None:
            return ""
        try:
            return self._options.client_secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise ConnectFailed(step="auth", reason="the client secret file cannot be read") from None


def _milliseconds(expires_in: object) -> int:
    if isinstance(expires_in, bool) or not isinstance(expires_in, int | float) or expires_in <= 0:
        return LIFETIME
    return int(expires_in * 1_000)
