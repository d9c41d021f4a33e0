"""Torture against the real listener on a real store, where all is right, and against receivers that are wrong."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.listener.options import ChannelOptions, Patience
from gateway.model.policy import Framing
from gateway.sender.connection import Unreachable
from gateway.sender.options import Target
from gateway.sender.torture.catalogue import KINDS, UnknownKind, chosen
from gateway.sender.torture.foreign import hello
from gateway.sender.torture.run import torture
from gateway.sender.torture.stage import Stage
from gateway.sender.torture.values import Finding, Kind, Mark, Outcome, Report, TortureOptions
from gateway.wire.header import scan
from tests.cli.conftest import environment
from tests.listener.stage import ADT, Scene, scene
from tests.processes import ROOT
from tests.sender import receivers
from tests.sender.receivers import Receiver
from tests.sender.running import SOON
from tests.system.conftest import site
from tests.system.site import Site

__all__ = ["site"]

CAP = 64 << 10
OWN = ChannelOptions(name=ADT, max_message_bytes=CAP, patience=Patience(silence=0.1, linger=0.1))


def options(target: Target, **changes: float) -> TortureOptions:
    """Give the options of a quick run; `patience` is what a receiver that never answers costs."""
    quick = TortureOptions(
        target=target, run="TEST", patience=20.0, quiet=SOON, pause=0.0, drip=SOON, oversize=2 * CAP, unread=64
    )
    return replace(quick, **changes)  # type: ignore[arg-type]  # the tests name the numbers they vary


def marked(report: Report) -> dict[str, tuple[Mark, str, str | None]]:
    """Give what is not right."""
    found = {finding.kind.name: finding.outcome for finding in report.findings}
    return {name: (one.mark, one.saw, one.note) for name, one in found.items() if one.mark is not Mark.RIGHT}


async def run_on(play: Scene, kinds: tuple[Kind, ...] = KINDS, **changes: float) -> Report:
    host, port = play.stage.listener.address
    return await torture(options(Target(host=host, port=port), **changes), kinds)


async def test_our_own_listener_does_everything_right(tmp_path: Path) -> None:
    async with scene(tmp_path, OWN) as play:
        report = await run_on(play)
        assert marked(report) == {}
        assert [finding.kind for finding in report.findings] == list(KINDS)
        assert report.exit_code == 0
        stored = await play.stored()
        assert all(payload.count(b"MSH") == 1 for payload in stored)
        assert all(b"TORTURE" in payload for payload in stored)
        refused = {row.control_id for row in await play.refused()}
        both = refused & {row.control_id for row in await play.rows()}
        assert len(both) == 1  # same-id-other-bytes


async def test_strict_framing_refuses_or_hangs_up_and_never_takes_what_is_odd(tmp_path: Path) -> None:
    async with scene(tmp_path, replace(OWN, framing=Framing.STRICT)) as play:
        waiting = chosen(["missing-cr-then-silence"])
        odd = marked(await run_on(play, tuple(kind for kind in KINDS if kind not in waiting[1:])))
        odd |= marked(await run_on(play, waiting[1:], patience=0.3))
        assert [name for name, (mark, _, _) in odd.items() if mark is Mark.WRONG] == []
        assert {
            "lf-between",
            "bom-first",
            "doubled-vt",
            "log-line",
            "missing-cr-then-end",
            "missing-cr-then-silence",
        } <= set(odd)


async def test_everything_sent_is_marked_as_synthetic_and_never_as_production(tmp_path: Path) -> None:
    async with scene(tmp_path, OWN) as play:
        await run_on(play, unread=2)
        for payload in await play.stored():
            header = scan(payload)
            assert header.control_id.startswith(b"TORTURETEST-")
            assert len(header.control_id) <= 20
            assert header.processing_id == b"T"
            assert header.sending_application.startswith(b"TORTURE")


# Receivers that are wrong.


async def outcome_of(receiver: Receiver, name: str, **changes: float) -> Outcome:
    kind = next(kind for kind in KINDS if kind.name == name)
    async with receiver:
        return await kind.play(Stage(options(receiver.target, **changes)))


@pytest.mark.parametrize(
    ("receiver", "kind", "note"),
    [
        (receivers.SwapsAnswers, "two-in-one-write", "answers came out of order"),
        (receivers.Receiver, "terminator-inside", "got a positive answer"),
        (receivers.EndsAtFs, "fs-inside", "only the part before FS was taken"),
        (receivers.EndsAtFs, "terminator-inside", "got a positive answer"),
        (receivers.Receiver, "empty-frame", "got a positive answer"),
        (receivers.Receiver, "blank-frame", "got a positive answer"),
        (receivers.Receiver, "no-msh", "got a positive answer"),
        (receivers.Receiver, "ack-as-message", "got a positive answer"),
        (receivers.Receiver, "several-msh", "one of the messages was taken"),
        (receivers.Receiver, "trail-bytes", "a positive answer whose MSA-2 is no MSH-10 of ours"),
        (receivers.Receiver, "http-post", "taken as a message"),
        (receivers.AnswersTwice, "byte-by-byte", "a message was answered twice"),
        (receivers.NamesNobody, "plain", "MSA-2 is no MSH-10 of ours"),
        (receivers.RefusesAll, "plain", "was refused"),
        (receivers.RepliesInKind, "plain", "cannot be read"),
        (receivers.ForgetsTheLastCr, "answer-form", "the last segment does not end in CR"),
        (receivers.RepeatsItsId, "answer-form", "two answers with the same MSH-10"),
        (receivers.HasNoId, "answer-form", "an answer without MSH-10"),
        (receivers.RefusesAll, "answer-form", "was refused"),
        (receivers.ReplaysById, "same-id-other-bytes", "replayed for another one"),
        (receivers.RefusesRepeats, "duplicate", "the retransmit: TORTURETEST-0001 was refused"),
        (receivers.RefusesRepeats, "half-open-unanswered", "was refused"),
        (receivers.RefusesAll, "duplicate", "was refused"),
        (receivers.RefusesAll, "same-id-other-bytes", "was refused"),
        (receivers.NeverStops, "plain", "without FS CR"),
    ],
)
async def test_a_receiver_that_is_wrong_is_called_wrong(receiver: type[Receiver], kind: str, note: str) -> None:
    outcome = await outcome_of(receiver(), kind, quiet=20.0 if kind in {"fs-inside", "http-post"} else SOON * 4)
    assert (outcome.mark, note in (outcome.note or "")) == (Mark.WRONG, True), outcome


@pytest.mark.parametrize(
    ("receiver", "kind", "note"),
    [
        (receivers.Deaf, "plain", "was not answered in time"),
        (receivers.NeedsOneRead, "slow-drip", "was never answered, though a later one was"),
        (receivers.NeedsOneRead, "byte-by-byte", "was never answered, though a later one was"),
        (receivers.NeedsOneRead, "cut-everywhere", "cut behind byte"),
        (receivers.NeverEndsAnAnswer, "plain", "an answer without FS CR at its end"),
        (receivers.SilentAfterNoise, "log-line", "was not answered in time"),
        (receivers.SilentAfterNoise, "bom-first", "was not answered in time"),
        (receivers.StopsReading, "oversize", "was not answered in time"),
        (receivers.OneAtATime, "never-reads", "an ordinary sender waited"),
        (receivers.Deaf, "half-close", "closed before"),
        (receivers.Deaf, "several-msh", "neither taken nor refused"),
        (receivers.LosesTheSecond, "two-in-one-write", "was never answered, though a later one was"),
        (receivers.LosesTheSecond, "many-in-one-write", "was never answered, though a later one was"),
        (receivers.Receiver, "truncated-then-new", "got a positive answer"),
        (receivers.Receiver, "wrong-trailer", "got a positive answer"),
        (receivers.Receiver, "missing-cr-then-vt", "was never answered, though a later one was"),
        (receivers.NeverAnswersRepeats, "same-id-other-bytes", "was not answered in time"),
    ],
)
async def test_a_receiver_that_falls_silent_is_called_wrong(receiver: type[Receiver], kind: str, note: str) -> None:
    # A pause that lets every piece arrive alone, and a message too long for the buffers of both sides.
    outcome = await outcome_of(receiver(), kind, patience=0.4, pause=0.01, drip=0.6, oversize=32 << 20)
    expected = Mark.TOLERABLE if kind == "half-close" else Mark.WRONG
    assert (outcome.mark, note in (outcome.note or "")) == (expected, True), outcome


@pytest.mark.parametrize(
    ("receiver", "kind", "note"),
    [
        (receivers.Pedant, "lf-between", "closed before"),
        (receivers.Pedant, "log-line", "closed before"),
        (receivers.Pedant, "bom-inside", "was refused"),
        (receivers.Pedant, "doubled-vt", "was refused"),
        (receivers.Pedant, "ack-as-message", "was refused"),
        (receivers.ClosesAtTheEnd, "half-close", "closed before"),
        (receivers.ClosesAtTheEnd, "missing-cr-then-end", "closed before"),
        (receivers.Receiver, "duplicate", "answered anew"),
        (receivers.Receiver, "same-id-other-bytes", "MSH-10 is not looked at"),
        (receivers.Receiver, "utf-16", "got a positive answer"),
        (receivers.Receiver, "oversize", "takes 0.1 MiB"),
        (receivers.Receiver, "tls-hello", "left waiting"),
        (receivers.SpeaksTls, "tls-hello", "the port speaks TLS"),
        (receivers.Pedant, "no-control-id", None),
        (receivers.Pedant, "several-msh", None),
        (receivers.Pedant, "http-post", None),
        (receivers.Receiver, "never-reads", None),
        (receivers.ReplaysById, "duplicate", None),
        (receivers.LaterToo, "two-in-one-write", None),
        (receivers.LaterToo, "byte-by-byte", None),
    ],
)
async def test_a_lawful_choice_is_not_called_wrong(receiver: type[Receiver], kind: str, note: str | None) -> None:
    outcome = await outcome_of(receiver(), kind)
    if note is None:
        assert (outcome.mark, outcome.note) == (Mark.RIGHT, None)
    else:
        assert (outcome.mark, note in (outcome.note or "")) == (Mark.TOLERABLE, True), outcome


# Runs.


async def test_a_receiver_that_takes_no_ordinary_message_is_not_tortured() -> None:
    seen: list[Finding] = []
    async with receivers.RefusesAll() as receiver:
        report = await torture(options(receiver.target), KINDS, on_finding=seen.append)
    assert [finding.kind.name for finding in report.findings] == ["plain"]
    assert seen == list(report.findings)
    assert report.blocked
    assert report.exit_code == 1
    assert receiver.answered == 1


async def test_a_receiver_that_dies_of_it_is_wrong() -> None:
    async with receivers.DiesOfHttp() as receiver:
        report = await torture(options(receiver.target), chosen(["http-get", "http-post"]))
    assert set(marked(report)) == {"http-get", "http-post"}
    assert {saw for _, saw, _ in marked(report).values()} == {"unreachable"}


async def test_a_receiver_that_takes_nothing_afterwards_is_wrong() -> None:
    class Sulks(Receiver):
        def reply(self, payload: bytes) -> list[bytes]:
            self.sulks = self.__dict__.get("sulks", False) or b"MSH|" not in payload
            name = receivers.control_id(payload)
            return [self.negative(name) if self.sulks else self.positive(name)]

    async with Sulks() as receiver:
        report = await torture(options(receiver.target), chosen(["no-msh"]))
    (mark, _, note) = marked(report)["no-msh"]
    assert mark is Mark.WRONG
    assert "afterwards an ordinary message on a new connection is not taken" in (note or "")


async def test_a_kind_that_takes_too_long_is_wrong() -> None:
    async with receivers.Receiver() as receiver:
        report = await torture(options(receiver.target, limit=0.05, quiet=60.0), chosen(["tls-hello"]))
    assert marked(report)["tls-hello"][1] == "too slow"


async def test_a_receiver_that_is_not_there_is_said_so() -> None:
    async with receivers.Receiver() as receiver:
        target = receiver.target
    with pytest.raises(Unreachable):
        await torture(options(target), KINDS)


def test_kinds_are_chosen_by_name_and_the_plain_one_comes_first() -> None:
    assert [kind.name for kind in chosen(["tls-hello", "fs-inside"])] == ["plain", "fs-inside", "tls-hello"]
    assert chosen([]) == KINDS
    with pytest.raises(UnknownKind, match="nonsense"):
        chosen(["nonsense"])


def test_every_kind_has_a_name_of_its_own_and_a_rule() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        assert all((kind.sends, kind.rule, kind.source))
        assert len(kind.name) <= 23


def test_the_hello_is_a_real_one() -> None:
    assert hello().startswith(b"\x16\x03")


# The command.


def command(*words: str) -> "subprocess.CompletedProcess[bytes]":
    arguments = [sys.executable, "-m", "gateway", "torture", *words]
    return subprocess.run(arguments, cwd=ROOT, env=environment(), capture_output=True, timeout=60, check=False)


def test_the_kinds_are_listed_in_80_columns_and_as_json() -> None:
    text = command("--list").stdout.decode()
    assert max(map(len, text.splitlines())) <= 80
    lines = [json.loads(line) for line in command("--list", "--json").stdout.splitlines()]
    assert [line["kind"] for line in lines] == [kind.name for kind in KINDS]
    for kind in KINDS:
        assert kind.name in text


def test_the_document_names_every_kind() -> None:
    text = (ROOT / "docs" / "torture.md").read_text()
    for kind in KINDS:
        assert f"| `{kind.name}` | {kind.sends} | {kind.rule} | {kind.source} |" in text.replace("\\|", "|"), kind.name


async def test_the_command_finds_a_real_gateway_right(site: Site) -> None:
    await site.serve()
    gateway = await site.gateway(site.config())
    words = ("--only", "two-in-one-write", "--only", "tls-hello", "--only", "same-id-other-bytes", "--json")
    done = await asyncio.to_thread(command, "--to", gateway.ready["channels"]["adt"], *words)
    assert done.returncode == 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["kind"], line["mark"]) for line in lines] == [
        ("plain", "right"),
        ("two-in-one-write", "right"),
        ("same-id-other-bytes", "right"),
        ("tls-hello", "right"),
    ]


async def test_the_command_says_what_is_wrong_and_by_whose_rule() -> None:
    async with receivers.Receiver() as receiver:
        done = await asyncio.to_thread(command, "--to", str(receiver.target), "--only", "terminator-inside")
    assert done.returncode == 1
    text = " ".join(done.stdout.decode().split())
    assert "terminator-inside wrong" in text
    assert "1 right, 0 tolerable, 1 wrong" in text
    assert max(map(len, done.stdout.decode().splitlines())) <= 80


async def test_the_command_says_that_it_did_not_go_on() -> None:
    async with receivers.RefusesAll() as receiver:
        done = await asyncio.to_thread(command, "--to", str(receiver.target))
    assert done.returncode == 1
    assert b"nothing else was tried" in done.stderr
