"""The SQLite engine: one file, one writer thread with group commit."""
