"""Sites for tests; every process ends with its test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.system.site import Site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    made = Site(folder=tmp_path)
    yield made
    await made.close()
