"""For several tests of the command."""

from __future__ import annotations

import math

import pytest

from fedspec_suite.report import terminal


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line about progress, however busy the machine is."""
    monkeypatch.setattr(terminal, "PATIENCE", math.inf)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that cuts no word, whoever runs the tests."""
    monkeypatch.setenv("COLUMNS", "200")
