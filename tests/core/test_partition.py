"""Which row may go next: order within a partition, parallel across, barriers alone."""

from gateway.core.partition import Ready, Wait, next_ready
from gateway.model.clock import Due, Now
from gateway.model.delivery import Head
from gateway.model.ids import RowId
from gateway.model.states import State

NOW = Now(wall=0, boot_id="boot", ms=1_000)


def head(
    row: int,
    partition: str = "",
    *,
    barrier: bool = False,
    state: State = State.QUEUED,
    due: int | None = None,
    boot: str = "boot",
) -> Head:
    return Head(
        row=RowId(row),
        partition=partition,
        barrier=barrier,
        state=state,
        generation=0,
        sends=0,
        attempts=0,
        link_losses=0,
        due=None if due is None else Due(boot_id=boot, ms=due),
        policy=None,
        first_sent=None,
        first_sent_wall=None,
    )


def plan(
    *rows: Head, halted: set[str | None] | None = None, busy: set[str] | None = None, flying: int = 0, limit: int = 8
) -> int | str:
    got = next_ready(
        rows,
        halted=halted or set(),
        busy=busy or set(),
        flying=flying,
        limit=limit,
        now=NOW,
        foreign_wait=700,
    )
    match got:
        case Ready(head=chosen):
            return chosen.row
        case Wait(wait=None):
            return "wait"
        case Wait(wait=wait):
            return f"wait {wait}"


FLYING = State.INFLIGHT


def test_the_first_row_goes_first() -> None:
    assert plan(head(1), head(2)) == 1


def test_nothing_to_send_is_waited_for_without_end() -> None:
    assert plan() == "wait"


def test_a_row_in_the_air_holds_its_own_partition_only() -> None:
    assert plan(head(1, "a", state=FLYING), head(2, "a"), head(3, "b"), flying=1) == 3
    assert plan(head(1, "a", state=State.CLAIMED), head(2, "a"), flying=1) == "wait"


def test_a_row_in_backoff_holds_its_own_partition_only() -> None:
    assert plan(head(1, "a", due=1_500), head(2, "a"), head(3, "b")) == 3


def test_the_wait_is_that_of_the_row_that_comes_due_first() -> None:
    assert plan(head(1, "a", due=1_500), head(2, "b", due=1_200), head(3, "b", due=1_001)) == "wait 200"


def test_a_row_that_is_due_goes() -> None:
    assert plan(head(1, due=1_000)) == 1


def test_a_due_time_of_another_boot_waits_at_most_the_first_wait() -> None:
    assert plan(head(1, due=10**12, boot="before")) == "wait 700"


def test_the_limit_of_sends_in_the_air_is_kept() -> None:
    assert plan(head(1, "a", state=FLYING), head(2, "b"), flying=1, limit=1) == "wait"


def test_a_halted_partition_holds_itself_only() -> None:
    assert plan(head(1, "a"), head(2, "b"), halted={"a"}) == 2
    assert plan(head(1, "a"), halted={"a"}) == "wait"


def test_a_halted_channel_sends_nothing() -> None:
    assert plan(head(1, "a"), head(2, "b"), halted={None}) == "wait"


def test_a_busy_partition_waits_for_the_earlier_send() -> None:
    assert plan(head(1, "a"), head(2, "b"), busy={"a"}) == 2


def test_a_barrier_waits_for_everything_before_it_and_nothing_passes_it() -> None:
    barrier = head(2, "b", barrier=True)
    assert plan(head(1, "a", state=FLYING), barrier, head(3, "c"), flying=1) == "wait"
    assert plan(head(1, "a", due=1_400), barrier, head(3, "c")) == "wait 400"
    assert plan(barrier, head(3, "c")) == 2


def test_rows_before_a_barrier_go() -> None:
    assert plan(head(1, "a"), head(2, "b", barrier=True)) == 1
    assert plan(head(1, "a", state=FLYING), head(2, "c"), head(3, "b", barrier=True), flying=1) == 2


def test_a_barrier_in_the_air_lets_nothing_pass() -> None:
    assert plan(head(2, "b", barrier=True, state=FLYING), head(3, "c"), flying=1) == "wait"


def test_a_barrier_in_backoff_lets_nothing_pass() -> None:
    assert plan(head(2, "b", barrier=True, due=1_300), head(3, "c")) == "wait 300"


def test_a_barrier_waits_while_a_row_is_in_the_air_that_is_not_listed_any_more() -> None:
    assert plan(head(2, "b", barrier=True), flying=1) == "wait"


def test_a_halted_partition_before_a_barrier_holds_it() -> None:
    assert plan(head(1, "a"), head(2, "b", barrier=True), head(3, "c"), halted={"a"}) == "wait"
