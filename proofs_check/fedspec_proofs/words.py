"""Formatting of instances as text: fractions as a/b, arrays as lists, records field by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np


def as_text(value: Any) -> str:
    """Format a value for people, for example an array of fractions as ``(1/2, 3)``."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {as_text(v)}" for name, v in value.items())
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(as_text, value)) + ")"
    if is_dataclass(value):
        return ", ".join(f"{f.name} = {as_text(getattr(value, f.name))}" for f in fields(value))
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    return str(value)


def both(value: Any) -> str:
    """Format a number as a short decimal, followed by its exact value if that is short enough."""
    near = f"{float(value):.6g}"
    exact = str(value)
    return (
        exact if exact == near or isinstance(value, int | float) else f"{near} ({exact})" if len(exact) < 40 else near
    )


def short(value: Fraction | float) -> str:
    """Format a number with four significant digits."""
    return f"{float(value):.4g}"
