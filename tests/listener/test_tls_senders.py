"""Certificates and MSH-3/MSH-4: who may send as whom, and whose message a duplicate is of."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from gateway.listener.options import AckOptions, ChannelOptions, SenderOptions
from gateway.listener.tls_senders import NOT_PINNED, UNKNOWN, Senders, Stranger, identify
from gateway.model.policy import AckMode, ClientCert
from gateway.model.states import ErrorCode, State
from gateway.wire.header import scan
from tests.listener.papers import Paper, Papers, channel, dial_tls
from tests.listener.stage import (
    SmallStore,
    Stage,
    bytes_of,
    fields,
    listening,
    m,
    msa,
    opened,
    rows_of,
)

LAB = SenderOptions(name="lab", subject=(("commonName", "lab"),), msh3=("SNDAPP",), msh4=("SNDFAC",))
WARD = SenderOptions(name="ward", dns="WARD.test", msh3=("WARDAPP",))
REQUIRED, OPTIONAL = ClientCert.REQUIRED, ClientCert.OPTIONAL


def mapped(papers: Papers, *senders: SenderOptions, client_cert: ClientCert = REQUIRED) -> ChannelOptions:
    return channel(papers.tls(client_cert, senders=senders))


async def ask(stage: Stage, papers: Papers, paper: Paper | None, message: bytes) -> bytes:
    sender = await dial_tls(stage, papers.client(paper))
    return await sender.ask(message)


async def test_a_sender_may_use_its_own_names_and_no_other_s(tmp_path: Path, papers: Papers) -> None:
    async with opened(tmp_path) as store, listening(store.intake, mapped(papers, LAB, WARD)) as stage:
        assert msa(await ask(stage, papers, papers.lab, m("A1"))) == (b"AA", b"A1")
        refusal = await ask(stage, papers, papers.ward, m("A2"))
        assert msa(refusal) == (b"AR", b"A2")
        assert fields(refusal, b"ERR")[2:5] == [b"MSH^1^3", b"103^Table value not found^HL70357", b"E"]
        wrong_facility = await ask(stage, papers, papers.lab, m("A3").replace(b"SNDFAC", b"ELSEWHERE"))
        assert msa(wrong_facility) == (b"AR", b"A3")
        assert fields(wrong_facility, b"ERR")[2] == b"MSH^1^4"
        assert [bytes(row.control_id) for row in await rows_of(store)] == [b"A1"]
        refused = await rows_of(store, State.NACKED)
        assert [(bytes(row.control_id), row.error_code) for row in refused] == [
            (b"A2", ErrorCode.NOT_ALLOWED),
            (b"A3", ErrorCode.NOT_ALLOWED),
        ]
        assert await bytes_of(store, refused[0]) == m("A2")
    assert [note["code"] for note in stage.notes.named("refused")] == ["not-allowed", "not-allowed"]


async def test_in_enhanced_mode_the_refusal_is_ce(papers: Papers) -> None:
    tls = papers.tls(REQUIRED, senders=(WARD,))
    options = replace(channel(tls), ack=AckOptions(mode=AckMode.ENHANCED))
    async with listening(SmallStore(), options) as stage:
        assert msa(await ask(stage, papers, papers.ward, m("A1"))) == (b"CE", b"A1")


async def test_each_message_of_a_batch_is_judged(papers: Papers) -> None:
    store = SmallStore()
    batch = b"BHS|^~\\&|X\r" + m("A1") + m("A2").replace(b"SNDAPP", b"OTHER") + b"BTS|2\r"
    async with listening(store, mapped(papers, LAB)) as stage:
        answer = await ask(stage, papers, papers.lab, batch)
    answered = [line[:9] for line in answer.split(b"\r") if line.startswith(b"MSA")]
    assert answered == [b"MSA|AA|A1", b"MSA|AR|A2"]
    assert [offer.control_id for offer in store.offers] == [b"A1"]


async def test_a_certificate_that_no_sender_fits_is_turned_away(papers: Papers) -> None:
    stranger = papers.made("stranger", "/O=Hospital/CN=stranger")
    store = SmallStore()
    async with listening(store, mapped(papers, LAB)) as stage:
        sender = await dial_tls(stage, papers.client(stranger))
        assert await sender.rest() == b""
        assert [note["reason"] for note in stage.notes.named("turned-away")] == [UNKNOWN]
        await stage.notes.until(lambda: stage.listener.connections == 0)


async def test_who_shows_no_certificate_does_not_speak_for_those_who_have_one(papers: Papers) -> None:
    store = SmallStore()
    async with listening(store, mapped(papers, LAB, client_cert=OPTIONAL)) as stage:
        assert msa(await ask(stage, papers, None, m("A1"))) == (b"AR", b"A1")
        other = m("A2").replace(b"SNDAPP", b"OLDAPP")
        assert msa(await ask(stage, papers, None, other)) == (b"AA", b"A2")
        assert msa(await ask(stage, papers, papers.lab, m("A1"))) == (b"AA", b"A1")


async def test_no_sender_can_poison_the_duplicate_key_of_another(tmp_path: Path, papers: Papers) -> None:
    """Both may use the same MSH-3 and MSH-4; the key must still be each one's own."""
    lab = SenderOptions(name="lab", subject=(("commonName", "lab"),))
    ward = SenderOptions(name="ward", subject=(("commonName", "ward"),))
    async with opened(tmp_path) as store, listening(store.intake, mapped(papers, lab, ward)) as stage:
        poison, honest = m("A1", patient="POISON"), m("A1")
        assert msa(await ask(stage, papers, papers.ward, poison)) == (b"AA", b"A1")
        answer = await ask(stage, papers, papers.lab, honest)
        assert msa(answer) == (b"AA", b"A1")
        assert await ask(stage, papers, papers.lab, honest) == answer
        assert [await bytes_of(store, row) for row in await rows_of(store)] == [poison, honest]


