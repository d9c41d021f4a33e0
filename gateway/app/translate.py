"""From the configuration's words to the rooms' options. No decision is made here."""

from ipaddress import ip_network

from gateway.config.channel import Channel
from gateway.config.channel_tls import ChannelTls, attributes
from gateway.config.settings import Settings
from gateway.config.upstream import Upstream
from gateway.dispatcher.options import ChannelDelivery, DispatchOptions
from gateway.listener.options import (
    AcceptOptions,
    AckOptions,
    ChannelOptions,
    Patience,
    SenderOptions,
    TlsOptions,
)
from gateway.observe.options import LogOptions
from gateway.store.options import StoreOptions
from gateway.upstream.options import LinkOptions


def store_options(settings: Settings) -> StoreOptions:
    """Give what the store is told."""
    return StoreOptions(
        low_space=settings.store.low_space,
        retry_initial=round(min(channel.retry.initial for channel in settings.channel) * 1_000),
    )


def channel_options(channel: Channel) -> ChannelOptions:
    """Give what one listener is told."""
    return ChannelOptions(
        name=channel.channel_name,
        host=channel.listen.host,
        port=channel.listen.port,
        framing=channel.framing,
        max_message_bytes=channel.max_message_bytes,
        max_connections=channel.max_connections,
        max_connections_per_address=channel.max_connections_per_address,
        max_pipelined=channel.max_pipelined,
        rate_limit=channel.rate_limit,
        patience=Patience(frame=channel.frame_timeout, idle=channel.idle_timeout),
        ack=AckOptions(
            mode=channel.ack.mode,
            deadline=channel.ack.deadline,
            on_deadline=channel.ack.on_deadline,
            unavailable=channel.ack.unavailable,
        ),
        dedupe_key=channel.dedupe.key,
        dedupe_window=round(channel.dedupe.window * 1_000),
        on_collision=channel.dedupe.on_collision,
        on_failed_retransmit=channel.dedupe.on_failed_retransmit,
        require_control_id=channel.require_control_id,
        accept=AcceptOptions(
            types=frozenset(channel.accept.types),
            versions=frozenset(channel.accept.versions),
            processing_ids=frozenset(channel.accept.processing_ids),
        ),
        sequence=channel.sequence,
        encoding=channel.encoding,
        default_encoding=channel.default_encoding,
        fallback_encoding=channel.fallback_encoding,
        order_by=channel.order_by or None,
        order_barrier=frozenset(channel.order_barrier),
        allow=tuple(ip_network(network) for network in channel.allow),
        tls=None if channel.tls is None else tls_options(channel.tls),
    )


def tls_options(tls: ChannelTls) -> TlsOptions:
    """Give what one listener is told about TLS."""
    return TlsOptions(
        cert_file=tls.cert_file,
        key_file=tls.key_file,
        min_version=tls.min_version,
        client_cert=tls.client_cert,
        client_ca_file=tls.client_ca_file,
        pinned=frozenset(tls.pinned),
        handshake_timeout=tls.handshake_timeout,
        senders=tuple(
            SenderOptions(
                name=sender.name,
                subject=() if sender.subject is None else attributes(sender.subject),
                dns=sender.dns,
                fingerprint=sender.fingerprint,
                msh3=sender.msh3,
                msh4=sender.msh4,
            )
            for sender in tls.senders
        ),
    )


def dispatch_options(settings: Settings, upstream: Upstream, *, holder: str) -> DispatchOptions:
    """Give what the dispatcher of one upstream is told."""
    return DispatchOptions(
        group=upstream.name,
        agent_id=upstream.agent_id,
        holder=holder,
        ttl=round(settings.lease.ttl * 1_000),
        channels=tuple(
            ChannelDelivery(name=channel.channel_name, policy=settings.delivery_policy(channel))
            for channel in settings.channels_of(upstream)
        ),
    )


def link_options(upstream: Upstream) -> LinkOptions:
    """Give what the link of one upstream is told."""
    return LinkOptions(
        name=upstream.name,
        url=upstream.url,
        agent_id=upstream.agent_id,
        profile=upstream.profile,
        token=None if upstream.token is None else upstream.token.get_secret_value(),
        token_file=upstream.token_file,
        client_id=upstream.client_id,
        client_secret=None if upstream.client_secret is None else upstream.client_secret.get_secret_value(),
        client_secret_file=upstream.client_secret_file,
        token_url=upstream.token_url,
        ca_file=upstream.tls.ca_file,
        response_timeout=upstream.response_timeout,
    )


def log_options(settings: Settings) -> LogOptions:
    """Give what the log is told."""
    return LogOptions(format=settings.log.format, level=settings.log.level)
