"""The command that plays a sender that does everything wrong: torture."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer
from rich.text import Text

from gateway.app.world import answer_ids
from gateway.cli.outcome import Exit, conclude
from gateway.cli.screen import Cell, Column, complain, console, say, table, write_json
from gateway.console.facts import Facts
from gateway.sender.options import Target, TargetInvalid
from gateway.sender.torture.board import Board
from gateway.sender.torture.catalogue import UnknownKind, chosen
from gateway.sender.torture.run import torture as play
from gateway.sender.torture.values import Finding, Kind, Mark, Report, TortureOptions

_STYLES = {Mark.RIGHT: "green", Mark.TOLERABLE: "yellow", Mark.WRONG: "bold red"}
_FINDINGS = (
    Column(title="KIND", width=23),
    Column(title="", width=9),
    Column(title="THE RECEIVER", share=5),
    Column(title="SHOULD", share=6),
)
_KINDS = (Column(title="KIND", width=23), Column(title="SENDS", share=1), Column(title="RIGHT IS", share=1))


def _target(text: str) -> Target:
    try:
        return Target.parse(text)
    except TargetInvalid as error:
        raise typer.BadParameter(str(error)) from None


To = Annotated[Target | None, typer.Option(parser=_target, metavar="HOST:PORT", help="Where the receiver listens.")]
Listed = Annotated[bool, typer.Option("--list", help="Name every kind, its rule and whose rule it is; send nothing.")]
Only = Annotated[list[str] | None, typer.Option(metavar="KIND", help="Only this kind; may be given again.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object per kind, one line each.")]
Patience = Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Wait this long for an answer.")]
Quiet = Annotated[float, typer.Option(min=0.05, metavar="SECONDS", help="Listen this long where none should come.")]
Oversize = Annotated[int, typer.Option(min=1024, metavar="BYTES", help="Length of the largest message.")]


def torture(
    to: To = None,
    listed: Listed = False,
    only: Only = None,
    as_json: AsJson = False,
    patience: Patience = 10.0,
    quiet: Quiet = 1.5,
    oversize: Oversize = 17 << 20,
) -> None:
    """Misbehave towards an MLLP receiver and judge what it does. Exit code 1 when anything is wrong.

    Sends synthetic messages only, in training mode (MSH-11 is T), with control ids that begin with TORTURE.
    """
    try:
        kinds = chosen(only or ())
    except UnknownKind as error:
        raise typer.BadParameter(str(error), param_hint="--only") from None
    if listed:
        _list(kinds, as_json=as_json)
        return
    if to is None:
        raise typer.BadParameter("is needed to torture somebody, for example 127.0.0.1:2575", param_hint="--to")
    options = TortureOptions(target=to, run=answer_ids()()[:8], patience=patience, quiet=quiet, oversize=oversize)

    async def work() -> int:
        with Board(console(stderr=True), kinds) as board:
            report = await play(options, kinds, on_finding=board.found)
        _print(report, as_json=as_json)
        return Exit.REFUSED if report.exit_code else Exit.DONE

    conclude(work())


def _list(kinds: Iterable[Kind], *, as_json: bool) -> None:
    if as_json:
        for kind in kinds:
            write_json(_kind_facts(kind))
        return
    console().print(table(_KINDS, ((kind.name, kind.sends, f"{kind.rule} ({kind.source})") for kind in kinds)))


def _print(report: Report, *, as_json: bool) -> None:
    if as_json:
        for finding in report.findings:
            write_json(_facts(finding))
    else:
        console().print(table(_FINDINGS, _rows(report)))
        say(", ".join(f"{report.count(mark)} {mark}" for mark in Mark))
    if report.blocked:
        complain("the receiver does not take an ordinary message, so nothing else was tried")


def _rows(report: Report) -> Iterator[tuple[Cell, ...]]:
    for finding in report.findings:
        kind, outcome = finding.kind, finding.outcome
        did = f"{outcome.saw}: {outcome.note}" if outcome.note else outcome.saw
        should = "" if outcome.mark is Mark.RIGHT else f"{kind.rule} ({kind.source})"
        yield kind.name, Text(outcome.mark, style=_STYLES[outcome.mark]), did, should


def _kind_facts(kind: Kind) -> Facts:
    return {"kind": kind.name, "sends": kind.sends, "rule": kind.rule, "source": kind.source.value}


def _facts(finding: Finding) -> Facts:
    outcome = finding.outcome
    return {
        **_kind_facts(finding.kind),
        "mark": outcome.mark.value,
        "saw": outcome.saw,
        "note": outcome.note,
        "milliseconds": round(finding.elapsed * 1_000),
    }
