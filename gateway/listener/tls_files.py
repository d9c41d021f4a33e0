"""A channel's certificates over time: read again when their files change, told of before they end."""

import asyncio
import os
import ssl
from pathlib import Path

from gateway.listener import tls_expiry
from gateway.listener.options import TlsOptions
from gateway.listener.tls_context import context
from gateway.model.ids import ChannelName
from gateway.ports.clock import Clock
from gateway.ports.observe import Observer

CHECK_EVERY = 60.0
"""Seconds between two looks at files and calendar when nobody connects."""

DAY_MS = 86_400_000
WARN_DAYS = (30, 7, 1)

MOST_SESSIONS = 1_024
"""Sessions of TLS 1.2 that OpenSSL may remember for resumption; it would keep 20,480 for whoever connects often."""

Stamp = tuple[tuple[int, int, int] | None, ...]
"""What changes when a file is written or replaced; None for one that cannot be looked at."""


class TlsFiles:
    """Gives the context for each handshake. Files that cannot be used leave the last good ones in force."""

    def __init__(self, options: TlsOptions, *, channel: ChannelName, observer: Observer, clock: Clock) -> None:
        self._options = options
        self._channel = channel
        self._observer = observer
        self._clock = clock
        self._files = _paths(options)
        self._stamp: Stamp = ()
        self._context: ssl.SSLContext | None = None
        self._told: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self.ends: dict[str, int] = {}
        """When the first certificate of a file ends, as Unix time in ms: `cert` and `client-ca`, where known."""

    def open(self) -> None:
        """Read the files for the first time. Raises what building a context raises."""
        self._stamp = self._look()
        self._take(context(self._options))
        self._check()

    def close(self) -> None:
        """Stop looking."""
        if self._timer is not None:
            self._timer.cancel()

    def current(self) -> ssl.SSLContext:
        """Give the context for a handshake that begins now."""
        assert self._context is not None  # noqa: S101  # open() came first
        if self._context.session_stats()["number"] >= MOST_SESSIONS:
            self._stamp = ()
        self._refresh()
        return self._context

    def _check(self) -> None:
        self._refresh()
        self._warn()
        self._timer = asyncio.get_running_loop().call_later(CHECK_EVERY, self._check)

    def _refresh(self) -> None:
        stamp = self._look()
        if stamp == self._stamp:
            return
        # Noted before the files are read: a change that comes meanwhile is found at the next look.
        self._stamp = stamp
        try:
            self._take(context(self._options))
        except (OSError, ValueError) as why:
            # Often only half of a renewal: the key is written after the certificate.
            self._observer.event("certificates-unusable", channel=self._channel, reason=reason(why, self._options))
        else:
            self._observer.event("certificates-loaded", channel=self._channel)
            self._warn()

    def _take(self, made: ssl.SSLContext) -> None:
        ends = {name: _end(self._files[name]) for name in ("cert", "client-ca")}
        self._context, self._told = made, {}
        self.ends = {name: end for name, end in ends.items() if end is not None}

    def _look(self) -> Stamp:
        return tuple(_stamp(path) for path in self._files.values())

    def _warn(self) -> None:
        now = self._clock().wall
        for name, end in self.ends.items():
            due = _due(end - now)
            if due is None or self._told.get(name, WARN_DAYS[0] + 1) <= due:
                continue
            self._told[name] = due
            event = "certificate-expires" if due else "certificate-expired"
            self._observer.event(event, channel=self._channel, file=name, days=max(0, end - now) // DAY_MS)


def _due(left: int) -> int | None:
    """Give the tightest mark that has been passed with `left` ms to go: 30, 7 or 1 days, 0 when it is over."""
    return min((days for days in (*WARN_DAYS, 0) if left <= days * DAY_MS), default=None)


def reason(why: Exception, options: TlsOptions) -> str:
    """Say in a few words why files cannot be used; no text of theirs. Of a path only the name is told."""
    if isinstance(why, ssl.SSLError):
        return (why.reason or "not a certificate and its key").lower().replace("_", " ")
    if isinstance(why, OSError):
        # OpenSSL does not say which file it could not open.
        names = [path.name for path in _paths(options).values() if path is not None and not os.access(path, os.R_OK)]
        return ": ".join([*names[:1], why.strerror or "cannot be read"])
    return str(why)


def _paths(options: TlsOptions) -> dict[str, Path | None]:
    return {"cert": options.cert_file, "key": options.key_file, "client-ca": options.client_ca_file}


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)


def _end(path: Path | None) -> int | None:
    return None if path is None else tls_expiry.earliest_end(path.read_bytes())
