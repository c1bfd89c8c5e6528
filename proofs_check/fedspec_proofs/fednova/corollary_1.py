"""Corollaries 1 and 2: the constants of FedAvg with clients of equal size, and which alpha is best for FedProx."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from fedspec.algorithms.fednova import FedNova
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights
from fedspec_proofs.claim import FEDNOVA, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.fednova.bounds import (
    printed,
    rational,
)
from fedspec_proofs.fednova.settings import Setting


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
