"""Options on which the compared algorithms differ although they share them, since these are easily overlooked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def options_of(run: Any) -> dict[str, str]:
    """Return the options of a run of :func:`fedspec_torch.simulate`, defaults included."""
    return {name: str(getattr(run.h, name)) for name in run.algorithm.options if hasattr(run.h, name)}


def unlike(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Describe each option with differing values in the runs: which algorithms have which value.

    Args:
        runs: the runs, in the form of the record of ``fedspec simulate``.
    """
    found: dict[str, dict[str, dict[str, None]]] = {}
    for run in runs:
        for name, value in run.get("options", {}).items():
            found.setdefault(name, {}).setdefault(value, {})[run["algorithm"]] = None
    clauses = []
    for name, values in found.items():
        if len(values) > 1:
            who = "; ".join(f"{value} in {', '.join(algorithms)}" for value, algorithms in values.items())
            clauses.append(f"{name}: {who}")
    return clauses
