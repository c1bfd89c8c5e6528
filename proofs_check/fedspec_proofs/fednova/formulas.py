"""Conjunctions of formulas that are z3's for variables and truth values for fractions."""

from __future__ import annotations

from typing import Any

import z3


def every(*formulas: Any) -> Any:
    """All of them, as one formula or one truth value."""
    return z3.And(*formulas) if any(isinstance(f, z3.ExprRef) for f in formulas) else all(formulas)
