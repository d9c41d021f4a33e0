"""Certificates, made once for the folder."""

import pytest

from tests.listener.papers import Papers


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    return Papers(tmp_path_factory.mktemp("papers"))
