"""Names of character sets."""

import codecs

import pytest

from gateway.wire.table_0211 import (
    _ALIASES,
    OFFICIAL,
    TRAILING_SEPARATORS,
    UNCARRIABLE,
    alias,
    configured,
    squeezed,
)


@pytest.mark.parametrize("name", OFFICIAL)
def test_every_official_name_has_a_codec_or_cannot_be_carried(name: str) -> None:
    codec = OFFICIAL[name]
    assert codec == UNCARRIABLE or codecs.lookup(codec)


@pytest.mark.parametrize("name", OFFICIAL)
def test_every_official_name_misspelled_finds_the_same_codec(name: str) -> None:
    for spelling in (name.lower(), name.replace(" ", "_"), name.replace("-", ""), f" {name} "):
        assert alias(spelling) == OFFICIAL[name]


@pytest.mark.parametrize("codec", sorted(set(_ALIASES.values()) - {UNCARRIABLE}))
def test_every_alias_names_a_codec_that_reads_ascii_as_ascii(codec: str) -> None:
    text = "".join(map(chr, range(0x20, 0x7F))) + "\r\n"
    assert text.encode(codec).decode("ascii") == text
    assert configured(codec) is not None


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("UTF8", "utf-8"),
        ("utf-8", "utf-8"),
        ("UNICODE", "utf-8"),
        ("ISO 8859-1", "iso8859-1"),
        ("ISO-8859-15", "iso8859-15"),
        ("iso_8859-2", "iso8859-2"),
        ("8859-16", "iso8859-16"),
        ("8859/10", "iso8859-10"),
        ("ISO_IR 100", "iso8859-1"),
        ("ISO_IR 192", "utf-8"),
        ("latin1", "iso8859-1"),
        ("WINDOWS-1252", "cp1252"),
        ("Shift_JIS", "shift_jis"),
        ("GB18030", "gb18030"),
        ("Big5", "big5"),
        ("UTF-16LE", UNCARRIABLE),
        ("KLINGON", None),
        ("8859/12", None),
        ("CNS 11643-1992", None),
        ("", None),
    ],
)
def test_an_alias_is_found_or_not(name: str, codec: str | None) -> None:
    assert alias(name) == codec


def test_a_name_too_long_to_be_one_is_not_looked_at() -> None:
    assert squeezed("u" * 64) == "U" * 64
    assert squeezed("UTF-8" + " " * 100) == ""


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("8859/1", "iso8859-1"),
        ("utf8", "utf-8"),
        ("hp_roman8", "hp-roman8"),
        ("UNICODE UTF-16", UNCARRIABLE),
        ("utf_16", UNCARRIABLE),
        ("cp037", None),
        ("rot13", None),
        ("base64", None),
        ("utf_7", None),
        ("idna", None),
        ("punycode", None),
        ("undefined", None),
        ("unicode_escape", None),
        ("raw_unicode_escape", None),
        ("utf_8_sig", None),
        ("no such codec", None),
        ("a\0b", None),
        ("", None),
    ],
)
def test_an_administrator_may_name_what_reads_ascii_as_ascii(name: str, codec: str | None) -> None:
    assert configured(name) == codec


def test_the_codecs_scanned_by_characters_are_those_whose_second_bytes_look_like_separators() -> None:
    risky = set()
    for codec in set(_ALIASES.values()) - {UNCARRIABLE}:
        for lead in range(0x80, 0x100):
            for trail in b"|^~\\&#$!*":
                try:
                    risky |= {codec} if len(bytes([lead, trail]).decode(codec)) == 1 else set()
                except UnicodeDecodeError:
                    continue
    assert risky <= TRAILING_SEPARATORS
    assert risky >= {"shift_jis", "cp932", "gb18030", "gbk", "big5", "cp950", "big5hkscs"}
