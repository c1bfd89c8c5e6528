"""How far FedProx's and momentum's weights are from p: chi^2(p||w) as alpha and rho change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from fedspec.mixing.accumulation import a_norm
from fedspec.mixing.nova import general_weights
from fedspec.readings import NovaWeights, Solver
from fedspec_proofs.claim import FEDNOVA, Engine, Finding, Source, Verdict, claim, false
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fednova.bounds import (
    chi_squared,
    rational,
)
from fedspec_proofs.fednova.formulas import every
from fedspec_proofs.fednova.special_cases import shares

# How far w is from p: chi^2 = sum over pairs of p_i p_j (q + 1/q - 2), q >= 1 the ratio of the norms.


def _pairs(draw: Draw, m: int, *, sums: bool = True) -> Iterable[Any]:
    p, a = (shares(draw, m) if sums else draw("p", m, positive=True)), draw("A", m, positive=True)
    parts = sum(p[i] * p[j] * (a[i] / a[j] + a[j] / a[i] - 2) for j in range(m) for i in range(j))
    yield chi_squared(p, general_weights(p, a, NovaWeights.IMPLIED)) - parts


@claim(
    "fednova.chi-by-pairs",
    statement="chi^2(p||w) is the sum over pairs of clients of p_i p_j (q + 1/q - 2), q = ||a_j||_1 / ||a_i||_1"
    ", for two, three, four clients",
    source=Source(FEDNOVA, "ours, for the chi^2 of Theorem 2 (L175) with the w of eq. (6) (L116)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"sums": "the p_i sum to one"},
)
def by_pairs() -> Finding:
    """Two, three, four clients. It grows with every ratio q >= 1 of a larger norm to a smaller one."""
    bodies: Mapping[str, Body] = {f"m = {m}": partial(_pairs, m=m) for m in (2, 3, 4)}
    return identities(bodies, without={"sums": {"m = 2": lambda draw: _pairs(draw, 2, sums=False)}}, instances=10)


def _ratios(norm: Callable[[int, Any], Any], longest: int, rising: bool) -> Any:
    """The ratio of the norms for more and for fewer steps rises (or falls) with the parameter, and is at least one."""

    def body(draw: Draw) -> Statement:
        small, large = draw("small"), draw("large")
        shown = {}
        for n in range(2, longest + 1):
            for m in range(1, n):
                low, high = norm(n, small) * norm(m, large), norm(n, large) * norm(m, small)
                shown[f"tau = {n} over {m}"] = low <= high if rising else low >= high
        order = [small >= 0, small <= large]
        return Statement(
            {
                "order": every(*order),
                "one": large <= 1,
            },
            shown,
        )

    return body


def _ordered(rng: np.random.Generator) -> dict[str, Fraction]:
    small, large = sorted(rational(int(n), 16) for n in rng.integers(0, 17, size=2))
    return {"small": small, "large": large}


def _prox(n: int, alpha: Any) -> Any:
    return a_norm(Solver.PROXIMAL, n, alpha=alpha)


def _heavy(n: int, rho: Any) -> Any:
    return a_norm(Solver.MOMENTUM, n, rho=rho)


@claim(
    "fednova.chi-falls-with-alpha",
    statement="FedProx: as alpha grows from 0 to 1, chi^2(p||w) does not grow, for tau_i up to 4",
    source=Source(FEDNOVA, "the words after eq. (7) (L126) and the effect of mu (L185)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"order": "0 <= alpha <= alpha'", "one": "alpha' <= 1"},
)
def falls() -> Finding:
    """Each ratio of two norms, for tau up to 4, falls; chi^2 grows with each (``fednova.chi-by-pairs``).

    For every tau: the ratio of tau + 1 steps over tau is 1 + 1 / sum_k (1-alpha)^(k-tau), k < tau, which falls with
    alpha; any other ratio is a product of these.
    """
    return decide(_ratios(_prox, 4, rising=False), sample=_ordered)


@claim(
    "fednova.chi-rises-with-rho",
    statement="Momentum: as rho grows from 0 to 1, chi^2(p||w) does not fall, for tau_i up to 4",
    source=Source(FEDNOVA, "ours, beside the effect of mu (L185); the w of momentum (L130)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"order": "0 <= rho <= rho'"},
)
def rises() -> Finding:
    """As above, for tau up to 4; for every tau because (1-rho^n)/(1-rho^k) rises with rho for k < n. It does not take
    rho' <= 1."""

    def body(draw: Draw) -> Statement:
        whole = _ratios(_heavy, 4, rising=True)(draw)
        return Statement({"order": whole.given["order"]}, whole.shown)

    return decide(body, sample=_ordered)


@claim(
    "fednova.tau-eff-falls-with-alpha",
    statement="FedProx: as alpha grows from 0 to 1, tau_eff falls from sum p_i tau_i to 1, for tau_i up to 4",
    source=Source(FEDNOVA, "the words after eq. (7) (L126) and the effect of mu (L185)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"order": "0 <= alpha <= alpha'", "one": "alpha' <= 1"},
)
def shorter() -> Finding:
    """Each ||a_i||_1, for tau up to 4; tau_eff is their mean."""

    def body(draw: Draw) -> Statement:
        whole = _ratios(_prox, 2, rising=False)(draw)
        shown = {f"tau = {n}": _prox(n, draw("large")) <= _prox(n, draw("small")) for n in (2, 3, 4)}
        ends = {f"ends, tau = {n}": _prox(n, draw("large") * 0) == n for n in (2, 3, 4)}
        return Statement(whole.given, {**shown, **ends})

    return decide(body, sample=_ordered)


@false(
    "fednova.chi-falls-with-rho",
    of=rises,
    statement="Momentum: as rho grows, chi^2(p||w) does not grow",
)
def wrong_way() -> Finding:
    """z3 finds where."""
    return decide(_ratios(_heavy, 3, rising=False), sample=_ordered, ablate=False)
