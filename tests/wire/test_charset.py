"""Choosing the charset and decoding: nothing invented, nothing dropped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import CharsetUnusable
from gateway.wire.charset import TOTAL, Charset, Decoded, decode, decode_stored, encode, is_known, resolve
from gateway.wire.table_0211 import OFFICIAL, UNCARRIABLE

ESC = b"\x1b$B\x33+\x1b(B"


def chosen(
    declared: bytes,
    *,
    configured: str | None = None,
    default: str = "utf-8",
    payload: bytes = b"",
    separator: bytes = b"~",
) -> Charset:
    return resolve(declared, separator=separator, configured=configured, default=default, payload=payload)


@pytest.mark.parametrize("name", [name for name, codec in OFFICIAL.items() if codec != UNCARRIABLE])
def test_an_official_name_is_taken_without_a_flag(name: str) -> None:
    assert chosen(name.encode()) == Charset(codec=OFFICIAL[name], declared=name, flags=())


@pytest.mark.parametrize(
    ("declared", "codec", "flags"),
    [
        (b"", "utf-8", ()),
        (b"~8859/1", "utf-8", ()),
        (b"  ", "utf-8", ()),
        (b"UNICODE UTF-8~8859/1", "utf-8", ()),
        (b"8859/1~UNICODE UTF-8", "iso8859-1", ()),
        (b"UTF8", "utf-8", ("charset-alias",)),
        (b"utf-8", "utf-8", ("charset-alias",)),
        (b"ISO 8859-1", "iso8859-1", ("charset-alias",)),
        (b"KLINGON", "utf-8", ("unknown-charset",)),
        (b"CNS 11643-1992", "utf-8", ("unknown-charset",)),
        (b"\xff\xfe", "utf-8", ("unknown-charset",)),
        (b"K" * 5_000, "utf-8", ("unknown-charset",)),
        (b"ISO IR87", "iso2022_jp_ext", ()),
    ],
)
def test_msh_18_is_read_by_its_first_repetition(declared: bytes, codec: str, flags: tuple[str, ...]) -> None:
    found = chosen(declared)
    assert (found.codec, found.flags) == (codec, flags)
    assert found.declared == declared.decode("ascii", "backslashreplace")


def test_the_default_is_what_the_channel_says() -> None:
    assert chosen(b"", default="8859/15").codec == "iso8859-15"
    assert chosen(b"KLINGON", default="8859/15").codec == "iso8859-15"


def test_without_a_repetition_separator_the_whole_field_is_the_name() -> None:
    assert chosen(b"8859/1~x", separator=b"").flags == ("unknown-charset",)


@pytest.mark.parametrize("declared", [b"~ISO IR87", b"~ISO IR159", b"ASCII~ISO IR14", b"8859/1~iso-ir87", b"ISO IR14"])
def test_escapes_and_a_japanese_set_in_any_repetition_mean_iso_2022_jp(declared: bytes) -> None:
    assert chosen(declared, payload=b"MSH" + ESC).codec == "iso2022_jp_ext"
    assert chosen(declared, payload=b"MSH").codec != "iso2022_jp_ext"


def test_escapes_without_a_japanese_set_mean_nothing() -> None:
    assert chosen(b"8859/1", payload=ESC).codec == "iso8859-1"
    assert chosen(b"", payload=ESC).codec == "utf-8"


def test_the_channels_fixed_encoding_rules() -> None:
    found = chosen(b"UNICODE UTF-16~ISO IR87", configured="8859/1", payload=ESC)
    assert found == Charset(codec="iso8859-1", declared="UNICODE UTF-16~ISO IR87", flags=())


@pytest.mark.parametrize("declared", [b"UNICODE UTF-16", b"UNICODE UTF-32", b"utf-16le", b"UCS2"])
def test_what_mllp_cannot_carry_is_refused(declared: bytes) -> None:
    with pytest.raises(CharsetUnusable, match="cannot be carried"):
        chosen(declared)


def test_a_configured_name_that_no_codec_has_is_refused() -> None:
    with pytest.raises(CharsetUnusable, match="not known"):
        chosen(b"", configured="KLINGON")
    with pytest.raises(CharsetUnusable, match="not known"):
        chosen(b"", default="KLINGON")


def read(payload: bytes, declared: bytes, fallback: str = "windows-1252") -> Decoded:
    return decode(payload, chosen(declared, payload=payload), fallback=fallback)


@pytest.mark.parametrize(
    ("declared", "payload", "text"),
    [
        (b"8859/1", b"\xe9", "é"),
        (b"8859/15", b"\xa4", "€"),
        (b"8859/1", b"\x80\x9f", "\x80\x9f"),
        (b"UNICODE UTF-8", b"\xc3\xa9", "é"),
        (b"~ISO IR87", b"PID|\x1b$B\x33+\x1b(B|", "PID|開|"),
        (b"~ISO IR159", b"\x1b$(D\x30\x21\x1b(B", "丂"),
        (b"GB 18030-2000", "名|".encode("gb18030"), "名|"),
        (b"ISO IR14", b"\xb1|", "ｱ|"),
    ],
)
def test_what_fits_is_decoded_as_declared(declared: bytes, payload: bytes, text: str) -> None:
    found = read(payload, declared)
    assert (found.text, found.mismatch) == (text, False)
    assert decode_stored(payload, found.codec) == text


def test_what_does_not_fit_is_marked_and_read_by_the_fallback() -> None:
    assert read(b"\xc3\xa9", b"ASCII") == Decoded(text="Ã©", codec=TOTAL, mismatch=True)
    assert read(b"\xc3\xa9", b"ASCII", "utf-8") == Decoded(text="é", codec="utf-8", mismatch=True)
    assert read(b"\xe9", b"UNICODE UTF-8", "8859/1") == Decoded(text="é", codec="iso8859-1", mismatch=True)


def test_a_fallback_that_does_not_fit_either_is_not_the_last_word() -> None:
    assert read(b"\xe9", b"ASCII", "utf-8") == Decoded(text="é", codec=TOTAL, mismatch=True)


@pytest.mark.parametrize("fallback", ["windows-1252", "cp1252", "UNICODE UTF-16", "no such name"])
def test_undefined_bytes_of_windows_1252_become_controls(fallback: str) -> None:
    found = read(b"\x81\x8d\x8f\x90\x9d\x80", b"UNICODE UTF-8", fallback)
    assert found == Decoded(text="\x81\x8d\x8f\x90\x9d€", codec=TOTAL, mismatch=True)


def test_a_channel_may_refuse_what_does_not_fit() -> None:
    with pytest.raises(CharsetUnusable, match="do not fit") as caught:
        read(b"\xe9SECRET", b"UNICODE UTF-8", "reject")
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_rejecting_refuses_nothing_that_fits() -> None:
    assert read(b"\xe9", b"8859/1", "reject").text == "é"


def test_stored_bytes_are_read_even_by_a_codec_that_does_not_fit_or_exist() -> None:
    assert decode_stored(b"\xe9", "utf-8") == "é"
    assert decode_stored(b"\xe9", "gone") == "é"


@given(st.binary(max_size=40), st.sampled_from(sorted(OFFICIAL)), st.sampled_from(["windows-1252", "utf-8"]))
def test_decoding_never_fails_never_replaces_and_can_be_repeated(payload: bytes, name: str, fallback: str) -> None:
    if OFFICIAL[name] == UNCARRIABLE:
        return
    found = read(payload, name.encode(), fallback)
    assert "\ufffd" not in found.text or "\ufffd".encode() in payload or OFFICIAL[name] == "gb18030"
    assert decode_stored(payload, found.codec) == found.text


@given(st.binary(max_size=40))
def test_the_fallback_is_reversible(payload: bytes) -> None:
    assert encode(decode_stored(payload, TOTAL), TOTAL) == payload


@pytest.mark.parametrize(
    ("text", "codec", "data"),
    [
        ("é", "utf-8", b"\xc3\xa9"),
        ("a漢b", "iso8859-1", b"a\\XE6BCA2\\b"),
        ("a漢字", "ascii", b"a\\XE6BCA2E5AD97\\"),
        ("漢\U0001f600", TOTAL, b"\\XE6BCA2F09F9880\\"),
        ("€\x81", TOTAL, b"\x80\x81"),
        ("€漢", "iso2022_jp_ext", b"\\XE282AC\\\x1b$B4A\x1b(B"),
        ("\ud800", "utf-8", b"\\XEDA080\\"),
        ("漢é", "shift_jis", "漢".encode("shift_jis") + b"\\XC3A9\\"),
    ],
)
def test_what_a_charset_lacks_is_written_as_an_hl7_escape(text: str, codec: str, data: bytes) -> None:
    assert encode(text, codec) == data


@given(st.text(), st.sampled_from(sorted(set(OFFICIAL.values()) - {UNCARRIABLE})))
def test_encoding_never_fails(text: str, codec: str) -> None:
    assert encode(text, codec).decode(codec) is not None


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("utf-8", True),
        ("8859/1", True),
        ("windows-1252", True),
        ("cp1252", True),
        ("KLINGON", False),
        ("utf-16", False),
    ],
)
def test_a_configuration_may_name_what_can_be_used(name: str, known: bool) -> None:
    assert is_known(name) is known
