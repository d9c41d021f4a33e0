"""Sets MSH-13 and touches no other byte."""


def stamp(text: str, sequence: int) -> str:
    """Give the decoded message (it starts at `MSH`) with MSH-13 set; missing fields between are added as empty
    separators. Nothing else changes, whatever the segment ends are.
    """


def body_of(payload: bytes, header_start: int, *, codec: str, sequence: int | None) -> str:
    """Give the upstream body: decoded from `MSH` on by the row's codec, stamped if there is a number."""
