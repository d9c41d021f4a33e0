"""Decisions: states, admission, verdict, retry, lease, partition. Pure: no I/O, clocks or randomness."""
