"""q-FedAvg by shares: the loss-weighted mean of the changes, divided by 1 plus a weighted mean of squared lengths.

    p_i = F_i^q / sum_j F_j^q,    x' - x = sum_i p_i Delta_i / (1 + q / eta_l sum_i p_i |Delta_i|^2 / F_i)

with F_i the loss and the guard. Nothing is a gradient here. Powers are products and roots of ratios to the largest F_i,
where 2 q is whole. In rounds on quadratics Delta_i = K_i (e_i - H_i x), with the matrix K_i, and
F_i(x) = f_i - (e_i + (e_i - H_i x))' x / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedspec.arith import Array, greatest, power, sqrt
from fedspec.contract import Messages, Round
from fedspec.params import flatten
from fedspec.problems.quadratic import local_matrix
from fedspec.readings import Solver
from fedspec_properties.closed_forms.adaptive import Numbers
from fedspec_properties.closed_forms.sums import total
from fedspec_suite.measure.scenario import Scenario, problem_of


def raised(base: Any, q: Any) -> Any:
    """Return base^q, by products and one root if 2 q is an integer."""
    twice = float(q) * 2
    if not twice.is_integer():
        return power(base, q)
    whole = base * 0 + 1
    for _ in range(int(twice) // 2):
        whole = whole * base
    return whole * sqrt(base) if int(twice) % 2 else whole


def move(F: Sequence[Any], rows: Sequence[Array], h: Numbers) -> Array:
    """Return the change of the model in a round."""
    most = greatest(F)
    parts = [raised(F_i / most, h["q"]) for F_i in F]
    p = [part / total(parts) for part in parts]
    mean = total(p_i * row for p_i, row in zip(p, rows, strict=True))
    stretch = total(p_i * total(a * a for a in row) / F_i for p_i, row, F_i in zip(p, rows, F, strict=True))
    shortened: Array = mean / (1 + h["q"] * stretch / h["eta_l"])
    return shortened


def models(s: Scenario) -> list[Array]:
    """Return the model after each round."""
    x, h, out = flatten(s.case.x0), s.case.hyper, []
    for e in s.events:
        if isinstance(e, Messages):
            F, rows = [m.loss + h["guard"] for m in e.messages], [flatten(m.delta) for m in e.messages]
        else:
            assert isinstance(e, Round)
            problem = problem_of(s)
            assert problem.f is not None
            F, rows = [], []
            for i, tau in zip(e.participants, e.steps, strict=True):
                pull = problem.e[i] - problem.H[i] @ x
                F.append(problem.f[i] + h["guard"] - (problem.e[i] + pull) @ x / 2)
                rows.append(local_matrix(Solver.SGD, problem.H[i], tau, eta_l=h["eta_l"]) @ pull)
        x = x + move(F, rows, h)
        out.append(x)
    return out


KNOWN = frozenset({"q-fedavg"})
"""Algorithms that this closed form covers."""
