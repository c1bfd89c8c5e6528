"""Fractions that type checkers take for any number, as the specification's rules do (:data:`fedspec.arith.Scalar`)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

F: Any = Fraction
"""A fraction of a whole number, of two of them, or of a word such as ``"1/3"``."""