async def test_a_renewed_certificate_changes_nothing_about_duplicates(tmp_path: Path, papers: Papers) -> None:
    renewed = papers.made("lab-renewed", "/O=Hospital/CN=lab")
    async with opened(tmp_path) as store, listening(store.intake, mapped(papers, LAB)) as stage:
        answer = await ask(stage, papers, papers.lab, m("A1"))
        assert await ask(stage, papers, renewed, m("A1")) == answer
        assert len(await rows_of(store)) == 1


CERTIFICATE = {
    "subject": ((("organizationName", "Hospital"),), (("commonName", "lab"),)),
    "subjectAltName": (("DNS", "Lab.Test"), ("IP Address", "10.0.0.1")),
}
DER = b"der"


@pytest.mark.parametrize(
    ("sender", "fits"),
    [
        (SenderOptions(name="x", subject=(("commonName", "lab"),)), True),
        (SenderOptions(name="x", subject=(("commonName", "lab"), ("organizationName", "Hospital"))), True),
        (SenderOptions(name="x", subject=(("commonName", "lab"), ("organizationName", "Other"))), False),
        (SenderOptions(name="x", subject=(("organizationName", "lab"),)), False),
        (SenderOptions(name="x", subject=(("commonName", "LAB"),)), False),
        (SenderOptions(name="x", dns="lab.test"), True),
        (SenderOptions(name="x", dns="10.0.0.1"), False),
        (SenderOptions(name="x", dns="lab.test", subject=(("commonName", "ward"),)), False),
        (SenderOptions(name="x", fingerprint="0" * 64), False),
    ],
)
def test_everything_given_must_fit(sender: SenderOptions, fits: bool, papers: Papers) -> None:
    options = papers.tls(REQUIRED, senders=(sender,))
    assert identify(options, DER, CERTIFICATE) == ("x" if fits else Stranger(reason=UNKNOWN))


def test_a_certificate_can_be_known_by_its_fingerprint(papers: Papers) -> None:
    sender = SenderOptions(name="x", fingerprint=sha256(DER).hexdigest())
    assert identify(papers.tls(REQUIRED, senders=(sender,)), DER, CERTIFICATE) == "x"
    assert identify(papers.tls(REQUIRED, pinned=(papers.lab,), senders=(sender,)), DER, CERTIFICATE) == Stranger(
        reason=NOT_PINNED
    )


