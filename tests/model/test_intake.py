"""Receipts say whether they are replays."""

import pytest

from gateway.model.ids import RowId
from gateway.model.intake import Admission, Receipt
from gateway.model.states import State


@pytest.mark.parametrize("admission", list(Admission))
def test_only_a_replay_is_a_replay(admission: Admission) -> None:
    receipt = Receipt(
        admission=admission,
        row=RowId(1),
        state=State.QUEUED,
        sequence=None,
        answer=b"",
        application_answer=None,
    )
    assert receipt.replayed is (admission is Admission.REPLAY)
