"""What a person reads in 80 columns, line by line."""

from collections.abc import Callable
from textwrap import dedent

import pytest
from rich.console import RenderableType

from gateway.cli.screen import Column, Listing, complain, console, say, table
from gateway.cli.sheet import shown_view
from gateway.cli.tables import EVENT_COLUMNS, ROW_COLUMNS, event_cells, row_cells, status_view
from gateway.console.outline import outline
from gateway.console.values import ChannelStatus, Reason, Replies, Shown, Status, Waiting
from gateway.model.states import State
from tests.console.rows import AT, event, lease, row, summary

Draw = Callable[[RenderableType], str]

MESSAGE = (
    "MSH|^~\\&|SNDAPP|SNDFAC|RCVAPP|RCVFAC|20260101120000||ADT^A01^ADT_A01|MSG00007|P|2.5.1\r"
    "EVN|A01|20260101120000\r"
    "PID|1||1001^^^HOSP^MR~77||TEST^ANNA\r"
)
BACKOFF = Reason(
    waits_for=Waiting.BACKOFF,
    sentence="It is in backoff after server-error (attempt 2) until 2026-01-01T12:01:12.123Z.",
    until=AT + 72_000,
)
IDLE = Reason(waits_for=Waiting.NOTHING, sentence="No message waits to be delivered.")


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Draw:
    """Draw as on a pipe of the usual width; ends of lines without their padding."""
    monkeypatch.setenv("COLUMNS", "80")

    def drawn(what: RenderableType) -> str:
        console().print(what)
        text = capsys.readouterr().out
        assert all(len(line) <= 80 for line in text.splitlines())
        return "".join(f"{line.rstrip()}\n" for line in text.splitlines())

    return drawn


def _golden(text: str) -> str:
    return dedent(text).removeprefix("\n")


def test_a_listing_fits_80_columns(draw: Draw) -> None:
    rows = [
        row(),
        row(
            123_456_789,
            state=State.REJECTED,
            error_code="too-large-for-server",
            control_id=b"X" * 199,
            channel="a-rather-long-channel-name",
        ),
        row(8, state=State.FAILED, error_code="interrupted", control_id=b"A\x1b[2J"),
    ]
    assert draw(table(ROW_COLUMNS, map(row_cells, rows))) == _golden("""
             ROW RECEIVED (UTC)      CHANNEL    STATE     CONTROL ID   ERROR
               7 2026-01-01 12:00:00 adt        queued    MSG00007
        12345678 2026-01-01 12:00:00 a-rather-… rejected  XXXXXXXXXXX… too-large-for-ser
               9                                                       ver
               8 2026-01-01 12:00:00 adt        failed    A\\x1b[2J     interrupted
        """)


def test_status_fits_80_columns(draw: Draw) -> None:
    busy = ChannelStatus(summary=summary(last_error="server-error", in_review=12), upstream="main", reason=BACKOFF)
    idle = ChannelStatus(
        summary=summary(channel="lab", depth=0, oldest_at=None, head=None), upstream="main", reason=IDLE
    )
    leases = (
        lease(holder="host.example.org:12345:aabbccddeeff0011"),
        lease(group="other", holder=None, expires_in=None, link="down"),
    )
    assert draw(status_view(Status(at=AT + 60_000, channels=(busy, idle), leases=leases))) == _golden("""
        CHANNEL            DEPTH  OLDEST REVIEW STATE     LAST ERROR            NEXT TRY
        adt                    1   1 min     12 backoff   server-error          12:01:12
        lab                    0              0 idle

        UPSTREAM           LINK       LEADER                               EPOCH   LEASE
        main               live       host.example.org:12345:aabbccddeef…      3    12 s
        other              down       nobody                                   3
        """)


def test_events_fit_80_columns_and_lose_no_word_of_a_reason(draw: Draw) -> None:
    events = [
        event(),
        event(2, kind="claimed", from_state=State.QUEUED, to_state=State.CLAIMED, send=1, epoch=3),
        event(3, row=None, kind="resumed", actor="anna\x07", to_state=None, reason="the server was repaired by Bob"),
    ]
    assert draw(table(EVENT_COLUMNS, map(event_cells, events))) == _golden("""
        TIME (UTC)               ROW EVENT          BY         DETAIL
        2026-01-01 12:00:00        7 accepted       system     -> queued
        2026-01-01 12:00:00        7 claimed        system     queued -> claimed, send
                                                               1, epoch 3
        2026-01-01 12:00:00          resumed        anna\\x07   the server was repaired
                                                               by Bob
        """)