def test_the_first_sender_that_fits_counts(papers: Papers) -> None:
    first = SenderOptions(name="first", dns="lab.test")
    second = SenderOptions(name="second", dns="lab.test")
    assert identify(papers.tls(REQUIRED, senders=(first, second)), DER, CERTIFICATE) == "first"


def test_without_senders_or_a_certificate_nobody_is_known(papers: Papers) -> None:
    assert identify(papers.tls(REQUIRED), DER, CERTIFICATE) == ""
    assert identify(papers.tls(OPTIONAL, senders=(LAB,), pinned=(papers.lab,)), None, None) == ""


def objection(
    sender: SenderOptions, msh3: bytes, msh4: bytes = b"F", *, who: str = "x", codec: str = "utf-8"
) -> int | None:
    header = scan(b"MSH|^~\\&|" + msh3 + b"|" + msh4 + b"|R|R|20260101||ADT^A01|1|P|2.5\r")
    return Senders((sender,)).objection(header, codec, identity=who)


@pytest.mark.parametrize(
    ("allowed", "value", "may"),
    [
        (("LAB",), b"LAB", True),
        (("LAB",), b"LAB^1.2^ISO", True),
        (("LAB^1.2^ISO",), b"LAB^1.2^ISO", True),
        (("LAB^1.2^ISO",), b"LAB", False),
        (("LAB^1.2^ISO",), b"LAB^1.3^ISO", False),
        (("A", "LAB"), b"LAB^", True),
        (("LAB",), b"lab", False),
        (("LAB",), b"LAB2", False),
        (("LAB",), b"X^LAB", False),
        (("LAB",), b"LAB~X", False),
        (("LAB",), b"LAB&X", False),
        (("LAB",), b"", False),
        (("",), b"", True),
        ((), b"ANYTHING", True),
        (("LABÖ",), "LABÖ".encode(), True),
    ],
)
def test_a_value_is_compared_by_its_first_component_or_whole(allowed: tuple[str, ...], value: bytes, may: bool) -> None:
    assert objection(SenderOptions(name="x", msh3=allowed), value) == (None if may else 3)
    assert objection(SenderOptions(name="x", msh4=allowed), b"A", value) == (None if may else 4)


def test_values_are_compared_as_text_of_the_message_s_own_charset() -> None:
    sender = SenderOptions(name="x", msh3=("LABÖ",))
    assert objection(sender, "LABÖ".encode("latin-1"), codec="iso8859-1") is None


def test_the_message_s_own_separators_are_used() -> None:
    header = scan(b"MSH|*~\\&|LAB*1.2*ISO|F|R|R|20260101||ADT*A01|1|P|2.5\r")
    assert Senders((SenderOptions(name="x", msh3=("LAB^1.2^ISO",)),)).objection(header, "utf-8", identity="x") is None


def test_what_nobody_claims_anybody_may_use() -> None:
    assert objection(SenderOptions(name="x"), b"LAB", who="") is None
    assert objection(SenderOptions(name="x", msh3=("LAB",)), b"OTHER", who="") is None
    assert objection(SenderOptions(name="x", msh3=("LAB",)), b"LAB", who="") == 3
    assert objection(SenderOptions(name="x", msh4=("F",)), b"LAB", who="") == 3
    assert objection(SenderOptions(name="x", msh3=("LAB",), msh4=("G",)), b"LAB", who="") is None


def test_judgements_are_remembered_and_not_without_end() -> None:
    senders = Senders((SenderOptions(name="x", msh3=("A1500",)),))
    found = []
    for number in range(2_000):
        header = scan(b"MSH|^~\\&|A%d|F|R|R|20260101||ADT^A01|1|P|2.5\r" % number)
        found.append(senders.objection(header, "utf-8", identity="x"))
        assert senders.objection(header, "utf-8", identity="x") == found[-1]
    assert [number for number, field in enumerate(found) if field is None] == [1500]
    assert len(senders._known) <= 1_024
