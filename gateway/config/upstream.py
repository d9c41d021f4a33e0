"""[[upstream]]: one server that messages are driven to."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from gateway.config.address import Address
from gateway.config.values import Flag, Location, Name, Seconds, Table, Word
from gateway.model.policy import Profile, RefusalVerdict, VerdictPolicy


def _url(*schemes: str) -> AfterValidator:
    def check(text: str) -> str:
        # The refusals never repeat the URL: it may hold a password.
        try:
            parts = urlsplit(text)
            host, _ = parts.hostname, parts.port
        except ValueError:
            raise ValueError("is not a URL") from None
        if parts.scheme not in schemes or not host:
            raise ValueError(f"must be a URL that begins with one of {', '.join(s + '://' for s in schemes)}")
        if parts.username is not None or parts.password is not None:
            raise ValueError("must not hold a user name or password; use token_file or client_secret_file")
        if parts.fragment:
            raise ValueError("must not hold a # fragment")
        return text

    return AfterValidator(check)


ServerUrl = Annotated[str, _url("ws", "wss", "http", "https")]
TokenUrl = Annotated[str, _url("https", "http")]


class Verdict(Table):
    """What a negative application answer of this server means."""

    ae: RefusalVerdict = Field(
        default=RefusalVerdict.RETRY,
        alias="AE",
        description="What AE and CE mean: `retry` tries again and uses up an attempt, `reject` ends the row.",
        examples=["retry"],
    )
    ar: RefusalVerdict = Field(
        default=RefusalVerdict.REJECT,
        alias="AR",
        description="What AR and CR mean; one whose ERR says 206 or 207 is tried again either way.",
        examples=["reject"],
    )


class Tls(Table):
    """How the server's certificate is checked."""

    ca_file: Location | None = Field(
        default=None,
        description="PEM file with the authorities to trust instead of the system's.",
        examples=["ca.pem"],
    )


class Upstream(Table):
    """[[upstream]]: one WebSocket, shared by every channel that names it."""

    name: Name = Field(description="Name by which channels refer to it.", examples=["main"])
    url: ServerUrl = Field(
        description="ws:// or wss:// as given; from http(s)://HOST the gateway derives ws(s)://HOST/ws/agent.",
        examples=["ws://127.0.0.1:8765/ws/agent"],
    )
    profile: Profile = Field(
        default=Profile.GATEWAY,
        description="Conventions of the server: `gateway` (extensions where granted), `medplum`, or `plain`.",
        examples=["gateway"],
    )
    agent_id: Word = Field(description="The id this gateway connects as.", examples=["demo"])
    token_file: Location | None = Field(
        default=None, description="File that holds the access token, read again before it is used.", examples=["token"]
    )
    token: SecretStr | None = Field(
        default=None,
        description="The access token itself; from the environment only, never from the file.",
    )
    client_id: Word | None = Field(
        default=None, description="OAuth2 client id (client credentials grant).", examples=["gateway"]
    )
    client_secret_file: Location | None = Field(
        default=None, description="File that holds the OAuth2 client secret.", examples=["client-secret"]
    )
    client_secret: SecretStr | None = Field(
        default=None,
        description="The OAuth2 client secret itself; from the environment only, never from the file.",
    )
    token_url: TokenUrl | None = Field(
        default=None,
        description="Token endpoint. Not set: /oauth2/token at the host of `url`.",
        examples=["https://auth.example.org/oauth2/token"],
    )
    response_timeout: Seconds = Field(
        default=60.0,
        gt=0,
        le=86_400,
        description="Seconds to wait for the answer to a send, from when it has left the write buffer.",
        examples=[60],
    )
    check_msa2: Flag = Field(
        default=True,
        description="An answer counts only if its MSA-2 is the message's own control id.",
        examples=[True],
    )
    verdict: Verdict = Field(default_factory=Verdict, description="What negative answers mean.")
    tls: Tls = Field(default_factory=Tls, description="How the server's certificate is checked.")

    def verdict_policy(self) -> VerdictPolicy:
        """Give how this server's answers are read."""
        return VerdictPolicy(profile=self.profile, ar=self.verdict.ar, ae=self.verdict.ae, check_msa2=self.check_msa2)

    @property
    def is_plain_beyond_loopback(self) -> bool:
        """True when its traffic leaves this machine unencrypted."""
        parts = urlsplit(self.url)
        return parts.scheme in {"ws", "http"} and not Address(host=parts.hostname or "", port=0).is_loopback
