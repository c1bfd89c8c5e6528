from __future__ import annotations

import os
from pathlib import Path

import pytest
from test_site.built import Site, build


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The site, which the processes of a run share."""
    base = tmp_path_factory.getbasetemp()
    place: Path = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return build(place)
