"""The delivery side: leadership, recovery, and one ordered delivery a channel."""
