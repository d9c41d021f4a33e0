"""Bytes: MLLP, header, ACK, MSH-13 stamp, charset, agent frames. Pure: no sockets, clocks or randomness."""
