"""TLS of a channel: keys that need each other, files that cannot be used, and what a listener is told."""

from pathlib import Path

import pytest

from gateway.app.translate import channel_options
from gateway.config.channel_tls import attributes
from gateway.config.checks import warnings
from gateway.listener.options import SenderOptions, TlsOptions
from gateway.model.policy import ClientCert, TlsVersion
from tests.config.files import MINIMAL, PAPERS, loaded, minimal, problem, problems, write_papers

SERVER = 'tls.cert_file = "cert.pem"\ntls.key_file = "key.pem"\n'
MUTUAL = f'{SERVER}tls.client_cert = "required"\ntls.client_ca_file = "authority.pem"\n'
PRINT = "0a" * 32
ENCRYPTED = """\
-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-256-CBC,30E4E70E82FA38DA9B24F0F991D325DF

9cLSxdjZw2hVZS3aGAHwxv4CbjgYJFyHXjkfb53bXIxRX22ox7VDcFz6R+2rUupt
Q5mE0TAh9Q+ztyIcEILGSXsneSfYb23OuFkFJ3Xe9piAEiwsCYYMw8d8+uVRGem5
qI639bpm9OT0uiZ6ZIg4ZV51SvlwoTNUq8e5GqHyJG0=
-----END EC PRIVATE KEY-----
"""
"""The key of the tests with a password; it opens nothing else."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_papers(tmp_path)
    return tmp_path


def test_a_channel_with_tls_may_listen_anywhere(folder: Path) -> None:
    wide = MINIMAL.replace("127.0.0.1:2575", "0.0.0.0:2575")
    assert "insecure_plaintext = true" in problem(folder, wide)
    found = loaded(folder, wide + SERVER).channel[0]
    assert not found.insecure_plaintext
    assert found.tls is not None


def test_a_listener_is_told_everything_the_file_says(folder: Path) -> None:
    text = f"""{MUTUAL}tls.min_version = "1.3"
