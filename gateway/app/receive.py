"""The bundled receiver as a program: until SIGTERM or Ctrl-C."""

import asyncio
import os
import sys
from pathlib import Path

from gateway.app.ready import write_ready
from gateway.app.signals import stop_on_signals
from gateway.receiver.options import ReceiverOptions
from gateway.receiver.script import Script, load
from gateway.receiver.server import Receiver


async def receive(
    *,
    host: str,
    port: int,
    journal: Path,
    extensions: bool,
    script: Path | None,
    ready_file: Path | None,
) -> int:
    """Take messages until told to stop; exit code 0. Raises OperatorError when it cannot listen or write."""
    options = ReceiverOptions(
        host=host,
        port=port,
        journal=journal,
        script=Script() if script is None else load(script),
        plain=not extensions,
    )
    receiver = Receiver(options)
    stop = asyncio.Event()
    with stop_on_signals(stop):
        await receiver.start()
        try:
            sys.stderr.write(f"receiving on {receiver.url}, journal {journal}\n")
            if ready_file is not None:
                write_ready(ready_file, {"pid": os.getpid(), "url": receiver.url})
            await stop.wait()
        finally:
            await receiver.stop()
    return 0
