"""Reading the verdict of an answer body."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.upstream import Msa
from gateway.wire.msa import is_hl7, read_msa

MSH = "MSH|^~\\&|S|F|R|F|2026||ACK|9|P|2.5"


def msa(code: str, control_id: str, *errors: str) -> Msa:
    return Msa(code=code, control_id=control_id, errors=errors)


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (f"{MSH}\rMSA|AA|77\r", msa("AA", "77")),
        (f"{MSH}\nMSA|AE|77|text\n", msa("AE", "77")),
        (f"{MSH}\r\nMSA|CR|77\r\n", msa("CR", "77")),
        (f"\ufeff\r\n {MSH}\rMSA|AA|77", msa("AA", "77")),
        (f"{MSH}\rSFT|x\rMSA| AA |7^7~8 |x|1\rMSA|AE|no", msa("AA", "7^7~8 ")),
        (f"{MSH}\rMSA|AA", msa("AA", "")),
        (f"{MSH}\rMSA|\r", msa("", "")),
        (f"{MSH}\rMSA||77\r", msa("", "77")),
        ("MSH#*~!$#\rMSA#AA#7|7\r", msa("AA", "7|7")),
        (f"{MSH}\rNTE|1||MSA|AE|x\rMSA|AA|77", msa("AA", "77")),
        (f"{MSH}\rNTE|\x1c\x85\u2028MSA|AE|x\rMSA|AA|77", msa("AA", "77")),
        ("MSA|AE|77\r", msa("AE", "77")),
        ("MSA|AE|77\rERR|||207^x|E", msa("AE", "77", "207")),
    ],
)
def test_the_first_msa_is_read(body: str, read: Msa) -> None:
    assert read_msa(body) == read


@pytest.mark.parametrize(
    "body",
    [
        "",
        "   ",
        "ok",
        "MSH",
        "MSH|",
        "MSH|\rMSA|AA|1",
        "MSH\rMSA|AA|1",
        "MSHxMSAxAAx1",
        "MSA",
        "MSAXAA",
        MSH,
        f"{MSH}\rmsa|AA|1",
        f"{MSH}\rMSA#AA#1",
        f"{MSH}\rMSA",
        '{"resourceType":"OperationOutcome"}',
        "<html>MSA|AA|1</html>",
        "PID|1\rMSA|AA|1",
    ],
)
def test_a_body_without_a_readable_msa_has_none(body: str) -> None:
    assert read_msa(body) is None


@pytest.mark.parametrize(
    ("segments", "codes"),
    [
        ("ERR|MSH^1^10^101&Required field missing&HL70357", ("101",)),
        ("ERR|MSH^1^10^101", ("101",)),
        ("ERR|PID^1^3^101&x~PID^1^5^102&y", ("101", "102")),
        ("ERR||PID^1^3|207^Application internal error^HL70357|E", ("207",)),
        ("ERR||PID^1^3|206|E\rERR|||207^x", ("206", "207")),
        ("ERR|||207^x~206", ("207", "206")),
        ("ERR|", ()),
        ("ERR|MSH^1", ()),
        ("ERR|||", ()),
        ("NTE|ERR|||207", ()),
        ("NTE|1\rERR||| 207 ^x", ("207",)),
    ],
)
@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_every_error_code_is_read_in_both_forms(segments: str, codes: tuple[str, ...], end: str) -> None:
    body = f"{MSH}\rMSA|AE|77\r{segments}\r".replace("\r", end)
    assert read_msa(body) == msa("AE", "77", *codes)


def test_error_codes_are_read_with_a_short_msh_2() -> None:
    assert read_msa("MSH|^|S\rMSA|AE|1\rERR|MSH^1^10^101\r") == msa("AE", "1", "101")


@pytest.mark.parametrize(
    ("body", "is_one"),
    [(MSH, True), (f"\ufeff\r\n {MSH}", True), ("MSA|AA", False), ("", False), ("{}", False), (" " * 100 + MSH, True)],
)
def test_a_body_is_known_as_hl7_by_its_beginning(body: str, is_one: bool) -> None:
    assert is_hl7(body) is is_one


pieces = st.sampled_from(["MSH", "MSA", "ERR", "|", "^", "~", "\\", "&", "\r", "\n", "AA", "207", " ", "x", "\ufeff"])


@given(st.lists(pieces).map("".join) | st.text())
def test_no_body_makes_it_raise(body: str) -> None:
    found = read_msa(body)
    assert found is None or "\r" not in found.code + found.control_id


def test_a_flood_of_lookalikes_is_read_in_one_pass() -> None:
    assert read_msa(MSH + "xMSA|" * 200_000 + "\rMSA|AA|1" + "\rERR|||207" * 10) == msa("AA", "1", *["207"] * 10)
