"""The real clock, chance and ids. The only module that reads them."""

import getpass
import itertools
import os
import random
import secrets
import time
from pathlib import Path

from gateway.model.clock import Now
from gateway.ports.clock import NewId

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def _read_boot_id() -> str:
    """Name this boot; where the kernel does not say, every process start counts as a boot of its own."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return secrets.token_hex(16)


_THIS_BOOT = _read_boot_id()


def clock() -> Now:
    """Read wall time and CLOCK_BOOTTIME."""
    return Now(
        wall=time.time_ns() // 1_000_000,
        boot_id=_THIS_BOOT,
        ms=time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000,
    )


def roll() -> float:
    """Give a number in [0, 1) for jitter."""
    return random.random()  # noqa: S311 - jitter, not a secret


def entropy(size: int) -> bytes:
    """Give `size` random bytes from the operating system."""
    return secrets.token_bytes(size)


def holder(node_name: str | None) -> str:
    """Name this process start, randomly, so that no two holders of a lease are ever mistaken for each other."""
    return f"{node_name or os.uname().nodename}:{os.getpid()}:{secrets.token_hex(8)}"


def operator() -> str:
    """Name the person at the keyboard: the user of the operating system."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


_BASE36 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def answer_ids() -> NewId:
    """Make a source of MSH-10 values for our answers: at most 20 characters, unique over restarts.

    Ten random characters name the process start, up to ten hexadecimal digits count its answers.
    """
    start = "".join(secrets.choice(_BASE36) for _ in range(10))
    numbers = itertools.count(1)
    return lambda: f"{start}{next(numbers):X}"
