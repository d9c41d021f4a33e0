"""Names of character sets, as HL7 table 0211 and other people write them, to codecs. Never guesses."""

import codecs
from functools import lru_cache

UNCARRIABLE = "uncarriable"
"""Stands for UTF-16 and UTF-32, whose bytes hold the framing bytes."""

OFFICIAL = {
    "ASCII": "ascii",
    "8859/1": "iso8859-1",
    "8859/2": "iso8859-2",
    "8859/3": "iso8859-3",
    "8859/4": "iso8859-4",
    "8859/5": "iso8859-5",
    "8859/6": "iso8859-6",
    "8859/7": "iso8859-7",
    "8859/8": "iso8859-8",
    "8859/9": "iso8859-9",
    "8859/15": "iso8859-15",
    "ISO IR6": "ascii",
    "ISO IR14": "shift_jis",  # JIS X 0201 is its single-byte half
    "ISO IR87": "iso2022_jp_ext",
    "ISO IR159": "iso2022_jp_ext",
    "GB 18030-2000": "gb18030",
    "KS X 1001": "euc_kr",
    "BIG-5": "big5",
    "UNICODE UTF-8": "utf-8",
    "UNICODE UTF-16": UNCARRIABLE,
    "UNICODE UTF-32": UNCARRIABLE,
}
"""Table 0211. CNS 11643-1992 is missing on purpose: no codec of ours reads it, so it counts as unknown."""

JAPANESE_ESCAPES = frozenset({"ISOIR14", "ISOIR87", "ISOIR159"})

_SETS_OF_8859 = (*range(1, 12), *range(13, 17))

_SPELLINGS = {
    "ascii": "ASCII USASCII ISO646US ANSIX341968 ISOIR6",
    "utf-8": "UTF8 UNICODEUTF8 UNICODE UTF8BOM ISOIR192 CP65001",
    "cp1250": "CP1250 WINDOWS1250",
    "cp1251": "CP1251 WINDOWS1251",
    "cp1252": "CP1252 WINDOWS1252 ANSI",
    "cp1253": "CP1253 WINDOWS1253",
    "cp1254": "CP1254 WINDOWS1254",
    "cp1255": "CP1255 WINDOWS1255",
    "cp1256": "CP1256 WINDOWS1256",
    "cp1257": "CP1257 WINDOWS1257",
    "cp1258": "CP1258 WINDOWS1258",
    "cp437": "CP437 IBM437",
    "cp850": "CP850 IBM850",
    "cp852": "CP852 IBM852",
    "cp858": "CP858 IBM858",
    "cp866": "CP866 IBM866",
    "koi8-r": "KOI8R",
    "koi8-u": "KOI8U",
    "tis-620": "TIS620 ISOIR166",
    "mac-roman": "MACROMAN MACINTOSH",
    "iso8859-1": "LATIN1 ISOIR100 L1",
    "iso8859-2": "LATIN2 ISOIR101 L2",
    "iso8859-3": "LATIN3 ISOIR109 L3",
    "iso8859-4": "LATIN4 ISOIR110 L4",
    "iso8859-5": "ISOIR144 CYRILLIC",
    "iso8859-6": "ISOIR127 ARABIC",
    "iso8859-7": "ISOIR126 GREEK",
    "iso8859-8": "ISOIR138 HEBREW",
    "iso8859-9": "LATIN5 ISOIR148 L5",
    "iso8859-15": "LATIN9 ISOIR203",
    "shift_jis": "SHIFTJIS SJIS ISOIR13 JISX0201 JISX02011976 ISOIR14",
    "cp932": "CP932 MS932 WINDOWS31J MSKANJI",
    "euc_jp": "EUCJP",
    "iso2022_jp_ext": "ISO2022JP ISO2022JPEXT ISO2022JP1 ISO2022JP2 ISO2022JP3 JISX0208 JISX02081990 JISX0212"
    " JISX02121990 ISOIR87 ISOIR159 ISO2022IR87 ISO2022IR159",
    "gb18030": "GB18030 GB180302000 GB180302005 GB180302022",
    "gbk": "GBK CP936 MS936 ISOIR58",
    "gb2312": "GB2312 EUCCN GB23121980",
    "big5": "BIG5 BIGFIVE",
    "cp950": "CP950 MS950",
    "big5hkscs": "BIG5HKSCS",
    "euc_kr": "EUCKR KSX1001 KSC5601 KSC56011987 ISOIR149",
    "cp949": "CP949 MS949 UHC",
    UNCARRIABLE: "UTF16 UTF16LE UTF16BE UTF32 UTF32LE UTF32BE UNICODEUTF16 UNICODEUTF32 UCS2 UCS4 ISO10646UCS2"
    " ISO10646UCS4 UNICODEUCS2 UNICODEUCS4",
}


def _spelled() -> dict[str, str]:
    table = {name: codec for codec, names in _SPELLINGS.items() for name in names.split()}
    for number in _SETS_OF_8859:
        for prefix in ("8859", "ISO8859", "ISOIEC8859", "IEC8859"):
            table[f"{prefix}{number}"] = f"iso8859-{number}"
    return table


_ALIASES = _spelled()
_LONGEST_NAME = 64

TRAILING_SEPARATORS = frozenset(
    {"shift_jis", "cp932", "gb18030", "gbk", "big5", "cp950", "big5hkscs", "iso2022_jp_ext", "cp949"}
)
"""Codecs whose second bytes can look like a separator."""

_PLAIN = "".join(map(chr, (9, 10, 13, *range(0x20, 0x7F))))


def squeezed(name: str) -> str:
    """Give the name without case and punctuation, as the alias table has it; "" for what is too long to be one."""
    if len(name) > _LONGEST_NAME:
        return ""
    return "".join(char for char in name.upper() if char.isascii() and char.isalnum())


def alias(name: str) -> str | None:
    """Find the codec of a misspelled or foreign name; None when the table lacks it."""
    return _ALIASES.get(squeezed(name))


@lru_cache(maxsize=64)
def configured(name: str) -> str | None:
    """Find the codec of a name an administrator wrote: table 0211, an alias, or a Python codec that reads ASCII as
    ASCII; None when there is none.

    Not for names from the wire: Python imports modules by them.
    """
    found = OFFICIAL.get(name) or alias(name)
    if found is not None:
        return found
    try:
        entry = codecs.lookup(name)
        fits = "MSH".encode(entry.name) == b"MSH" and _PLAIN.encode(entry.name).decode("ascii") == _PLAIN
    except (LookupError, ValueError, TypeError, AttributeError):
        return None
    return entry.name if fits and entry.name != "raw-unicode-escape" else None
