"""Algorithms without a server: the mean model for constant gradients, and the models by another recursion.

On quadratics, in fractions: DIGing goes without a tracker, since the last two models say the next. K-GT and LED go by
matrices of whole rounds and by sums over all exchanges; D2 by what mixing has undone, where its rule goes by the model
before; CHOCO by what neighbours do not know of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import find
from fedspec.contract import Exchange, Quadratics
from fedspec.params import flatten
from fedspec.problems.quadratic import local_matrix
from fedspec.readings import Solver
from fedspec_properties.closed_forms import plugin_tables
from fedspec_properties.closed_forms.sums import events_of
from fedspec_suite.measure.scenario import Scenario, lift

Path = Callable[[Scenario], list[Array]]


def rows(s: Scenario) -> Array:
    """Return the initial models, one row per client."""
    assert s.case.problem is not None
    return flatten(s.case.x0).reshape(len(s.case.problem.e), -1)


def slopes(problem: Quadratics, X: Array) -> Array:
    """Return the gradient of every client at its model."""
    return np.stack([H_i @ x_i - e_i for H_i, x_i, e_i in zip(problem.H, X, problem.e, strict=True)])


def _rounds(s: Scenario) -> Iterator[tuple[Array, int]]:
    """The matrix of every exchange, and the number of its local steps."""
    for e in events_of(Exchange, s):
        yield e.mixing, len(e.computing)


def matrices(s: Scenario) -> Iterator[tuple[Array, bool]]:
    """Yield the mixing matrix of every local step, and True if an exchange ends with it."""
    for W, tau in _rounds(s):
        for t in range(tau):
            yield W, t == tau - 1


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


def _lengths(problem: Quadratics, tau: int, eta_l: Any) -> list[Array]:
    """Matrices by which tau steps under constant forces move the clients: eta_l times sums of powers of I - eta_l H."""
    return [local_matrix(Solver.SGD, H_i, tau, eta_l=eta_l) for H_i in problem.H]


def _apply(matrices: list[Array], X: Array) -> Array:
    return np.stack([M @ x for M, x in zip(matrices, X, strict=True)])


def _k_gt(s: Scenario) -> list[Array]:
    """Directions by powers of matrices; what corrects them is the sum of what exchanges have changed them by."""
    s = lift(s, Fraction)
    problem, h = s.case.problem, s.case.hyper
    assert problem is not None
    X, out, past = rows(s), list[Array](), list[tuple[Array, Array]]()
    for W, tau in _rounds(s):
        apart = sum((W_t @ V_t - V_t for W_t, V_t in past), start=0 * X)
        moved = _apply(_lengths(problem, tau, h["eta_l"]), slopes(problem, X) + apart)
        past.append((W, moved / (tau * h["eta_l"])))
        X = W @ (X - h["eta"] * moved)
        out.append(X.reshape(-1))
    return out


def _led(s: Scenario) -> list[Array]:
    """Ends of local steps by powers of matrices; the dual sums the changes of these ends by exchanges."""
    s = lift(s, Fraction)
    problem, eta_l = s.case.problem, s.case.hyper["eta_l"]
    assert problem is not None
    X, out, past = rows(s), list[Array](), list[tuple[Array, Array]]()
    for W, tau in _rounds(s):
        undone = sum((ends - W_t @ ends for W_t, ends in past), start=0 * X)
        force = slopes(problem, X) + undone / (tau * eta_l)
        past.append((W, X - _apply(_lengths(problem, tau, eta_l), force)))
        X = W @ past[-1][1]
        out.append(X.reshape(-1))
    return out


def _d2(s: Scenario) -> list[Array]:
    """A step of decentralised SGD less all that mixing has undone so far: no model before the last is needed."""
    s = lift(s, Fraction)
    problem, eta_l = s.case.problem, s.case.hyper["eta_l"]
    assert problem is not None
    X, out = rows(s), list[Array]()
    undone = 0 * X
    for W, ends in matrices(s):
        ahead = X - eta_l * slopes(problem, X) - undone
        X = (ahead + W @ ahead) / 2 if s.case.options["matrix"] == "half" else W @ ahead
        undone = undone + ahead - X
        if ends:
            out.append(X.reshape(-1))
    return out


def _sent(p: Array, kept: Any) -> Array:
    """Compress a vector: the largest entries in order, or signs if no number of entries is given."""
    if kept is None:
        size = sum(abs(a) for a in p) / len(p)
        return np.array([size if a > 0 else -size if a < 0 else size * 0 for a in p], dtype=object)
    first = sorted(range(len(p)), key=lambda j: (-abs(p[j]), j))[: int(kept)]
    return np.array([a if j in first else a * 0 for j, a in enumerate(p)], dtype=object)


def _choco(s: Scenario) -> list[Array]:
    """CHOCO by what neighbours do not know of each other's models; what they know is never held."""
    s = lift(s, Fraction)
    problem, h, o = s.case.problem, s.case.hyper, s.case.options
    assert problem is not None
    X, out = rows(s), list[Array]()
    missing = 0 * X if o["known"] == "models" else X
    for W, ends in matrices(s):
        move = -h["eta_l"] * slopes(problem, X)
        missing = missing + move
        if o["exchanged"] == "mixed":
            known = X + move - missing
            pull = h["consensus"] * (W @ known - known)
            move, missing = move + pull, missing + pull
        missing = missing - np.stack([_sent(p, h.get("kept")) for p in missing])
        X = X + move
        if o["exchanged"] == "told":
            known = X - missing
            pull = h["consensus"] * (W @ known - known)
            X, missing = X + pull, missing + pull
        if ends:
            out.append(X.reshape(-1))
    return out


PATHS: dict[str, Path] = {"diging": _diging, "k-gt": _k_gt, "led": _led, "d2": _d2, "choco": _choco}
"""Functions for the models after each exchange, by algorithm."""


Step = Callable[[Any, Any, Any], Any]


def _descent(past: Any, h: Any, o: Any) -> Any:
    return -h["eta_l"] * past[-1]


def _tracked(past: Any, h: Any, o: Any) -> Any:
    """Trackers have the mean of the gradients, but for a first step without any."""
    return 0 * past[0] if len(past) == 1 and o["start"] == "zero" else -h["eta_l"] * past[-1]


def _scaled(past: Any, h: Any, o: Any) -> Any:
    """Corrections have the mean 0, and an exchange moves by eta times the local steps."""
    return -h["eta"] * h["eta_l"] * past[-1]


MEANS: dict[str, Step] = {
    **dict.fromkeys(("dsgd", "gossip-pga", "led", "d2", "choco"), _descent),
    "diging": _tracked,
    "k-gt": _scaled,
}
"""Last move of the clients' mean model, from their mean gradients of all steps; mixing keeps the mean."""


@cache
def steps() -> dict[str, Step]:
    """Return the mean moves of fedspec's algorithms, and of plugins without a server."""
    return MEANS | {name: step for name, step in plugin_tables.table("STEPS").items() if "peers" in find(name).takes}


def means(s: Scenario) -> list[Array]:
    """Return the exact mean model after each exchange."""
    exact = lift(s, Fraction)
    problem, step = exact.case.problem, steps()[s.case.algorithm]
    assert problem is not None
    n = len(problem.e)
    x = flatten(exact.case.x0).reshape(n, -1).sum(axis=0) / n
    past: list[Array] = []
    out = []
    for e in events_of(Exchange, exact):
        for _ in e.computing:
            # The gradient of -e' x is -e.
            past.append(-problem.e.sum(axis=0) / n)
            x = x + step(past, exact.case.hyper, exact.case.options)
        out.append(x)
    return out