def test_one_message_fits_80_columns_with_its_content_masked(draw: Draw) -> None:
    replies = Replies(
        commit_code="AA",
        commit_size=90,
        application_code=None,
        application_size=None,
        server_status=200,
        server_code="AE",
        server_size=80,
    )
    shown = Shown(
        row=row(
            state=State.FAILED,
            error_code="interrupted",
            flags=("encoding-mismatch",),
            sends=1,
            first_sent_at=AT,
            settled_at=AT + 1_000,
            link_losses=1,
            repeats=2,
            barrier=True,
        ),
        reason=BACKOFF,
        events=(
            event(),
            event(2, kind="in-doubt", from_state=State.INFLIGHT, to_state=State.FAILED, code="interrupted"),
        ),
        replies=replies,
        outline=outline(MESSAGE),
    )
    assert draw(shown_view(shown)) == _golden("""
        id             00010203-0405-8607-8809-000000000007
        row            7 of channel adt
        state          failed
        error          interrupted
        control id     MSG00007
        type           ADT^A01^ADT_A01  version 2.5.1
        sender         SNDAPP|SNDFAC  from 127.0.0.1:50000
        received       2026-01-01T12:00:00.123Z
        first sent     2026-01-01T12:00:00.123Z
        settled        2026-01-01T12:00:01.123Z
        sequence       7  (inbound none)
        tries          1 send, 0 attempts, generation 0, took the link down 1 time
        partition      (whole channel)  barrier
        charset        declared none, not configured, read as utf-8
        flags          encoding-mismatch
        size           163 bytes, 2 retransmits
        sha256         000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
        answer leg     not_owed
        commit answer  AA, 90 bytes
        server said    AE, status 200, 80 bytes
        passed on      nothing

        It is in backoff after server-error (attempt 2) until 2026-01-01T12:01:12.123Z.

        TIME (UTC)          EVENT          BY           DETAIL
        2026-01-01 12:00:00 accepted       system       -> queued
        2026-01-01 12:00:00 in-doubt       system       inflight -> failed, interrupted

        message, content masked
        ├── MSH  85 characters
        │   ├── MSH-1  |
        │   ├── MSH-2  ^~\\&
        │   ├── MSH-3  SNDAPP
        │   ├── MSH-4  SNDFAC
        │   ├── MSH-5  RCVAPP
        │   ├── MSH-6  RCVFAC
        │   ├── MSH-7  20260101120000
        │   ├── MSH-9  ADT^A01^ADT_A01
        │   ├── MSH-10  MSG00007
        │   ├── MSH-11  P
        │   └── MSH-12  2.5.1
        ├── EVN  22 characters
        │   ├── EVN-1  [3 characters]
        │   └── EVN-2  [14 characters]
        └── PID  35 characters
            ├── PID-1  [1 character]
            ├── PID-3  [17 characters, 2 repetitions, 5 components]
            └── PID-5  [9 characters, 2 components]
        """)


def test_a_message_whose_bytes_are_not_kept_says_so(draw: Draw) -> None:
    gone = Shown(row=row(state=State.NACKED, sequence=None), reason=IDLE, events=(), replies=None, outline=None)
    text = draw(shown_view(gone))
    assert text.endswith("The message's bytes are not kept.\n")
    assert "commit answer" not in text


def test_a_message_that_is_no_hl7_says_so(draw: Draw) -> None:
    odd = Shown(row=row(), reason=IDLE, events=(), replies=None, outline=outline("hello"))
    assert "message, content masked (not readable as HL7; lines only)\n└── ???  5 characters\n" in draw(shown_view(odd))


def test_a_wide_terminal_shows_what_80_columns_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    console().print(table(ROW_COLUMNS, [row_cells(row(control_id=b"X" * 40))]))
    assert "X" * 40 in capsys.readouterr().out


def test_markup_in_a_value_is_text(draw: Draw) -> None:
    assert "[red]x[/red]" in draw(table((Column(title="A", share=1),), [("[red]x[/red]",)]))
    assert ":warning:" in draw(table((Column(title="A", share=1),), [(":warning:",)]))


def test_pages_of_a_long_listing_line_up_and_bear_titles_once(draw: Draw, capsys: pytest.CaptureFixture[str]) -> None:
    listing = Listing(ROW_COLUMNS)
    for number in range(1, 451):
        listing.add(row_cells(row(number, control_id=b"X" * (number % 30))))
    early = capsys.readouterr().out.splitlines()
    listing.print()
    late = capsys.readouterr().out.splitlines()
    assert len(early) == 401
    assert len(late) == 50
    assert [line for line in early + late if "CONTROL ID" in line] == early[:1]
    assert {line.index("adt") for line in early[1:] + late} == {early[0].index("CHANNEL")}


def test_an_empty_listing_is_its_titles(draw: Draw, capsys: pytest.CaptureFixture[str]) -> None:
    listing = Listing(ROW_COLUMNS)
    listing.print()
    listing.print()
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_nothing_is_coloured_when_it_is_not_a_terminal(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    assert "\x1b" not in draw(table(ROW_COLUMNS, [row_cells(row(state=State.FAILED))]))


def test_sentences_are_one_line_each_and_free_of_controls(capsys: pytest.CaptureFixture[str]) -> None:
    say("x" * 300, "a\x1b[2Jb\nc")
    complain("y" * 300, "a\x1b[2Jb\nc")
    found = capsys.readouterr()
    assert found.out == "x" * 300 + "\na\\x1b[2Jb\\nc\n"
    assert found.err == "y" * 300 + "\na\\x1b[2Jb\nc\n"
