"""Mistakes in a closed form that is printed: the specification adds up where others write that form down."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import FunctionType
from typing import cast

from fedspec.mixing.accumulation import a_norm, momentum_norm
from fedspec.readings import Solver
from fedspec_suite.diagnosis.edits.at_hand import Text, seen_running
from fedspec_suite.diagnosis.edits.edit import Edit
from fedspec_suite.diagnosis.edits.mechanical import mechanical
from fedspec_suite.measure.printed import NORMS
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import source_of

HEAD = "def a_norm(solver, tau, *, alpha=0, rho=0, gamma=1):\n    k = 0\n    return "


def printed_norms(setting: Setting, found: Sequence[FunctionType]) -> Iterator[Edit]:
    """Every mechanical edit of the closed form of ||a_i||_1, where the functions found compute it and it is known.

    Args:
        setting: what is judged.
        found: the functions that may run.
    """
    solver = Solver.MOMENTUM if momentum_norm in found else setting.options.get("solver")
    if a_norm not in found or solver is None or Solver(solver) not in NORMS:
        return
    form = NORMS[Solver(solver)]
    (text,) = seen_running([Text(cast(FunctionType, form))], lambda: form(0, 3, 0.3, 0.5, 0.7))
    rule, told = cast(FunctionType, a_norm), _names(text.tree)
    for edit in mechanical(text):
        (function,) = ast.parse(edit.mutant.new).body
        assert isinstance(function, ast.FunctionDef)
        last = function.body[-1]
        assert isinstance(last, ast.Return) and last.value is not None
        if not _names(last) <= told:
            # A number that has nothing to do with this form.
            continue
        mutant = replace(
            edit.mutant,
            rule=f"{rule.__module__}.{rule.__name__}",
            old=source_of(rule),
            new=f"{HEAD}{ast.unparse(last.value)}\n",
        )
        yield edit._replace(symbol="a_i", mutant=mutant)


def _names(tree: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
