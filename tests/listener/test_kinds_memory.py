"""What is remembered of senders' headers is bounded in number and in length."""

from gateway.listener.kinds import Kinds
from gateway.listener.options import AcceptOptions
from gateway.wire.header import scan


def names_known(kinds: Kinds, sender: bytes) -> int:
    header = scan(b"MSH|^~\\&|" + sender + b"|FAC|||20260101||ADT^A01|1|P|2.5\r")
    assert kinds.names(header, "utf-8").sender == sender.decode() + "|FAC"
    return len(kinds._names)


def test_an_ordinary_name_is_remembered_and_an_endless_one_is_only_read() -> None:
    kinds = Kinds(AcceptOptions(), frozenset())
    assert names_known(kinds, b"APP") == 1
    assert names_known(kinds, b"X" * 10_000) == 1


def test_the_number_of_names_is_bounded() -> None:
    kinds = Kinds(AcceptOptions(), frozenset())
    assert max(names_known(kinds, b"A%d" % number) for number in range(3_000)) <= 1_024
