"""What no single key can know: clashes between tables, files that cannot be read, what an administrator should hear.

Works on the raw document, so that these are found beside keys that are wrong elsewhere.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from gateway.config import certificates
from gateway.config.address import Address
from gateway.config.channel import Channel
from gateway.config.gateway import Gateway
from gateway.config.problems import location
from gateway.config.settings import Settings
from gateway.config.sources import folded
from gateway.config.tree import Place, adapter, keys
from gateway.config.upstream import Tls, Upstream
from gateway.config.watch import Metrics

Document = Mapping[str, Any]


def clashes(document: Document, folder: Path) -> tuple[str, ...]:
    """Give every problem between keys, one line each; keys that are wrong in themselves are passed over."""
    return (
        *_none_at_all(document),
        *_same_names(document, "upstream", Upstream),
        *_same_names(document, "channel", Channel),
        *_same_ports(document),
        *_unknown_upstreams(document),
        *_open_listeners(document),
        *_sign_in(document),
        *_tls(document, folder),
        *_too_small_memory(document),
        *_unreadable(document, folder),
    )


def secrets_in(document: Document) -> tuple[str, ...]:
    """Give a problem for each secret that stands in the file itself."""
    return tuple(
        f"{location(document, ('upstream', index, key))}: a secret does not stand in this file; "
        f"use {key}_file, or GATEWAY_UPSTREAM__NAME__{key.upper()} in the environment"
        for index, table in _tables(document, "upstream")
        for key in ("token", "client_secret")
        if key in table
    )


def warnings(settings: Settings) -> tuple[str, ...]:
    """Give what is allowed but an administrator should hear about, one line each."""
    return (*_wide_metrics(settings), *_plain_links(settings), *_readable_secrets(settings))


def _value(model: type[BaseModel], table: object, key: str) -> Any:
    """Give the key's value, its default if it is not there, or None if it is wrong in itself."""
    field = keys(model)[key]
    if not isinstance(table, Mapping) or key not in table:
        return None if field.is_required() else field.get_default(call_default_factory=True)
    try:
        return adapter(field).validate_python(table[key])
    except ValidationError:
        return None


