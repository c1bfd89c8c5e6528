"""Corollary 2: which alpha is best for FedProx's bound, eqs. (139)-(141) and the words about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fedspec_proofs.claim import FEDNOVA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities


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
