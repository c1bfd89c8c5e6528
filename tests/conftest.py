"""For all tests: the shapes that the rules are annotated with are checked at run time."""

from __future__ import annotations

import os
import time

import pytest
from jaxtyping import install_import_hook

# Before anything imports the package.
install_import_hook(["fedspec.client", "fedspec.mixing", "fedspec.server"], "beartype.beartype").__enter__()


PROFILE = os.environ.get("FEDSPEC_PROFILE", "full")
BEGUN = time.monotonic()


def pytest_report_header() -> list[str]:
    """Say which profile this is, and on which devices the mirror is tested: without CUDA, its CUDA cases are not even
    collected.
    """
    import torch

    slow = "fewer cases, slow tests left out" if PROFILE == "quick" else "all cases, all tests"
    devices = "cpu and cuda" if torch.cuda.is_available() else "cpu; no CUDA device here"
    return [f"profile: {PROFILE} ({slow})", f"mirror: {devices}"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long the profile took."""
    if not hasattr(terminalreporter.config, "workerinput"):
        taken = time.monotonic() - BEGUN
        terminalreporter.write_line(f"profile {PROFILE}: {taken:.0f} s on {os.cpu_count()} cores")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The quick profile leaves out what is marked slow, and says how much that is."""
    if PROFILE == "quick":
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
