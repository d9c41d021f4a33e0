"""What no single key of channel.tls can know: keys that need each other, and files that OpenSSL cannot use."""

import ssl
from collections.abc import Iterator
from pathlib import Path

from gateway.config.channel_tls import ChannelTls
from gateway.config.sources import folded
from gateway.config.tree import Place
from gateway.model.policy import ClientCert


def problems(tls: ChannelTls, folder: Path) -> Iterator[tuple[Place, str]]:
    """Give every problem with the key of the table it is about; relative paths start at `folder`."""
    yield from _needs(tls)
    yield from _senders(tls)
    yield from _files(tls, folder)


def _needs(tls: ChannelTls) -> Iterator[tuple[Place, str]]:
    if tls.client_cert is not ClientCert.NONE and tls.client_ca_file is None:
        yield ("client_ca_file",), f'is needed with client_cert = "{tls.client_cert}"'
    if tls.client_cert is ClientCert.NONE:
        for key in ("client_ca_file", "pinned", "senders"):
            if getattr(tls, key):
                yield (key,), 'does nothing while client_cert = "none"; set it to "required" or "optional"'


def _senders(tls: ChannelTls) -> Iterator[tuple[Place, str]]:
    seen: dict[str, int] = {}
    for index, sender in enumerate(tls.senders):
        if sender.subject is None and sender.dns is None and sender.fingerprint is None:
            yield ("senders", index), "needs subject, dns or fingerprint, else any certificate would be this sender's"
        first = seen.setdefault(folded(sender.name), index)
        if first != index:
            yield ("senders", index, "name"), f"senders[{first}] has that name already (case, - . _ do not count)"


def _files(tls: ChannelTls, folder: Path) -> Iterator[tuple[Place, str]]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    key_file = None if tls.key_file is None else folder / tls.key_file
    try:
        context.load_cert_chain(folder / tls.cert_file, key_file, password=_no_password)
    except (OSError, ValueError) as why:
        beside = "" if tls.key_file is None else f' with key_file = "{tls.key_file}"'
        yield ("cert_file",), f'"{tls.cert_file}"{beside} cannot be used: {_reason(why)}'
    if tls.client_ca_file is None:
        return
    try:
        context.load_verify_locations(cafile=folder / tls.client_ca_file)
    except OSError as why:
        yield ("client_ca_file",), f'"{tls.client_ca_file}" cannot be used: {_reason(why)}'


def _no_password() -> str:
    raise ValueError("the key is encrypted")


def _reason(why: Exception) -> str:
    if isinstance(why, ssl.SSLError):
        return (why.reason or "not a certificate and its key").lower().replace("_", " ")
    return (why.strerror or "cannot be read") if isinstance(why, OSError) else str(why)
