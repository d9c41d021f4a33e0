"""The command line's front door."""


def main() -> None:
    """Run the command named on the command line."""
