"""What an operator reads and does: one service layer for CLI, page and API."""
