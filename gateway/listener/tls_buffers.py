"""How much memory a TLS connection takes. The only place that reaches into asyncio for it; never raises."""

import asyncio
import ssl
from asyncio import sslproto
from typing import Any

SIZE = 16 << 10
"""Bytes of one TLS record (RFC 8446, 5.1): a larger buffer would only be allocated, not used."""

HIGH_WATER, LOW_WATER = 64 << 10, 32 << 10
"""Undecrypted or unsent bytes kept by one connection before its flow stops. The lower mark is above one whole record
with its header, so that half a record never keeps the rest of it from being read.
"""


def shrink() -> bool:
    """Let asyncio allocate 16 KiB instead of 256 KiB for each TLS connection of this process; False if it cannot."""
    try:
        sslproto.SSLProtocol.max_size = SIZE
        return _allocated() == SIZE
    except Exception:  # noqa: BLE001 - another asyncio may be built in any other way; large buffers still work
        return False


def limit(transport: asyncio.Transport) -> None:
    """Set how much of a connection's flow may wait in memory."""
    transport.set_write_buffer_limits(high=HIGH_WATER, low=LOW_WATER)
    limit_reading = getattr(transport, "set_read_buffer_limits", None)
    # Only TLS transports have it, and not in every version.
    if limit_reading is not None:
        limit_reading(high=HIGH_WATER, low=LOW_WATER)


def _allocated() -> int:
    """Make what a connection gets, and read back how large its buffer is."""
    loop = asyncio.get_running_loop()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    protocol: Any = sslproto.SSLProtocol
    made = protocol(loop, asyncio.Protocol(), context, None, server_side=True)
    # The transport that came with it was never connected; it must not warn that nobody closed it.
    made._get_app_transport().abort()  # noqa: SLF001 - see above
    return len(made.get_buffer(-1))
