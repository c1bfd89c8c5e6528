"""The suite that judges implementations against fedspec; ``check_subject`` judges one from a script or a test."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedspec_suite.api import DoesNotConform, check_subject

__all__ = ["DoesNotConform", "check_subject"]


def __getattr__(name: str) -> Any:
    """Import what judges when it is asked for, so that importing the package stays light."""
    if name in __all__:
        return getattr(importlib.import_module("fedspec_suite.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
