"""Test suite that checks implementations against fedspec; ``check_adapter`` does it from a script or a test."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedspec_suite.api import DoesNotConform, check_adapter, check_subject

__all__ = ["DoesNotConform", "check_adapter", "check_subject"]


def __getattr__(name: str) -> Any:
    """Import ``fedspec_suite.api`` when one of its names is first used, so that importing the package stays fast."""
    if name in __all__:
        return getattr(importlib.import_module("fedspec_suite.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
