"""Corollaries 1 and 2: the rate of FedAvg with clients of equal size, and which alpha is best for FedProx."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from fedspec.algorithms.fednova import FedNova
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights
from fedspec_proofs.claim import FEDNOVA, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities
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


def _as_in_126(steps: tuple[int, ...], examples: tuple[int, ...]) -> bool:
    """Whether tau_eff, A, B and C of FedAvg's implied weights are those of (126)."""
    m, mean = len(steps), rational(sum(steps), len(steps))
    variance = rational(sum(t**2 for t in steps), m) - mean**2
    unused = QuadraticClients(exact.vector(*[1] * m).reshape(m, 1, 1), exact.vector(*[0] * m).reshape(m, 1))
    c = printed(Setting(FedNova(eta_l=rational(1), nova_weights=NovaWeights.IMPLIED), unused, steps, examples))
    said = (mean, 1, mean - 1 + variance / mean, max(steps) * (max(steps) - 1))
    return (c.tau_eff, c.A, c.B, c.C) == said


@claim(
    "fednova.corollary-1-constants",
    statement="For FedAvg with p = 1/m tau_eff = tau_bar, A = 1, B = tau_bar - 1 + var tau / tau_bar and C = tau_max "
    "(tau_max - 1), so that (97) at eta = sqrt(m / (tau_bar T)) is (126), and its rounds those of "
    "fednova.theorem-1-round for SGD",
    source=Source(FEDNOVA, "Corollary 1 (L730): from (97) to (126)"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="m <= 3, tau_i <= 4",
    assumptions={"equal": "p = 1/m"},
)
def constants() -> Finding:
    """All numbers of steps, through the rules for a_i, w and tau_eff; in words for all: w_i = tau_i / sum tau_j."""
    sizes = [steps for m in (1, 2, 3) for steps in product((1, 2, 3, 4), repeat=m)]
    held = all(_as_in_126(steps, (1,) * len(steps)) for steps in sizes)
    other = Dropped(not _as_in_126((1, 2), (3, 1)), "tau = (1, 2), p = (3/4, 1/4): they are not those")
    return Finding(Verdict.PROVED if held else Verdict.REFUTED, f"{len(sizes)} runs of steps", {"equal": other})


def _unlike() -> Run:
    """H = (1/5, 2/5), minimisers 0 and 1, tau = (3, 1), eta = 1/8, T = 64; kappa^2 said to be 0."""
    problem = QuadraticClients(exact.vector("1/5", "2/5").reshape(2, 1, 1), exact.vector(0, "2/5").reshape(2, 1))
    h = FedNova(eta_l=rational(1, 8), nova_weights=NovaWeights.IMPLIED)
    s, top, none = Setting(h, problem, (3, 1), (1, 1)), rational(2, 5), rational(0)
    return Run(s, top, none, s.limit(), 64, top, none, rational(3, 2), none, False)


def _best(draw: Draw, *, cube: bool = True) -> Iterable[Any]:
    """(139)-(140) with m = M^2, tau_bar = N^2, T = S^6: f at alpha = c M / (N S), c^3 = 2, less (3/2) c S^-4, and f'.

    2 is a variable of its own where c is not its root.
    """
    M, N, S, c = (draw(name, positive=True) for name in ("M", "N", "S", "c"))
    two = c**3 if cube else draw("two", positive=True)
    alpha = c * M / (N * S)
    first, second = alpha * N**2 / (M * N * S**3), M**2 / (alpha**2 * N**2 * S**6)
    yield first + second - c / S**4 - c / (two * S**4)
    # f'(alpha) = 0: the first term is alpha f_1', the second -2 / alpha of itself.
    yield first - two * second


@claim(
    "fednova.eq-139",
    statement="alpha tau_bar / sqrt(m tau_bar T) + m / (alpha^2 tau_bar T) is smallest at alpha = 2^(1/3) (m / "
    "tau_bar)^(1/2) T^(-1/6), where it is (3/2) 2^(1/3) T^(-2/3)",
    source=Source(FEDNOVA, "eqs. (139)-(141) (L786-794), with the factor that O() swallows"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"cube": "c^3 = 2"},
)
def best_alpha() -> Finding:
    """The value and the vanishing derivative are identities in m, tau_bar, T, written as powers; that it is the least
    is x + 1/(2 x^2) >= 3/2 for x > 0 (z3), x being alpha over that one. T^(-2/3) <= 1/sqrt(m tau_bar T) is tau_bar <=
    K^(1/4) m^(-3/4), K = tau_bar T, to the sixth power."""
    exactly = identities({"value": _best}, without={"cube": {"c free": lambda draw: _best(draw, cube=False)}})

    def least(draw: Draw) -> Statement:
        x = draw("x")
        return Statement({"cube": x > 0}, {"least": 2 * x**3 + 1 >= 3 * x**2})

    smallest = decide(least)
    ok = exactly.verdict is Verdict.PROVED and smallest.verdict is Verdict.PROVED
    words = f"{exactly.evidence}\n{smallest.evidence}"
    return Finding(Verdict.PROVED if ok else Verdict.UNKNOWN, words, exactly.dropped, exactly.second)
