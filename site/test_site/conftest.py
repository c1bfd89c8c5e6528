from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from test_site.built import CHROMIUM, Site, build


@pytest.fixture(scope="session")
def site(shared_folder: Path) -> Site:
    """The site, which the processes of a run share."""
    return build(shared_folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # As root, where there is no sandbox.
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()
