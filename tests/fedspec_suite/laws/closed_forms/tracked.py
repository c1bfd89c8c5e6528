"""Clients without a server that keep more than their models: the models alone, as a recursion without what is kept.

What neighbours keep is put in terms of models and gradients, so that two or more models in a row say the next: no
tracker, correction or dual variable is ever held. All on quadratics, in fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Exchange, Quadratics
from fedspec.params import flatten
from fedspec_suite.measure.scenario import Scenario, lift

Path = Callable[[Scenario], list[Array]]


def rows(s: Scenario) -> Array:
    """The models that a run begins with, one a client."""
    assert s.case.problem is not None
    return flatten(s.case.x0).reshape(len(s.case.problem.e), -1)


def slopes(problem: Quadratics, X: Array) -> Array:
    """The gradient of every client at its model."""
    return np.stack([H_i @ x_i - e_i for H_i, x_i, e_i in zip(problem.H, X, problem.e, strict=True)])


def matrices(s: Scenario) -> Iterator[tuple[Array, bool]]:
    """The matrix of every local step, and whether an exchange ends with it."""
    for e in s.events:
        assert isinstance(e, Exchange)
        for t in range(len(e.computing)):
            yield e.mixing, t == len(e.computing) - 1


def _diging(s: Scenario) -> list[Array]:
    """W Y = (W X - X_next) / eta_l where Y is not mixed in the step, or is mixed with it."""
    s = lift(s, Fraction)
    problem, eta_l, o = s.case.problem, s.case.hyper["eta_l"], s.case.options
    assert problem is not None
    X, out, before = rows(s), list[Array](), None
    for W, ends in matrices(s):
        G = slopes(problem, X)
        if before is None:
            start = G if o["start"] == "gradient" else 0 * G
            following = W @ X - eta_l * start if o["tracking"] == "diging" else W @ (X - eta_l * start)
            before = (X, start, W)
        else:
            X_0, G_0, W_0 = before
            rise = eta_l * (G - G_0)
            match o["tracking"]:
                case "diging":
                    following = W @ X + W_0 @ X - W_0 @ W_0 @ X_0 - rise
                case "semi-atc":
                    following = W @ (2 * X - W_0 @ X_0 - rise)
                case _:
                    following = W @ (2 * X - W_0 @ (X_0 + rise))
            before = (X, G, W)
        X = following
        if ends:
            out.append(X.reshape(-1))
    return out


PATHS: dict[str, Path] = {"diging": _diging}
"""The models after each exchange, by algorithm."""
