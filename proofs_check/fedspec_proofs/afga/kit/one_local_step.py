"""Certified Lemmas F.1 and F.2 for one local step: for all smooth clients, models, matrices W and dimensions.

The step is the rule's. What is claimed is quadratic in the models and gradients, so that the noise of the step, whose
mean is zero whatever the models are, enters by its second moments alone: |xi_i|^2 counts for its expectation, products
with anything else for zero. The sets are gone through one by one. An exchange keeps the mean of a cluster and shrinks
what is left of its models to rho times its length at most (claim gossip-contracts), whatever W is: so both lemmas are
about the models before the exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.plan import Oracle
from fedspec_proofs.afga.kit.rounds import adapt, draws
from fedspec_proofs.engines.draw import curried
from fedspec_proofs.engines.worst_case.classes import Function, smooth
from fedspec_proofs.engines.worst_case.forms import ORIGIN, Form, basis, vector
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value, function_value, square


@dataclass(frozen=True)
class Step:
    """A local step of CAFGA: K clusters of n clients, m sampled in each; L = 1."""

    K: int
    n: int
    m: int

    @property
    def N(self) -> int:
        """Number of clients."""
        return self.K * self.n

    @property
    def fac(self) -> Fraction:
        """Factor m (n - m) / (n (n - 1))."""
        return Fraction(self.m * (self.n - self.m), self.n * max(self.n - 1, 1))

    def __str__(self) -> str:
        return f"K = {self.K}, n = {self.n}, m = {self.m}"


def _mean(terms: Sequence[Any]) -> Any:
    return sum(terms[1:], terms[0]) / len(terms)


def without_noise(value: Value, variance: Value) -> Value:
    """Expectation over noise of mean zero that is independent between clients and has this variance at each."""
    out = Value(values=value.values, constant=value.constant)
    for (a, b), c in value.products.items():
        if a.startswith("noise"):
            out = out + (c * variance if a == b else Value())
        elif not b.startswith("noise"):
            out = out + Value({(a, b): c})
    return out


@dataclass(frozen=True)
class Made:
    """Quantities in both lemmas: errors before and after the step, and given inequalities.

    Attributes:
        drift: mean over the clusters of |xbar^k - x_r|^2, x_r = 0.
        consensus: mean over the clients of |x_i - xbar^k|^2.
        drift_after: expectation of the drift after the step.
        consensus_after: expectation of the consensus error after the step and before the exchange.
        between: eta^2 (alpha^2 |grad f(x_r)|^2 + sigma_c^2), the bound of eta^2 times the mean of |grad fbar_k(x_r)|^2.
        within: eta^2 times the mean of the sigma_k^2.
        noise: eta^2 sigma^2.
        given: the given inequalities; those about ``between``, ``within`` and ``noise`` are multiplied by eta^2.
    """

    drift: Value
    consensus: Value
    drift_after: Value
    consensus_after: Value
    between: Value
    within: Value
    noise: Value
    given: dict[str, Value]


def made(s: Step, eta: Any) -> Made:
    """Run a step from arbitrary models x_i, and collect the assumptions on the clients."""
    functions = [Function(f"F{i}", smooth(1)) for i in range(s.N)]
    clusters = [range(k * s.n, (k + 1) * s.n) for k in range(s.K)]
    x = [basis(f"x{i}") for i in range(s.N)]
    X = np.stack([vector(x_i) for x_i in x])

    def noisy(i: int) -> Oracle:
        def oracle(t: int, y: Vector) -> Vector:
            return functions[i].oracle(t, y) + vector(basis(f"noise{i}"))

        return oracle

    between, within, noise = (function_value(name) for name in ("between", "within", "sigma^2"))

    def errors(models: Sequence[Form]) -> tuple[Value, Value]:
        centres = [_mean([models[i] for i in V]) for V in clusters]
        rest = [square(models[i] - c) for V, c in zip(clusters, centres, strict=True) for i in V]
        return _mean([square(c) for c in centres]), _mean(rest)

    after = [Value(), Value()]
    for share, S in draws(s.K, s.n, s.m):
        moved = list(adapt(eta, X, [noisy(i) for i in range(s.N)], S)[:, 0])
        after = [total + share * e for total, e in zip(after, errors(moved), strict=True)]
    e2 = eta * eta
    after = [without_noise(e, noise / e2) for e in after]
    drift, consensus = errors(x)
    given = {"between >= 0": -between, "within >= 0": -within, "sigma^2 >= 0": -noise}
    spread: dict[str, list[Value]] = {}
    for V in clusters:
        for name, point in (("x_r", ORIGIN), ("xbar", _mean([x[i] for i in V]))):
            slopes = [functions[i].at(point).g for i in V]
            middle = _mean(slopes)
            spread.setdefault(name, []).append(_mean([square(g - middle) for g in slopes]))
            if name == "x_r":
                spread.setdefault("centres", []).append(square(middle))
    given["between"] = e2 * _mean(spread["centres"]) - between
    given |= {f"within at {name}": e2 * _mean(spread[name]) - within for name in ("x_r", "xbar")}
    given |= {name: q for f in functions for name, q in f.obeys().items()}
    return Made(drift, consensus, after[0], after[1], between, within, noise, given)


@curried
def _within(
    eta: Any, s: Step, left: Callable[[Made], Value], terms: Callable[[Made, Any], dict[str, Value]]
) -> Problem:
    """Problem that a quantity after a step is at most the sum of some terms, at a rate."""
    v = made(s, eta)
    parts = terms(v, eta * eta)
    right = sum(parts.values(), Value())
    return Problem(left(v) - right, v.given, right, terms=parts)


def drift_of(s: Step, I: int, growth: Fraction) -> Callable[[Any], Problem]:
    """Problem of eq. (41) as a function of the rate, with the given C_I."""
    return _within(
        s,
        lambda v: v.drift_after,
        lambda v, e2: {
            "drift": growth * v.drift,
            "consensus error": 16 * I * e2 * v.consensus,
            "gradients": 16 * I * v.between,
            "sampling": 16 * I * s.fac * v.within,
            "noise": v.noise / s.n,
        },
    )


def consensus_of(s: Step, zeta: Fraction) -> Callable[[Any], Problem]:
    """Problem of eq. (42) as a function of the rate, divided by rho^2, a common factor if all rho_k are rho."""
    by_gradients = 4 * (1 + zeta)
    return _within(
        s,
        lambda v: v.consensus_after,
        lambda v, e2: {
            "consensus error, kept": (1 + 1 / zeta) * v.consensus,
            "consensus error, by gradients": by_gradients * e2 * v.consensus,
            "drift": by_gradients * e2 * v.drift,
            "gradients": by_gradients * v.between,
            "dissimilarity": by_gradients * v.within,
            "noise": v.noise,
        },
    )
