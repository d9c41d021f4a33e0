"""Every way a command can end has its exit code and its words."""

import errno
from collections.abc import Callable

import pytest
import typer

from gateway.cli.outcome import Exit, conclude
from gateway.console.values import NotFound, ReasonMissing
from gateway.errors import (
    BugError,
    ConfigError,
    OperatorError,
    StaleEpoch,
    StoreFailed,
    StoreRefused,
    Unavailable,
)

Ending = Callable[[BaseException | int], tuple[int, str]]


@pytest.fixture
def ending(capsys: pytest.CaptureFixture[str]) -> Ending:
    def ended(how: BaseException | int) -> tuple[int, str]:
        async def work() -> int:
            if isinstance(how, BaseException):
                raise how
            return how

        with pytest.raises(typer.Exit) as left:
            conclude(work())
        return left.value.exit_code, capsys.readouterr().err

    return ended


@pytest.mark.parametrize("code", [0, 1, 3])
def test_work_that_ends_gives_its_own_code(ending: Ending, code: int) -> None:
    assert ending(code) == (code, "")


def test_a_configuration_error_is_usage_and_lists_every_problem(ending: Ending) -> None:
    assert ending(ConfigError(("first: wrong", "second: wrong"))) == (2, "first: wrong\nsecond: wrong\n")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OperatorError("row 7 is processed"), "row 7 is processed\n"),
        (NotFound(what="99\x1b[2J"), "99\\x1b[2J names no message and no channel of this gateway\n"),
        (ReasonMissing(), "a reason is needed: it is recorded with your name\n"),
    ],
)
def test_what_is_refused_or_not_found_says_why(ending: Ending, error: OperatorError, words: str) -> None:
    assert ending(error) == (1, words)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (StoreRefused(path="var/queue.db", reason="is newer than this program"), "var/queue.db: is newer than"),
        (StoreFailed(reason="disk I/O error"), "disk I/O error"),
        (Unavailable(reason="full"), "full"),
        (StaleEpoch(epoch=3), "epoch 3 is over"),
        (PermissionError(errno.EACCES, "Permission denied", "var/queue.db"), "var/queue.db: Permission denied"),
        (OSError("odd"), "system: OSError"),
    ],
)
def test_trouble_of_the_gateway_itself_names_what_and_why(ending: Ending, error: Exception, words: str) -> None:
    code, said = ending(error)
    assert code == 3
    assert said.startswith(words)


@pytest.mark.parametrize("error", [ValueError("SECRET ANNA"), BugError("SECRET ANNA"), UnicodeError("SECRET")])
def test_a_defect_is_told_by_place_and_kind_without_its_text(ending: Ending, error: Exception) -> None:
    code, said = ending(error)
    assert code == 3
    assert "SECRET" not in said
    assert type(error).__name__ in said
    assert "in work" in said


def test_ctrl_c_ends_as_a_shell_expects(ending: Ending) -> None:
    assert ending(KeyboardInterrupt()) == (130, "")


def test_a_command_may_count_refusals_as_its_own_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> int:
        raise OperatorError("port 2575 is taken")

    with pytest.raises(typer.Exit) as left:
        conclude(work(), refused=Exit.TROUBLE)
    assert left.value.exit_code == 3
