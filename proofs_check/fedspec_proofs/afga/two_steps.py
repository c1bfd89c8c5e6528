"""Lemmas F.3 and F.4 after two local steps, certified: two smooth clients, one drawn in each step, in every dimension.

Steps and exchanges are the rule's, every set is gone through. A doubly stochastic W of two clients is rho I + (1 - rho)
J with ||W - J||_2 = |rho|, so that rho and -rho are all the matrices with that norm. Noise of the first step is a
vector at right angles to the gradients that came before; that of the second enters by its second moment alone, as in
:mod:`.one_local_step`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.mixing.gossip import gossip
from fedspec.plan import Oracle
from fedspec_proofs.adding import in_setting
from fedspec_proofs.afga import bounds
from fedspec_proofs.afga.consensus import ALL
from fedspec_proofs.afga.network import Network
from fedspec_proofs.afga.networks import ASSUMPTIONS, DRAWN, some
from fedspec_proofs.afga.one_local_step import without_noise
from fedspec_proofs.afga.rounds import adapt, draws
from fedspec_proofs.claim import AFGA, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.search import Sides
from fedspec_proofs.engines.worst_case.certificates import Case, certified
from fedspec_proofs.engines.worst_case.classes import Function, smooth
from fedspec_proofs.engines.worst_case.forms import ORIGIN, Form, basis, vector
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value, function_value, inner, square

F = Fraction
T = 2
"""The local steps that are gone through."""

BETWEEN, WITHIN, NOISE = (function_value(name) for name in ("between", "within", "sigma^2"))
"""eta_l^2 times alpha^2 |grad f(x_r)|^2 + sigma_c^2, sigma_k^2 and sigma^2."""


def _errors(models: Any) -> tuple[Value, Value]:
    """Drift and consensus error of two models."""
    x: list[Form] = [row[0] for row in models]
    centre = (x[0] + x[1]) / 2
    return square(centre), sum((square(one - centre) for one in x), Value()) / 2


def after(rho: Fraction, eta: Any) -> tuple[Value, Value, dict[str, Value]]:
    """Expected drift and consensus error after two steps from x_r = 0, and what is assumed."""
    functions = [Function(f"F{i}", smooth(1)) for i in (0, 1)]
    same, other = (1 + rho) / 2, (1 - rho) / 2
    W = exact.vector(same, other, other, same).reshape(2, 2)
    start, e2, firsts = np.stack([vector(ORIGIN)] * 2), eta * eta, []
    total = [Value(), Value()]

    def noisy(noise: Form) -> list[Oracle]:
        def of(i: int) -> Oracle:
            def oracle(t: int, y: Vector) -> Vector:
                return functions[i].oracle(t, y) + vector(noise)

            return oracle

        return [of(i) for i in (0, 1)]

    def moved(X: Any, S: Sequence[int], noise: Form) -> Any:
        return gossip(adapt(eta, X, noisy(noise), S), W)

    for chance, S in draws(1, 2, 1):
        firsts.append(basis(f"first{S[0]}"))
        X = moved(start, S, firsts[-1])
        for share, then in draws(1, 2, 1):
            both = _errors(moved(X, then, basis(f"noise{S[0]}{then[0]}")))
            total = [a + chance * share * b for a, b in zip(total, both, strict=True)]
    slopes = [f.at(ORIGIN).g for f in functions]
    middle = (slopes[0] + slopes[1]) / 2
    given = {"between >= 0": -BETWEEN, "within >= 0": -WITHIN, "sigma^2 >= 0": -NOISE}
    given["between"] = e2 * square(middle) - BETWEEN
    given["within"] = e2 * (square(slopes[0] - middle) + square(slopes[1] - middle)) / 2 - WITHIN
    for i, first in enumerate(firsts):
        given[f"variance {i}"] = e2 * square(first) - NOISE
        for j, slope in enumerate(slopes):
            product = inner(first, slope)
            given |= {f"noise {i}, {j}": product, f"noise {i}, {j}, less": -product}
    given |= {name: q for f in functions for name, q in f.obeys().items()}
    drift, consensus = (without_noise(value, NOISE / e2) for value in total)
    return drift, consensus, given


def _H(rho: Fraction, I: int) -> Fraction:
    """min(I, 1 / (1 - |rho|))."""
    return min(F(I), 1 / (1 - abs(rho)))


FAC = F(1, 2)
"""m (n - m) / (n (n - 1))."""


def both_of(rho: Fraction, I: int) -> Callable[[Any], Problem]:
    """Eq. (47) after two of I steps, with C_1 = 2."""

    def problem(eta: Any) -> Problem:
        drift, consensus, given = after(rho, eta)
        r2, H = rho**2, _H(rho, I)
        tail = 1 + H**2 / F(I) ** 2 * r2
        terms = {
            "gradients": (I + r2 * H) * BETWEEN,
            "dissimilarity": r2 * H * WITHIN,
            "noise": r2 * NOISE,
            "noise of the mean": tail * NOISE / 2,
            "sampling": tail * FAC * I * WITHIN,
        }
        terms = {name: 2 * (T + 1) * term for name, term in terms.items()}
        right = sum(terms.values(), Value())
        return Problem(drift + consensus - right, given, right, terms=terms, relaxed=True)

    return problem


def consensus_of(rho: Fraction, I: int) -> Callable[[Any], Problem]:
    """Eq. (69) after two of I steps, with t for t + 1 and C_1 = 2."""

    def problem(eta: Any) -> Problem:
        _, consensus, given = after(rho, eta)
        H = _H(rho, I)
        share = H**2 / F(I) ** 2
        terms = {
            "gradients": H * BETWEEN,
            "dissimilarity": H * WITHIN,
            "noise": NOISE,
            "noise of the mean": share * NOISE / 2,
            "sampling": FAC * share * I * WITHIN,
        }
        terms = {name: 2 * T * rho**2 * term for name, term in terms.items()}
        right = sum(terms.values(), Value())
        return Problem(consensus - right, given, right, terms=terms, relaxed=True)

    return problem


RHOS = (F(1, 2), F(-1, 2), F(9, 10))


def _cases(of: Callable[[Fraction, int], Callable[[Any], Problem]], I: int) -> dict[str, Case]:
    low, high = F(1, 16 * I), F(1, 8 * I)
    return {f"rho = {rho}, eta_l in [{low}, {high}]": Case(of(rho, I), low, high, drop=rho is RHOS[0]) for rho in RHOS}


F3, F4 = "afga.lemma-f-3-two-steps", "afga.lemma-f-4-two-steps"
FOR_F3, FOR_F4 = _cases(both_of, 3), _cases(consensus_of, 2)
SIZES = "K = 1, n = 2, m = 1, t = 2, W = rho I + (1 - rho) J; L = 1, which is no restriction"
ASSUMED = {**some(ASSUMPTIONS, *ALL), **DRAWN}


def _without(sides: Callable[[Network], Iterable[Sides]]) -> dict[str, Dropped]:
    """By networks of other sizes than those that are certified, or after one step alone."""
    found = bounds.by_hand(sides, *ALL)
    elsewhere = {name: replace(d, words=f"at other sizes: {d.words}") if d.matters else d for name, d in found.items()}
    return dict(in_setting(Finding(Verdict.CERTIFIED, "", elsewhere), DRAWN).dropped)


both = claim(
    F3,
    statement="Lemma F.3 with C_1 = 2 after two of I = 3 local steps, for all smooth clients, in every dimension; D.1 "
    "is used at x_r alone",
    source=Source(AFGA, "Lemma F.3, eq. (47) (L3080)"),
    engine=Engine.WORST_CASE,
    verdict=Verdict.CERTIFIED,
    assumptions=ASSUMED,
    sizes=f"I = 3, {SIZES}; " + "; ".join(FOR_F3),
)(certified(F3, FOR_F3, lambda: _without(lambda net: bounds.both_errors(net, 2, 1))))

apart = claim(
    F4,
    statement="Lemma F.4 with t for the printed t + 1 and C_1 = 2 after two of I = 2 local steps, for all smooth "
    "clients, in every dimension; D.1 is used at x_r alone",
    source=Source(AFGA, "Lemma F.4, eq. (69) (L3591)"),
    engine=Engine.WORST_CASE,
    verdict=Verdict.CERTIFIED,
    assumptions=ASSUMED,
    sizes=f"I = 2, {SIZES}; " + "; ".join(FOR_F4),
)(certified(F4, FOR_F4, lambda: _without(lambda net: bounds.consensus_error(net, 2, 0))))
