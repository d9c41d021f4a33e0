"""Events to logs, metrics and health. Never message content."""
