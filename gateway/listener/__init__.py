"""The MLLP side: ports, sessions, and the way from a frame to its answer."""