tls.pinned = ["{"0A:" * 31}0A"]
tls.handshake_timeout = 3
tls.senders = [
  {{ name = "lab", subject = 'CN=lab,O=Smith\\, Jones', msh3 = ["LAB"], msh4 = ["WEST"] }},
  {{ name = "ward", dns = "ward.test" }},
  {{ name = "desk", fingerprint = "sha256:{PRINT}" }},
]
max_connections_per_address = 3
"""
    options = channel_options(loaded(folder, minimal(channel=text)).channel[0])
    assert options.max_connections_per_address == 3
    assert options.tls == TlsOptions(
        cert_file=folder / "cert.pem",
        key_file=folder / "key.pem",
        min_version=TlsVersion.V1_3,
        client_cert=ClientCert.REQUIRED,
        client_ca_file=folder / "authority.pem",
        pinned=frozenset({PRINT}),
        handshake_timeout=3.0,
        senders=(
            SenderOptions(
                name="lab",
                subject=(("commonName", "lab"), ("organizationName", "Smith, Jones")),
                msh3=("LAB",),
                msh4=("WEST",),
            ),
            SenderOptions(name="ward", dns="ward.test"),
            SenderOptions(name="desk", fingerprint=PRINT),
        ),
    )


def test_a_channel_and_a_listener_have_the_same_defaults(folder: Path) -> None:
    found = channel_options(loaded(folder, minimal(channel=SERVER)).channel[0]).tls
    assert found == TlsOptions(cert_file=folder / "cert.pem", key_file=folder / "key.pem")
    assert channel_options(loaded(folder, MINIMAL).channel[0]).tls is None


def test_the_environment_reaches_tls_and_its_senders(folder: Path) -> None:
    text = minimal(channel=f'{MUTUAL}tls.senders = [{{ name = "lab-1", subject = "CN=lab" }}]')
    environ = {
        "GATEWAY_CHANNEL__ADT__TLS__MIN_VERSION": "1.3",
        "GATEWAY_CHANNEL__ADT__TLS__SENDERS__LAB_1__MSH3": '["LAB"]',
    }
    found = loaded(folder, text, environ).channel[0].tls
    assert found is not None
    assert found.min_version is TlsVersion.V1_3
    assert found.senders[0].msh3 == ("LAB",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f'{SERVER}tls.client_cert = "required"', 'tls.client_ca_file (channel "adt"): is needed with client_cert'),
        (f'{SERVER}tls.client_ca_file = "authority.pem"', 'client_ca_file (channel "adt"): does nothing while'),
        (f'{SERVER}tls.pinned = ["{PRINT}"]', 'tls.pinned (channel "adt"): does nothing while client_cert = "none"'),
        (f'{SERVER}tls.senders = [{{ name = "a", dns = "a" }}]', 'tls.senders (channel "adt"): does nothing while'),
        (f'{MUTUAL}tls.senders = [{{ name = "a" }}]', 'tls.senders[0] (channel "adt"): needs subject, dns or'),
        (
            f'{MUTUAL}tls.senders = [{{ name = "a-b", dns = "a" }}, {{ name = "A_B", dns = "b" }}]',
            'tls.senders[1].name (channel "adt"): senders[0] has that name already',
        ),
        ('tls.cert_file = "cert.pem"', '"cert.pem" cannot be used: '),
        ('tls.cert_file = "cert.pem"\ntls.key_file = "other.pem"', 'with key_file = "other.pem" cannot be used: '),
        ('tls.cert_file = "authority.pem"\ntls.key_file = "key.pem"', "key values mismatch"),
        ('tls.cert_file = "gone.pem"\ntls.key_file = "key.pem"', "cannot be used: No such file"),
        (f'{SERVER}tls.client_cert = "optional"\ntls.client_ca_file = "key.pem"', '"key.pem" cannot be used: '),
        ('tls.key_file = "key.pem"', 'tls.cert_file (channel "adt"): is required; example: cert_file = '),
        (f"{SERVER}tls.certfile = 1", 'did you mean "cert_file"?'),
    ],
)
def test_what_cannot_work_is_said(text: str, says: str, folder: Path) -> None:
    found = problem(folder, minimal(channel=text))
    assert found.startswith("channel[0].tls")
    assert says in found


def test_a_key_that_needs_a_password_is_refused_without_asking_for_one(folder: Path) -> None:
    (folder / "key.pem").write_text(ENCRYPTED, encoding="ascii")
    assert "the key is encrypted" in problem(folder, minimal(channel=SERVER))


def test_a_key_others_can_read_is_warned_of(folder: Path) -> None:
    assert warnings(loaded(folder, minimal(channel=SERVER))) == ()
    (folder / "key.pem").chmod(0o640)
    (found,) = warnings(loaded(folder, minimal(channel=SERVER)))
    assert found.startswith('channel[0].tls (channel "adt"): others on this machine can read the key in "')
    (folder / "both.pem").write_bytes((PAPERS / "server.pem").read_bytes() + (PAPERS / "server.key").read_bytes())
    (folder / "both.pem").chmod(0o644)
    (found,) = warnings(loaded(folder, minimal(channel='tls.cert_file = "both.pem"')))
    assert 'both.pem"; chmod 600' in found


def test_one_message_must_fit_into_the_memory_of_all(folder: Path) -> None:
    text = minimal(gateway="max_buffered_bytes = 2000000", channel="max_message_bytes = 2000000")
    assert loaded(folder, text).gateway.max_buffered_bytes == 2_000_000
    (found,) = problems(folder, text.replace("max_message_bytes = 2000000", "max_message_bytes = 2000001"))
    assert found == (
        'channel[0].max_message_bytes (channel "adt") = 2000001: must not be above gateway.max_buffered_bytes = 2000000'
    )


def test_attributes_of_a_subject_are_read_with_their_escapes() -> None:
    assert attributes(r"cn = a\,b\\ , emailAddress=x@y.z") == (("commonName", "a,b\\"), ("emailAddress", "x@y.z"))
