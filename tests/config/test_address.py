import pytest

from gateway.config.address import Address, parse


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:2575", "127.0.0.1", 2575),
        ("localhost:0", "localhost", 0),
        ("gw-1.example.org:65535", "gw-1.example.org", 65535),
        ("[::1]:2575", "::1", 2575),
        ("[::]:1", "::", 1),
    ],
)
def test_an_address_is_read_and_written_the_same(text: str, host: str, port: int) -> None:
    address = parse(text)
    assert (address.host, address.port) == (host, port)
    assert str(address) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2575", "must be HOST:PORT"),
        (":2575", "must be HOST:PORT"),
        ("", "must be HOST:PORT"),
        ("127.0.0.1:", "the port must be a number"),
        ("127.0.0.1:65536", "the port must be a number"),
        ("127.0.0.1:-1", "the port must be a number"),
        ("127.0.0.1:\N{FULLWIDTH DIGIT TWO}5", "the port must be a number"),
        ("::1:2575", "brackets"),
        ("[127.0.0.1]:2575", "brackets"),
        ("[gw:x]:2575", "not an IPv6 address"),
        ("300.1.1.1:2575", "must be an IP address or a host name"),
        ("a b:2575", "must be an IP address or a host name"),
        ("a..b:2575", "must be an IP address or a host name"),
    ],
)
def test_what_is_no_address_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse(text)


@pytest.mark.parametrize(
    ("text", "loopback"),
    [
        ("127.0.0.1:1", True),
        ("127.9.9.9:1", True),
        ("[::1]:1", True),
        ("LocalHost:1", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("10.0.0.1:1", False),
        ("gw.example.org:1", False),
    ],
)
def test_only_addresses_of_this_machine_are_loopback(text: str, loopback: bool) -> None:
    assert parse(text).is_loopback is loopback


@pytest.mark.parametrize(
    ("one", "other", "meets"),
    [
        ("127.0.0.1:2575", "127.0.0.1:2575", True),
        ("127.0.0.1:2575", "127.0.0.1:2576", False),
        ("127.0.0.1:2575", "127.0.0.2:2575", False),
        ("0.0.0.0:2575", "127.0.0.1:2575", True),
        ("[::]:2575", "[::1]:2575", True),
        ("[::]:2575", "127.0.0.1:2575", False),
        ("localhost:2575", "127.0.0.1:2575", True),
        ("localhost:2575", "[::1]:2575", True),
        ("0.0.0.0:2575", "localhost:2575", True),
        ("0.0.0.0:2575", "gw.example.org:2575", True),
        ("[::]:2575", "[0:0::1]:2575", True),
        ("[::1]:2575", "[0:0::1]:2575", True),
        ("GW.example.org:2575", "gw.example.org:2575", True),
        ("gw.example.org:2575", "127.0.0.1:2575", False),
        ("127.0.0.1:0", "127.0.0.1:0", False),
    ],
)
def test_two_addresses_meet_when_both_cannot_be_bound(one: str, other: str, meets: bool) -> None:
    assert parse(one).meets(parse(other)) is meets
    assert parse(other).meets(parse(one)) is meets


def test_an_address_is_a_value() -> None:
    assert parse("127.0.0.1:1") == Address(host="127.0.0.1", port=1)
