"""Where something listens, as a value: host and port, and whether two of them meet. Opens no socket."""

import ipaddress
from dataclasses import dataclass

_LOCALHOST = frozenset({"127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """`host` without brackets, `port` 0 to 65535; port 0 lets the system pick a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """True when nothing outside this machine can reach it; a host name other than `localhost` counts as outside."""
        ip = _ip(self.host)
        return self.host.lower() == "localhost" if ip is None else ip.is_loopback

    def meets(self, other: "Address") -> bool:
        """Say whether both cannot be bound at once: same port, and same host or one a wildcard that covers the other.

        The IPv6 wildcard covers IPv6 only, as it is bound.
        """
        if self.port != other.port or self.port == 0:
            return False
        return any(_covers(a, b) or _covers(b, a) for a in _hosts(self.host) for b in _hosts(other.host))


def parse(text: str) -> Address:
    """Read `HOST:PORT` or `[IPV6]:PORT`. Raises ValueError with what is wrong."""
    host, colon, port = text.rpartition(":")
    if not colon or not host:
        raise ValueError("must be HOST:PORT")
    if not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise ValueError("the port must be a number from 0 to 65535")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    if bracketed != (":" in host):
        raise ValueError("an IPv6 address stands in brackets, as in [::1]:2575")
    if bracketed and _ip(host) is None:
        raise ValueError("the address in brackets is not an IPv6 address")
    if _ip(host) is None and not _is_name(host):
        raise ValueError("the host must be an IP address or a host name")
    return Address(host=host, port=int(port))


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_name(host: str) -> bool:
    # Four numbers that are no address (300.1.1.1) must not pass as a host name: RFC 1123 names do not end in a number.
    labels = host.rstrip(".").split(".")
    if labels[-1].isdigit():
        return False
    return all(
        0 < len(label) < 64 and label.isascii() and label.replace("-", "").replace("_", "").isalnum()
        for label in labels
    )


def _hosts(host: str) -> frozenset[str]:
    if host.lower() == "localhost":
        return _LOCALHOST
    ip = _ip(host)
    return frozenset({host.lower() if ip is None else str(ip)})


def _covers(wide: str, narrow: str) -> bool:
    if wide == narrow:
        return True
    ip, other = _ip(wide), _ip(narrow)
    if ip is None or not ip.is_unspecified:
        return False
    # A host name may stand for any address, so a wildcard covers it.
    return other is None or other.version == ip.version
