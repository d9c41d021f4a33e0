"""The crash campaign: SIGKILL at every landmark and at moments by chance, and an oracle that has the last word."""

import os
from pathlib import Path

import pytest

from gateway.model.states import Landmark
from tests.chaos.campaign import Campaign
from tests.chaos.mutants import MUTANTS
from tests.chaos.oracle import judge

CYCLES = int(os.environ.get("CHAOS_CYCLES", "25"))
"""`make chaos` sets 500."""

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(60 + CYCLES * 20)]


async def test_nothing_is_lost_doubled_or_swapped_and_nobody_is_needed_where_the_server_can_tell(
    tmp_path: Path,
) -> None:
    campaign = Campaign(folder=tmp_path, seed=1, tells=True)
    evidence = await campaign.run(CYCLES)
    assert len(evidence.sent) == CYCLES * campaign.messages
    assert set(campaign.passed) == set(Landmark), "every landmark killed it at least once"
    assert judge(evidence) == []


async def test_only_rows_in_doubt_are_held_where_the_server_cannot_tell(tmp_path: Path) -> None:
    evidence = await Campaign(folder=tmp_path, seed=2, tells=False).run(max(8, CYCLES // 2))
    assert judge(evidence) == []


@pytest.mark.parametrize("mutant", MUTANTS)
async def test_a_gateway_broken_on_purpose_turns_the_oracle_red(tmp_path: Path, mutant: str) -> None:
    campaign = Campaign(folder=tmp_path, seed=3, tells=False, mutant=mutant)
    _, expected = MUTANTS[mutant]
    assert any(expected in finding for finding in judge(await campaign.run(1)))
