"""Puts the rooms together; the only place that knows the real clock."""
