"""Measures a gateway from outside: real processes, real sockets, a real disk. Reads no store, weakens no gateway."""
