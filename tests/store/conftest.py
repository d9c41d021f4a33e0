"""The clock that moves by hand and the observer that remembers."""

import pytest

from tests.store.samples import ManualClock, Notes


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def notes() -> Notes:
    return Notes()
