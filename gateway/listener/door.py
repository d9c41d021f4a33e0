"""Who may come in, and who is in. Decides before the first byte is read."""

import asyncio
import socket
from collections import Counter
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Protocol

from gateway.listener.options import ChannelOptions
from gateway.listener.premises import Premises
from gateway.listener.slots import Peer, peer_at

KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_PROBES = 60, 20, 3


class Guest(Protocol):
    """A connection, as the door sees it."""

    @property
    def peer(self) -> Peer:
        """The other end."""

    def drain(self) -> None:
        """Answer what was read, then close."""

    def abort(self) -> None:
        """Close now."""


class Door:
    """Counts one channel's connections and turns away those that may not, or cannot, come in."""

    def __init__(self, options: ChannelOptions, premises: Premises) -> None:
        self._allow = options.allow
        self._most = options.max_connections
        self._most_of_one = options.max_connections_per_address
        self._premises = premises
        self._guests: set[Guest] = set()
        self._origins: Counter[str] = Counter()
        self._number = 0
        self._is_closed = False
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        """Count the open connections."""
        return len(self._guests)

    def admit(self, guest: Guest) -> int | str:
        """Give the connection its number, or the reason why it is closed at once."""
        if self._is_closed:
            return "stopping"
        if self._allow and not is_within(guest.peer.host, self._allow):
            return "not-allowed"
        if len(self._guests) >= self._most:
            return "limit"
        origin = origin_of(guest.peer.host)
        if self._origins[origin] >= self._most_of_one:
            return "address-limit"
        if not self._premises.enter():
            return "gateway-limit"
        self._number += 1
        self._origins[origin] += 1
        self._guests.add(guest)
        self._empty.clear()
        return self._number

    def hand_over(self, guest: Guest, heir: Guest) -> None:
        """Let another object stand for an admitted connection from now on."""
        self._guests.remove(guest)
        self._guests.add(heir)

    def lost(self, guest: Guest) -> None:
        """Note that a connection is gone; whoever was not inside changes nothing."""
        if guest not in self._guests:
            return
        self._guests.remove(guest)
        origin = origin_of(guest.peer.host)
        self._origins[origin] -= 1
        if not self._origins[origin]:
            del self._origins[origin]
        self._premises.leave()
        if not self._guests:
            self._empty.set()

    def drain(self) -> None:
        """Let nobody in any more, and ask everyone inside to finish."""
        self._is_closed = True
        for guest in list(self._guests):
            guest.drain()

    def abort(self) -> None:
        """Close every connection now."""
        for guest in list(self._guests):
            guest.abort()

    async def emptied(self) -> None:
        """Wait until nobody is inside."""
        await self._empty.wait()


def is_within(host: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    """Tell whether an address lies in one of the networks; an IPv4 address mapped into IPv6 counts as IPv4."""
    address = _address(host)
    return address is not None and any(address in network for network in networks)


def origin_of(host: str) -> str:
    """Give what connections are counted by: an IPv4 address, or the /64 network of an IPv6 one, which one host owns."""
    address = _address(host)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, 64), strict=False))
    return host if address is None else str(address)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        # A link-local address names its interface behind %.
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def tune(transport: asyncio.Transport) -> None:
    """Set what every accepted socket has: no delay for small answers, and probes that find a peer that is gone."""
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is None:
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE),
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL),
        ("TCP_KEEPCNT", KEEPALIVE_PROBES),
    ):
        # Not every system names them all.
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def peer_of(transport: asyncio.BaseTransport) -> Peer:
    """Read the other end's address."""
    name = transport.get_extra_info("peername")
    # A peer that is gone already has none.
    host, port = name[:2] if name else ("", 0)
    return peer_at(host, port)
