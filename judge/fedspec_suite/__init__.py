"""The suite that judges implementations against fedspec; ``check_subject`` judges one from a script or a test.

``draw_runs`` draws runs that were played in Python.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedspec_suite.api import DoesNotConform, check_subject
    from fedspec_suite.report.own_runs import draw_runs

__all__ = ["DoesNotConform", "check_subject", "draw_runs"]


def __getattr__(name: str) -> Any:
    """Import what judges when it is asked for, so that importing the package stays light."""
    if name in __all__:
        where = "fedspec_suite.report.own_runs" if name == "draw_runs" else "fedspec_suite.api"
        return getattr(importlib.import_module(where), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
