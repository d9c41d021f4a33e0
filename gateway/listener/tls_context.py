"""What OpenSSL is told for a channel's side of a handshake. Never loosens a check, never asks at a terminal."""

import ssl

from gateway.listener.options import TlsOptions
from gateway.model.policy import ClientCert, TlsVersion

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20:!PSK"
"""Suites of TLS 1.2 that are taken: authenticated encryption and forward secrecy. Those of 1.3 are all of the kind."""

_VERSIONS = {TlsVersion.V1_2: ssl.TLSVersion.TLSv1_2, TlsVersion.V1_3: ssl.TLSVersion.TLSv1_3}
_MODES = {
    ClientCert.NONE: ssl.CERT_NONE,
    ClientCert.OPTIONAL: ssl.CERT_OPTIONAL,
    ClientCert.REQUIRED: ssl.CERT_REQUIRED,
}


def context(options: TlsOptions) -> ssl.SSLContext:
    """Build the context from the files as they are now. Raises OSError (ssl.SSLError among them) or ValueError."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = _VERSIONS[options.min_version]
    made.set_ciphers(CIPHERS)
    # Renegotiation costs us more than the peer. Connections live long, so that resuming them would save nothing.
    made.options |= ssl.OP_NO_RENEGOTIATION
    made.num_tickets = 0
    made.load_cert_chain(options.cert_file, options.key_file, password=_no_password)
    if options.client_cert is not ClientCert.NONE:
        made.load_verify_locations(cafile=options.client_ca_file)
        # A sender's own certificate in the file is trusted by itself, whoever issued it.
        made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.verify_mode = _MODES[options.client_cert]
    return made


def _no_password() -> str:
    """Refuse keys that need a password: OpenSSL would wait for one at the terminal."""
    raise ValueError("the key is encrypted")
