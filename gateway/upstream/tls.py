"""The TLS side of a link: whom to trust and who we are. Never loosens a check."""

import ssl
from pathlib import Path


def context(*, ca_file: Path | None, cert_file: Path | None, key_file: Path | None) -> ssl.SSLContext:
    """Build a client context; read afresh for every connection, so that renewed files count at once.

    Raises OSError (ssl.SSLError among them) when a file cannot be used.
    """
    made = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    if cert_file is not None:
        made.load_cert_chain(str(cert_file), None if key_file is None else str(key_file))
    return made