def _tables(document: Document, key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    array = document.get(key)
    for index, table in enumerate(array if isinstance(array, list) else []):
        if isinstance(table, Mapping):
            yield index, table


def _same_names(document: Document, key: str, model: type[BaseModel]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for index, table in _tables(document, key):
        name = _value(model, table, "name")
        if name is None:
            continue
        first = seen.setdefault(folded(name), index)
        if first != index:
            yield f'{key}[{index}].name = "{name}": {key}[{first}] has that name already (case, - . _ do not count)'


def _same_ports(document: Document) -> Iterator[str]:
    seen: list[tuple[str, Address]] = []
    for place, address in _listeners(document):
        where = location(document, place)
        for other, taken in seen:
            if address.meets(taken):
                yield f'{where} = "{address}": cannot be bound beside {other} = "{taken}"'
        seen.append((where, address))


def _listeners(document: Document) -> Iterator[tuple[Place, Address]]:
    metrics = _value(Metrics, document.get("metrics"), "listen")
    if metrics is not None:
        yield ("metrics", "listen"), metrics
    for index, table in _tables(document, "channel"):
        listen = _value(Channel, table, "listen")
        if listen is not None:
            yield ("channel", index, "listen"), listen


def _unknown_upstreams(document: Document) -> Iterator[str]:
    names = [name for _, table in _tables(document, "upstream") if (name := _value(Upstream, table, "name"))]
    for index, table in _tables(document, "channel"):
        wanted = _value(Channel, table, "upstream")
        if wanted is not None and wanted not in names:
            known = ", ".join(f'"{name}"' for name in names) or "none"
            where = location(document, ("channel", index, "upstream"))
            yield f'{where} = "{wanted}": no [[upstream]] has that name; there is: {known}'


def _open_listeners(document: Document) -> Iterator[str]:
    for index, table in _tables(document, "channel"):
        listen = _value(Channel, table, "listen")
        if listen is None or listen.is_loopback or "tls" in table or _value(Channel, table, "insecure_plaintext"):
            continue
        where = location(document, ("channel", index, "listen"))
        yield (
            f'{where} = "{listen}": patient data would cross the network as plain text; give the channel tls, '
            "or listen on 127.0.0.1, or set insecure_plaintext = true where the network itself is protected"
        )


def _tls(document: Document, folder: Path) -> Iterator[str]:
    for index, table in _tables(document, "channel"):
        tls = _value(Channel, table, "tls")
        if tls is not None:
            for key, problem in certificates.problems(tls, folder):
                yield f"{location(document, ('channel', index, 'tls', *key))}: {problem}"


def _too_small_memory(document: Document) -> Iterator[str]:
    most = _value(Gateway, document.get("gateway"), "max_buffered_bytes")
    for index, table in _tables(document, "channel"):
        longest = _value(Channel, table, "max_message_bytes")
        if most is not None and longest is not None and longest > most:
            where = location(document, ("channel", index, "max_message_bytes"))
            yield f"{where} = {longest}: must not be above gateway.max_buffered_bytes = {most}"


def _none_at_all(document: Document) -> Iterator[str]:
    for key in ("upstream", "channel"):
        if document.get(key) == []:
            yield f"{key}: there must be at least one [[{key}]]"


def _sign_in(document: Document) -> Iterator[str]:
    for index, table in _tables(document, "upstream"):
        where = location(document, ("upstream", index))
        token, secret = {"token", "token_file"} & table.keys(), {"client_secret", "client_secret_file"} & table.keys()
        if len(token) > 1 or len(secret) > 1:
            yield f"{where}: a secret is given as a file and in the environment; give it once"
        if token and (secret or "client_id" in table):
            yield f"{where}: give either a token or client_id with its secret, not both"
        if bool(secret) != ("client_id" in table):
            yield f"{where}: client_id and client_secret_file belong together"
        if "token_url" in table and "client_id" not in table:
            yield f"{where}: token_url is used with client_id only"


def _unreadable(document: Document, folder: Path) -> Iterator[str]:
    for index, table in _tables(document, "upstream"):
        for key in ("token_file", "client_secret_file"):
            yield from _unreadable_file(document, folder, ("upstream", index, key), _value(Upstream, table, key))
        ca_file = _value(Tls, table.get("tls"), "ca_file")
        yield from _unreadable_file(document, folder, ("upstream", index, "tls", "ca_file"), ca_file)


def _unreadable_file(document: Document, folder: Path, place: Place, path: Path | None) -> Iterator[str]:
    if path is None:
        return
    try:
        with (folder / path).open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        yield f'{location(document, place)} = "{path}": cannot be read: {error.strerror}'
    else:
        if empty:
            yield f'{location(document, place)} = "{path}": is empty'


def _wide_metrics(settings: Settings) -> Iterator[str]:
    if not settings.metrics.listen.is_loopback:
        yield f'metrics.listen = "{settings.metrics.listen}": reachable beyond this machine, without a password'


def _plain_links(settings: Settings) -> Iterator[str]:
    for index, upstream in enumerate(settings.upstream):
        if upstream.is_plain_beyond_loopback:
            yield (
                f'upstream[{index}].url (upstream "{upstream.name}"): patient data crosses the network as plain text; '
                "use wss:// or https://"
            )


def _readable_secrets(settings: Settings) -> Iterator[str]:
    for index, upstream in enumerate(settings.upstream):
        for key in ("token_file", "client_secret_file"):
            path: Path | None = getattr(upstream, key)
            if path is not None and path.stat().st_mode & 0o077:
                yield f'upstream[{index}].{key} = "{path}": others on this machine can read it; chmod 600'
    for index, channel in enumerate(settings.channel):
        key_file = None if channel.tls is None else channel.tls.key_file or channel.tls.cert_file
        if key_file is not None and key_file.stat().st_mode & 0o077:
            where = f'channel[{index}].tls (channel "{channel.name}")'
            yield f'{where}: others on this machine can read the key in "{key_file}"; chmod 600'
