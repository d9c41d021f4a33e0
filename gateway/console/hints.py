"""What each kind of anomaly means, in words for the people who run interfaces. Words only."""

_HINTS = {
    "noise": "bytes between messages that belong to none; they were skipped",
    "bom": "a byte order mark between messages: the sender writes files, not frames",
    "stray-lf": "line feeds between messages; harmless",
    "stray-cr": "carriage returns between messages; harmless",
    "stray-nul": "zero bytes between messages; harmless, unless the sender writes UTF-16",
    "stray-space": "spaces between messages; harmless",
    "missing-cr": "the end of a message (FS) came without its CR",
    "fs-in-payload": "FS (0x1C) inside a message, taken as data",
    "vt-in-payload": "VT (0x0B) inside a message, taken as data",
    "doubled-vt": "the start of a message (VT) came twice",
    "doubled-trailer": "the end of a message (FS CR) came twice; harmless",
    "terminator-inside": "the end of a message (FS CR) inside it; refused, since the rest would be lost",
    "trailing-data": "more text after the end of a message that was taken; compare it with its source",
    "truncated": "a message that was begun and not finished; not stored, not answered",
    "oversize": "a message longer than max_message_bytes; refused",
    "empty": "a frame without a message; refused",
    "leading-bytes": "blanks or a byte order mark before MSH; harmless",
    "looks-like-tls": "the sender speaks TLS to a port without it: set [channel.tls] here, or turn TLS off there",
    "looks-like-http": "the peer speaks HTTP, not MLLP: a browser, a health check, or a wrong port number",
    "looks-like-utf-16": "the sender writes UTF-16, which MLLP cannot carry: set it to UTF-8",
}


def hint(kind: str) -> str:
    """Say what a kind of anomaly means; "" for one this program does not know."""
    return _HINTS.get(kind, "")
