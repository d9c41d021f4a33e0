"""The command that plays a hospital's sender: send."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from gateway.app.world import answer_ids
from gateway.cli.outcome import conclude
from gateway.cli.screen import console
from gateway.sender.journal import Journal
from gateway.sender.options import (
    Retransmit,
    SendPlan,
    SendReport,
    Sent,
    Target,
    TargetInvalid,
    TlsOptions,
    Verdict,
)
from gateway.sender.progress import Board, summary
from gateway.sender.send import send as send_plan
from gateway.sender.source import read


def _target(text: str) -> Target:
    try:
        return Target.parse(text)
    except TargetInvalid as error:
        raise typer.BadParameter(str(error)) from None


Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="Files, folders of them, or - for standard input.", show_default=False),
]
To = Annotated[Target, typer.Option(parser=_target, metavar="HOST:PORT", help="Where the listener is.")]
Rate = Annotated[
    float | None, typer.Option(min=0.001, metavar="N", help="Messages per second; without it as fast as answers come.")
]
Repeat = Annotated[int, typer.Option(min=1, metavar="N", help="Send everything N times.")]
FreshIds = Annotated[
    bool, typer.Option("--fresh-ids", help="Give every sending its own MSH-10; no other byte changes.")
]
Connections = Annotated[int, typer.Option(min=1, max=256, metavar="N", help="Connections side by side.")]
Pipeline = Annotated[int, typer.Option(min=1, metavar="N", help="Messages unanswered at once on each connection.")]
Timeout = Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Wait this long for an answer.")]
Retry = Annotated[bool, typer.Option("--retransmit", help="Send again, byte for byte, what was not answered.")]
JournalFile = Annotated[
    Path | None,
    typer.Option("--journal", metavar="FILE", help="Note every sending and answer there; hashes, no content."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="A line for positive answers too.")]
Tls = Annotated[bool, typer.Option("--tls", help="Speak TLS; implied by the other --tls options.")]
TlsCa = Annotated[Path | None, typer.Option(metavar="FILE", help="Authority to trust instead of the system's.")]
TlsCert = Annotated[Path | None, typer.Option(metavar="FILE", help="Our certificate, for mutual TLS.")]
TlsKey = Annotated[Path | None, typer.Option(metavar="FILE", help="Its key, when it stands in another file.")]
TlsName = Annotated[str | None, typer.Option(metavar="NAME", help="Name to check instead of the host's.")]
TlsInsecure = Annotated[bool, typer.Option("--tls-insecure", help="Check no certificate; for tests only.")]


def send(
    files: Files,
    to: To,
    rate: Rate = None,
    repeat: Repeat = 1,
    fresh_ids: FreshIds = False,
    connections: Connections = 1,
    pipeline: Pipeline = 1,
    timeout: Timeout = 30.0,
    retransmit: Retry = False,
    journal: JournalFile = None,
    verbose: Verbose = False,
    tls: Tls = False,
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    tls_name: TlsName = None,
    tls_insecure: TlsInsecure = False,
) -> None:
    """Send HL7 files over MLLP and judge every answer. Exit code 1 on any NAK, mismatch or silence."""
    wants_tls = tls or tls_insecure or any((tls_ca, tls_cert, tls_key, tls_name))

    async def work() -> int:
        plan = SendPlan(
            target=to,
            messages=read(files, stdin=sys.stdin.buffer),
            tls=_tls(tls_ca, tls_cert, tls_key, tls_name, tls_insecure) if wants_tls else None,
            repeat=repeat,
            rate=rate,
            fresh_ids=answer_ids() if fresh_ids else None,
            answer_timeout=timeout,
            connections=connections,
            pipeline=pipeline,
            retransmit=Retransmit() if retransmit else None,
        )
        report = await _shown(plan, journal=journal, verbose=verbose)
        console().print(summary(report))
        return report.exit_code

    conclude(work())


async def _shown(plan: SendPlan, *, journal: Path | None, verbose: bool) -> SendReport:
    """Send with a progress bar on standard error, and a journal if one is wanted."""
    with ExitStack() as stack:
        noted = stack.enter_context(Journal(journal)) if journal is not None else None
        board = stack.enter_context(Board(console(stderr=True), total=plan.total, verbose=verbose))

        def on_verdict(verdict: Verdict) -> None:
            if noted is not None:
                noted.verdict(verdict)
            board.verdict(verdict)

        def on_sent(sent: Sent) -> None:
            if noted is not None:
                noted.sent(sent)

        return await send_plan(plan, on_verdict=on_verdict, on_sent=on_sent)


def _tls(ca: Path | None, cert: Path | None, key: Path | None, name: str | None, insecure: bool) -> TlsOptions:
    return TlsOptions(ca_file=ca, cert_file=cert, key_file=key, server_name=name, verify=not insecure)
