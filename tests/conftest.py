"""For all tests: the shapes that the rules are annotated with are checked at run time."""

from __future__ import annotations

import os

import pytest
from jaxtyping import install_import_hook

# Before anything imports the package.
install_import_hook(["fedspec.client", "fedspec.mixing", "fedspec.server"], "beartype.beartype").__enter__()


def pytest_report_header() -> str:
    """Say on which devices the mirror is tested: without CUDA, its CUDA cases are not even collected."""
    import torch

    return f"mirror: cpu{' and cuda' if torch.cuda.is_available() else '; no CUDA device here'}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The quick profile leaves out what is marked slow, and says how much that is."""
    if os.environ.get("FEDSPEC_PROFILE") == "quick":
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
