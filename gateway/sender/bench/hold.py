"""Silent connections: a program of its own that opens many, says how many stand, and holds them until told to go."""

import socket
import sys
import time

_PAUSE_EVERY, _PAUSE = 256, 0.05
"""Connections opened in one go stay below what a listener lets wait."""


def hold(host: str, port: int, count: int) -> list[socket.socket]:
    """Open connections; fewer come back when the other side, or the system, takes no more."""
    held: list[socket.socket] = []
    for number in range(count):
        try:
            held.append(socket.create_connection((host, port), timeout=10))
        except OSError:
            break
        if number % _PAUSE_EVERY == _PAUSE_EVERY - 1:
            time.sleep(_PAUSE)
    return held


def main() -> None:
    """Hold `COUNT` connections to `HOST PORT` until standard input ends."""
    host, port, count = sys.argv[1:]
    held = hold(host, int(port), int(count))
    sys.stdout.write(f"{len(held)}\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
