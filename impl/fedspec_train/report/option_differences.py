"""In which options that they share the algorithms of a comparison differ: settings of others are easily overlooked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def options_of(run: Any) -> dict[str, str]:
    """The options of a run of :func:`fedspec_torch.simulate`, those that nobody has set too."""
    return {name: str(getattr(run.h, name)) for name in run.algorithm.options if hasattr(run.h, name)}


def unlike(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """A clause for each option that some have alike and others otherwise, with who has which value.

    Args:
        runs: as the record of ``fedspec simulate`` has them.
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
