"""For several tests of the command."""

from __future__ import annotations

import pytest


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that cuts no word, whoever runs the tests."""
    monkeypatch.setenv("COLUMNS", "200")
