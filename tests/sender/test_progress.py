import io

import pytest
from rich.console import Console

from gateway.sender.options import Judgement, SendReport, Verdict
from gateway.sender.progress import Board, line, summary


def verdict(judgement: Judgement, **changes: object) -> Verdict:
    given: dict[str, object] = {
        "judgement": judgement,
        "number": 1,
        "attempt": 1,
        "connection": 0,
        "origin": "day.hl7",
        "control_id": b"MSG1",
        **changes,
    }
    return Verdict(**given)  # type: ignore[arg-type]  # the tests name the fields they vary


def shown(*verdicts: Verdict, verbose: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=80)
    with Board(console, total=len(verdicts), verbose=verbose) as board:
        for one in verdicts:
            board.verdict(one)
    return out.getvalue()


def test_a_plain_yes_is_only_shown_when_asked_for() -> None:
    assert "MSG1" not in shown(verdict(Judgement.POSITIVE, code="AA"))
    assert "positive   AA  MSG1  day.hl7" in shown(verdict(Judgement.POSITIVE, code="AA"), verbose=True)


@pytest.mark.parametrize("judgement", [one for one in Judgement if one is not Judgement.POSITIVE])
def test_anything_else_is_shown(judgement: Judgement) -> None:
    assert judgement in shown(verdict(judgement))


def test_an_extra_yes_is_shown_since_it_is_odd() -> None:
    assert "late answer" in shown(verdict(Judgement.POSITIVE, extra=True, note="late answer"))


def test_a_line_gives_code_id_origin_our_words_and_the_receivers() -> None:
    text = line(verdict(Judgement.NEGATIVE, code="AR", text="not wanted", note="noted", retried=True)).plain
    assert text == "negative   AR  MSG1  day.hl7  noted  not wanted  sent again"


def test_what_is_absent_is_a_dash() -> None:
    assert line(verdict(Judgement.SILENCE, control_id=b"")).plain == "silence    --  -  day.hl7"


def test_control_characters_of_the_other_side_do_not_reach_the_terminal() -> None:
    text = line(verdict(Judgement.NEGATIVE, control_id=b"A\x1b[2J\xff", text="b\x07\nc")).plain
    assert "A\\x1b[2J\\xff" in text
    assert "b\\x07\\x0ac" in text


def test_brackets_are_text_and_not_markup() -> None:
    assert "[red]x[/red]" in shown(verdict(Judgement.NEGATIVE, text="[red]x[/red]"))


def test_a_long_text_is_cut_for_the_screen() -> None:
    text = line(verdict(Judgement.NEGATIVE, text="x" * 500)).plain
    assert text.endswith("x…")
    assert len(text) < 100


def rows(report: SendReport) -> dict[str, str]:
    out = io.StringIO()
    Console(file=out, width=80).print(summary(report))
    return {words[0]: words[1].strip() for words in (row.split("  ", 1) for row in out.getvalue().splitlines())}


def test_the_summary_counts_verdicts_extras_repeats_and_speed() -> None:
    report = SendReport(
        total=10,
        written=9,
        unsent=3,
        elapsed=2.0,
        counts={Judgement.POSITIVE: 6, Judgement.SILENCE: 1},
        extras={Judgement.SILENCE: 1, Judgement.MISMATCH: 1},
        trouble="connection refused",
    )
    assert rows(report) == {
        "positive": "6",
        "mismatch": "1",
        "silence": "2",
        "unsent": "3",
        "sent again": "2",
        "seconds": "2.00",
        "per second": "4",
        "trouble": "connection refused",
    }


def test_a_clean_run_is_summed_up_in_three_rows() -> None:
    report = SendReport(total=4, written=4, unsent=0, elapsed=2.0, counts={Judgement.POSITIVE: 4})
    assert rows(report) == {"positive": "4", "seconds": "2.00", "per second": "2"}


def test_a_run_of_nothing_has_no_speed() -> None:
    assert rows(SendReport(total=0, written=0, unsent=0, elapsed=0.0)) == {"positive": "0", "seconds": "0.00"}
