"""Values: ids, states, messages on their way, policies. Knows nothing of bytes on a wire, clocks or SQL."""
