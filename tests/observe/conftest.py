from collections.abc import Iterator

import pytest

from tests.observe.lines import Watched


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.observatory.close(10)
