"""Character sets from the socket to the page: bytes kept, header, answer and segment tree split by characters."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from fixtures.make import by_name
from tests.processes import command
from tests.system.site import Site, exchange

SETS = {
    # fixture: what it is read by, its flags
    "charset-utf8-right": ("utf-8", []),
    "charset-utf8-wrong": ("windows-1252", ["encoding-mismatch"]),
    "charset-utf8-unknown": ("utf-8", ["unknown-charset"]),
    "charset-latin1-right": ("iso8859-1", []),
    "charset-latin1-wrong": ("windows-1252", ["encoding-mismatch"]),
    "charset-latin1-missing": ("windows-1252", ["encoding-mismatch"]),
    "charset-latin1-repeated": ("iso8859-1", []),
    "charset-latin9-right": ("iso8859-15", []),
    "charset-latin9-wrong": ("iso8859-1", []),
    "charset-header-latin1": ("iso8859-1", []),
    "charset-alias-utf8-short": ("utf-8", ["charset-alias"]),
    "charset-alias-utf8-dash": ("utf-8", ["charset-alias"]),
    "charset-alias-latin1-iso": ("iso8859-1", ["charset-alias"]),
    "charset-windows1252": ("iso8859-1", []),
    "charset-shiftjis": ("shift_jis", ["charset-alias"]),
    "charset-gb18030": ("gb18030", []),
    "charset-iso2022jp": ("iso2022_jp_ext", []),
}
TRAPS = {"charset-shiftjis": 1, "charset-gb18030": 1, "charset-iso2022jp": 2}
"""Fixtures whose names hold bytes that look like separators, and how many names PID-5 holds."""


def header_fields(message: bytes, codec: str) -> list[str]:
    return message.decode(codec).split("\r")[0].split("|")


async def test_every_set_is_kept_answered_and_shown_by_its_characters(site: Site) -> None:
    await site.serve()
    config = str(site.config())
    gateway = await site.gateway(Path(config))
    payloads = {name: by_name(name).payload for name in SETS}
    answers = await exchange(gateway.ready["channels"]["adt"], *payloads.values())
    rows = await site.settled(Path(config), len(SETS))
    assert [row["state"] for row in rows] == ["processed"] * len(SETS)
    for (name, payload), answer, row in zip(payloads.items(), answers, rows, strict=True):
        codec, flags = SETS[name]
        assert (row["encoding"], row["flags"]) == (codec, flags), name
        assert row["sha256"] == sha256(payload).hexdigest(), name
        python = "cp1252" if codec == "windows-1252" else codec
        asked, given = header_fields(payload, python), header_fields(answer, python)
        assert given[4:6] == asked[2:4], name
        assert b"MSA|AA|" + by_name(name).control_id in answer, name


@pytest.mark.parametrize("name", TRAPS)
async def test_declared_configured_and_observed_stand_side_by_side_and_no_character_is_split(
    site: Site, name: str
) -> None:
    await site.serve()
    config = str(site.config())
    gateway = await site.gateway(Path(config))
    payload, codec = by_name(name).payload, SETS[name][0]
    await exchange(gateway.ready["channels"]["adt"], payload)
    [row] = await site.settled(Path(config), 1)
    assert await command("show", row["id"], "--raw", "-c", config) == payload
    shown = json.loads(await command("show", row["id"], "--json", "-c", config))
    declared = header_fields(payload, codec)[17]
    assert shown["charset"] == {
        "declared": declared,
        "configured": None,
        "default": "utf-8",
        "fallback": "windows-1252",
        "observed": codec,
        "mismatch": False,
    }
    assert f"declared {declared}, default utf-8 (else windows-1252), read as {codec}" in " ".join(
        (await command("show", row["id"], "-c", config)).decode().split()
    )
    segments = {
        segment["name"]: {field["path"]: field for field in segment["fields"]}
        for segment in shown["outline"]["segments"]
    }
    assert shown["outline"]["flaw"] is None
    assert segments["MSH"]["MSH-3"]["value"] == header_fields(payload, codec)[2]
    name_of_patient = segments["PID"]["PID-5"]
    assert (name_of_patient["repetitions"], name_of_patient["components"]) == (TRAPS[name], 2)
    assert segments["PID"]["PID-7"]["length"] == len("19700101")


async def test_a_configured_set_wins_over_a_declared_one_and_is_shown_beside_it(site: Site) -> None:
    site.channel = 'encoding = "8859/15"'
    await site.serve()
    config = str(site.config())
    gateway = await site.gateway(Path(config))
    payload = by_name("charset-latin9-wrong").payload
    await exchange(gateway.ready["channels"]["adt"], payload)
    [row] = await site.settled(Path(config), 1)
    charset = json.loads(await command("show", row["id"], "--json", "-c", config))["charset"]
    assert (charset["declared"], charset["configured"], charset["observed"]) == ("8859/1", "8859/15", "iso8859-15")
    assert "€" in site.taken()[0]["body"]
