"""Whom a client certificate stands for, and as whom its messages may come. Pure; verifies no certificate."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from gateway.listener.kinds import text
from gateway.listener.options import SenderOptions, TlsOptions
from gateway.wire.header import Header

NOT_PINNED = "certificate-not-pinned"
UNKNOWN = "certificate-unknown"

_MOST = 1_024
"""Judgements remembered at once; they are the same for thousands of messages in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """Whose certificate OpenSSL trusts and this channel does not; `reason` is a fixed word."""

    reason: str


def identify(options: TlsOptions, der: bytes | None, certificate: Mapping[str, Any] | None) -> str | Stranger:
    """Give the name of the sender that a verified certificate stands for: empty if there is none to know.

    `der` and `certificate` are None where no certificate was shown.
    """
    if der is None or certificate is None:
        return ""
    fingerprint = sha256(der).hexdigest()
    if options.pinned and fingerprint not in options.pinned:
        return Stranger(reason=NOT_PINNED)
    if not options.senders:
        return ""
    for sender in options.senders:
        if _is(sender, fingerprint, certificate):
            return sender.name
    return Stranger(reason=UNKNOWN)


def _is(sender: SenderOptions, fingerprint: str, certificate: Mapping[str, Any]) -> bool:
    subject = {pair for rdn in certificate.get("subject", ()) for pair in rdn}
    names = {name.lower() for kind, name in certificate.get("subjectAltName", ()) if kind == "DNS"}
    return (
        (sender.fingerprint is None or sender.fingerprint == fingerprint)
        and (sender.dns is None or sender.dns.lower() in names)
        and subject.issuperset(sender.subject)
    )


class Senders:
    """Judges by MSH-3 and MSH-4 whether a message may come from its sender."""

    def __init__(self, senders: tuple[SenderOptions, ...]) -> None:
        self._by_name = {sender.name: sender for sender in senders}
        self._known: dict[tuple[str | bytes | None, ...], int | None] = {}

    def objection(self, header: Header, codec: str, *, identity: str) -> int | None:
        """Give the MSH field that is not this sender's to use, or None; `identity` empty: nobody is known to send."""
        key = (
            identity,
            header.sending_application,
            header.sending_facility,
            header.encoding_characters,
            header.by_characters,
            codec,
        )
        if key not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = self._judge(header, codec, identity)
        return self._known[key]

    def _judge(self, header: Header, codec: str, identity: str) -> int | None:
        application = _values(header.sending_application, header, codec)
        facility = _values(header.sending_facility, header, codec)
        sender = self._by_name.get(identity)
        if sender is not None:
            if not _permits(sender.msh3, application):
                return 3
            return None if _permits(sender.msh4, facility) else 4
        # Who shows no certificate does not speak for those who would have to show theirs.
        is_claimed = any(
            _permits(each.msh3, application) and _permits(each.msh4, facility)
            for each in self._by_name.values()
            if each.msh3 or each.msh4
        )
        return 3 if is_claimed else None


def _values(value: bytes, header: Header, codec: str) -> frozenset[str]:
    """Give a field as the configuration spells it: its first component, and the whole with `^` between components."""
    parts = [text(part, codec) for part in header.split(value, header.component_separator)]
    return frozenset({parts[0], "^".join(parts).rstrip("^")})


def _permits(allowed: tuple[str, ...], values: frozenset[str]) -> bool:
    return not allowed or not values.isdisjoint(allowed)
