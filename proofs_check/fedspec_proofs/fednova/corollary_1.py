"""Corollary 1: the rate of FedAvg with clients of equal size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fedspec.algorithms.fednova import FedNova
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights
from fedspec_proofs.claim import FEDNOVA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.search import Inequality, Sides, searched, without
from fedspec_proofs.fednova.bounds import (
    gap,
    least_kappa,
    printed,
    rational,
    theorem_1_rates,
)
from fedspec_proofs.fednova.runs import ASSUMPTIONS, Run, average, by_hand, quadratics, rate, start, with_dropped
from fedspec_proofs.fednova.settings import Setting


def _fedavg_run(choose: Choose, *, steep: bool = False) -> Run:
    """FedAvg with p = 1/m and eta = 1/k = sqrt(m / (tau_bar T)): T = m k^2 / tau_bar."""
    m = choose.of(2, 1)
    problem, top = quadratics(choose, m, 1)
    steps = tuple(4 if steep else choose.of(2, 1, 4) for _ in range(m))
    k = choose.of(4, 2, 8)
    total = sum(steps)
    # Whole, so that it is what the rate asks for only where nothing is left over; and once much less.
    T = choose.of(m * m * k * k // total, m * m * k * k // total, 1)
    # Steep: as much as (98) allows, which is more than (99) does.
    sizes = ("4", "3", "7/2") if steep else ("1", "1/2", "6", "16", "24", "64")
    scale = choose.of(*map(rational, sizes)) * k / (8 * max(steps) * top)
    H, e = problem.H * scale, problem.e * scale
    problem, top = replace(problem, H=H, e=e), top * scale
    h = FedNova(eta_l=rational(1, k), nova_weights=NovaWeights.IMPLIED)
    s = Setting(h, problem, steps, (1,) * m)
    x = start(s) + (choose.vector(1, -2, 2, 2) if choose.of(False, True) else 0)
    variance = choose.of(*map(rational, ("0", "1", "1/16")))
    w = s.shares() * s.norms() / sum(s.shares() * s.norms())
    fit = [(b, q) for b in (rational(1), rational(3, 2), rational(4)) if (q := least_kappa(problem, w, b)) is not None]
    beta2, kappa2 = fit[0] if fit else (rational(1), rational(0))
    short = choose.of(1, 1, 0)
    L, sigma2 = top * choose.of(rational(1), rational(1), rational(1, 8)), variance * choose.of(1, 1, 0)
    holds = bool(fit) and bool(short or kappa2 == 0)
    return Run(s, top, variance, x, T, L, sigma2, beta2, kappa2 * short, holds)


def _corollary_1(r: Run) -> Iterable[Sides]:
    """(126) with its constants; 1 / sqrt(m tau_bar T) is eta / m where eta is that rate."""
    m, tau = len(r.s.steps), r.s.steps
    mean = rational(sum(tau), m)
    variance = rational(sum(t**2 for t in tau), m) - mean**2
    root, inverse = rate(r.s) / m, 1 / (mean * r.T)
    w = printed_weights(r)
    right = {
        "gap": 4 * gap(r.s.problem, w, r.x) * root,
        "noise": 4 * r.L * r.sigma2 * root,
        "noise in the drift": 6 * m * r.L**2 * r.sigma2 * (mean - 1 + variance / mean) * inverse,
        "drift": 12 * m * r.L**2 * r.kappa2 * max(tau) * (max(tau) - 1) * inverse,
    }
    yield average(r, w), right


def printed_weights(r: Run) -> Any:
    """tau_i / sum tau_j, spelled out."""
    return np.array([rational(t, sum(r.s.steps)) for t in r.s.steps], dtype=object)


def _exact_rate(r: Run) -> bool:
    m = len(r.s.steps)
    return bool(rate(r.s) ** 2 * rational(sum(r.s.steps), m) * r.T == m)


@claim(
    "fednova.corollary-1",
    statement="FedAvg, p = 1/m, eta = sqrt(m / (tau_bar T)): (1/T) sum E|grad F~|^2 <= (4 gap + 4 L sigma^2) / sqrt(m "
    "tau_bar T) + 6 m L^2 sigma^2 (tau_bar - 1 + var tau / tau_bar) / (tau_bar T) + 12 m L^2 kappa^2 tau_max "
    "(tau_max - 1) / (tau_bar T), F~ = sum tau_i F_i / sum tau_i",
    source=Source(FEDNOVA, "Corollary 1 (L730), eq. (126) with the constants of (97)"),
    engine=Engine.MOMENTS,
    verdict=Verdict.NOT_CONTRADICTED,
    assumptions={**ASSUMPTIONS, "schedule": "eta = sqrt(m / (tau_bar T))"},
)
def fedavg_rate() -> Finding:
    """One or two clients of one coordinate, up to 64 rounds, exact noise; eta is 1/2, 1/4 or 1/8, T what it takes."""

    def rates(r: Run) -> tuple[bool, bool]:
        return theorem_1_rates(printed(r.s), eta=rate(r.s), L=r.L, beta2=r.beta2)

    claimed = Inequality(
        _fedavg_run,
        {
            "smooth": lambda r: r.top <= r.L,
            "variance": lambda r: r.sigma2 >= r.variance,
            "dissimilar": lambda r: r.kappa_holds,
            "rate": lambda r: rates(r)[0],
            "drift": lambda r: rates(r)[1],
            "schedule": _exact_rate,
        },
        _corollary_1,
    )
    found = searched(claimed, 350, drop=120)
    steep = without(replace(claimed, instance=partial(_fedavg_run, steep=True)), "drift", 150)
    unlike = by_hand(claimed, "dissimilar", _unlike(), "two flat clients that differ, 64 rounds from the fixed point")
    return with_dropped(found, drift=steep, dissimilar=unlike)


def _unlike() -> Run:
    """H = (1/5, 2/5), minimisers 0 and 1, tau = (3, 1), eta = 1/8, T = 64; kappa^2 said to be 0."""
    problem = QuadraticClients(exact.vector("1/5", "2/5").reshape(2, 1, 1), exact.vector(0, "2/5").reshape(2, 1))
    h = FedNova(eta_l=rational(1, 8), nova_weights=NovaWeights.IMPLIED)
    s, top, none = Setting(h, problem, (3, 1), (1, 1)), rational(2, 5), rational(0)
    return Run(s, top, none, s.limit(), 64, top, none, rational(3, 2), none, False)
