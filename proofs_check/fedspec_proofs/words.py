"""Instances in words: fractions as a/b, arrays as lists, records field by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np


def as_text(value: Any) -> str:
    """A value as a person would write it."""
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
    """An exact number and what it is about."""
    near = f"{float(value):.6g}"
    exact = str(value)
    return (
        exact if exact == near or isinstance(value, int | float) else f"{near} ({exact})" if len(exact) < 40 else near
    )


def short(value: Fraction | float) -> str:
    """A number for the eye."""
    return f"{float(value):.4g}"
