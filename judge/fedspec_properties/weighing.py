"""What the weights of a round's participants are proportional to, for laws that need them without running the rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any


def counts(options: Mapping[str, str], examples: Sequence[Any], steps: Sequence[int]) -> list[Any]:
    """One number for each participant: its examples, its local steps, or 1."""
    kinds = {"examples": examples, "steps": [Fraction(tau) for tau in steps], "uniform": [Fraction(1)] * len(examples)}
    return list(kinds[options.get("weights", "examples")])
