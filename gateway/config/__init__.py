"""The configuration file: keys, defaults, validation."""
