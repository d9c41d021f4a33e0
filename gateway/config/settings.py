"""The whole configuration as one frozen value, and the policies the rooms read from it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from gateway.config.channel import Channel
from gateway.config.gateway import Gateway, Lease, Store
from gateway.config.upstream import Upstream
from gateway.config.watch import Log, Metrics
from gateway.model.policy import DeliveryPolicy


class Settings(BaseSettings):
    """Everything an administrator chose. Paths are absolute once it was loaded."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    gateway: Gateway = Field(default_factory=Gateway, description="The process as a whole.")
    store: Store = Field(default_factory=Store, description="The durable queue.")
    lease: Lease = Field(default_factory=Lease, description="Who dispatches when several processes share a store.")
    metrics: Metrics = Field(default_factory=Metrics, description="The status server.")
    log: Log = Field(default_factory=Log, description="Lines on standard error.")
    upstream: tuple[Upstream, ...] = Field(description="Servers; at least one.")
    channel: tuple[Channel, ...] = Field(description="Listeners; at least one.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is the library's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - see above
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - see above
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - see above
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take only what `load` hands in: it lays the environment over the file, where array tables go by name."""
        return (init_settings,)

    def upstream_of(self, channel: Channel) -> Upstream:
        """Give the upstream a channel names; loading made sure there is one."""
        return next(upstream for upstream in self.upstream if upstream.name == channel.upstream)

    def channels_of(self, upstream: Upstream) -> tuple[Channel, ...]:
        """Give the channels that share an upstream, in the order of the file."""
        return tuple(channel for channel in self.channel if channel.upstream == upstream.name)

    def delivery_policy(self, channel: Channel) -> DeliveryPolicy:
        """Give everything the channel's delivery is told."""
        upstream = self.upstream_of(channel)
        return DeliveryPolicy(
            retry=channel.retry.policy(),
            outcome=channel.outcome_policy(),
            verdict=upstream.verdict_policy(),
            response_timeout=round(upstream.response_timeout * 1000),
            max_inflight=channel.max_inflight,
        )

    def anchored(self, folder: Path) -> Self:
        """Give the same with every relative path taken from `folder`, the one the file stands in."""
        data_dir = {"data_dir": folder / self.gateway.data_dir}
        return self.model_copy(
            update={
                "gateway": self.gateway.model_copy(update=data_dir),
                "upstream": tuple(_anchored(upstream, folder) for upstream in self.upstream),
                "channel": tuple(_anchored_channel(channel, folder) for channel in self.channel),
            }
        )


def _anchored(upstream: Upstream, folder: Path) -> Upstream:
    files: Mapping[str, Path | None] = {
        "token_file": upstream.token_file,
        "client_secret_file": upstream.client_secret_file,
    }
    update: dict[str, Any] = {key: folder / path for key, path in files.items() if path is not None}
    if upstream.tls.ca_file is not None:
        update["tls"] = upstream.tls.model_copy(update={"ca_file": folder / upstream.tls.ca_file})
    return upstream.model_copy(update=update)


def _anchored_channel(channel: Channel, folder: Path) -> Channel:
    if channel.tls is None:
        return channel
    files = {key: getattr(channel.tls, key) for key in ("cert_file", "key_file", "client_ca_file")}
    update = {key: folder / path for key, path in files.items() if path is not None}
    return channel.model_copy(update={"tls": channel.tls.model_copy(update=update)})
