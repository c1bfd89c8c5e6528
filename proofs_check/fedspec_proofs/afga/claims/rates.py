"""Conditions on step sizes and rho after eq. (24), and the consequences of the printed conditions."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec.arith import minimum
from fedspec_proofs.claim import Extent, Finding, Severity, claim, false, refutation
from fedspec_proofs.engines import Draw, Statement, all_proved, decide, decided, every, several


def _eq_30_at(rng: np.random.Generator) -> dict[str, F]:
    n = int(rng.integers(2, 9))
    m = int(rng.integers(1, n + 1))
    rho = F(m, m + n) * F(int(rng.integers(0, 5)), 4)
    return {"n": F(n), "m": F(m), "rho": rho, "H": 1 / (1 - rho) * F(int(rng.integers(0, 3)), 2)}


@claim(
    "afga.eq-30",
    statement="Eq. (31), rho^2/(1 - rho) <= m^2/n^2, gives eq. (30), n(n-m)/(m^2 (n-1)) H rho^2 <= 1/n",
    source="ours, for eqs. (30) and (31) (L2161-2166), in the direction that the proof uses",
    extent=Extent.WHOLE,
    assumptions={
        "sizes": "1 <= m <= n, n > 1",
        "eq. (31)": "with 0 <= rho < 1, q = rho^2/(1 - rho)",
        "H": "0 <= H <= 1/(1 - rho)",
    },
    repairs="afga.eq-31",
)
@decided(sample=_eq_30_at, timeout_ms=5000)
def eq_30(draw: Draw) -> Statement:
    """Proof for all real m, n and rho, not only whole numbers."""
    n, m, rho, H = several(draw, "n, m, rho, H")
    given = {
        "sizes": every(m >= 1, m <= n, n > 1),
        "eq. (31)": every(rho >= 0, rho < 1, rho**2 * n**2 <= m**2 * (1 - rho)),
        "H": every(H >= 0, H * (1 - rho) <= 1),
    }
    return Statement(given, {"eq. (30)": n**2 * (n - m) * H * rho**2 <= m**2 * (n - 1)})


@claim(
    "afga.eq-31",
    statement="Eq. (30), n(n-m)/(m^2 (n-1)) H rho^2 <= 1/n, implies eq. (31), rho^2/(1 - rho) <= m^2/n^2",
    source="eqs. (30) and (31), as worded (L2161-2166)",
    severity=Severity.SLIP,
)
def eq_31() -> Finding:
    """The converse is true, and is the direction used. With full participation eq. (30) does not restrict rho."""
    n, m, rho, I = 3, 2, F(3, 5), 2
    H = min(F(I), 1 / (1 - rho))
    return refutation(
        instance="n = 3, m = 2, I = 2, rho = 3/5, so that H = 2",
        conditions={
            "eq. (30)": F(n * (n - m), m**2 * (n - 1)) * H * rho**2 <= F(1, n),
            "0 <= rho < 1": 0 <= rho < 1,
            "partial participation: m < n": m < n,
        },
        left=rho**2 / (1 - rho),
        right=F(m**2, n**2),
    )


def _rho_condition(draw: Draw, numerator: Any) -> Statement:
    n, m, rho = several(draw, "n, m, rho")
    given = {
        "sizes": every(m >= 1, m <= n, n > 1),
        "rho": every(rho >= 0, rho < 1, rho * (m + n) <= numerator * m),
    }
    shown = {
        "rho^2/(1 - rho) <= m^2/((m + n) n)": rho**2 * (m + n) * n <= m**2 * (1 - rho),
        "eq. (31)": rho**2 * n**2 <= m**2 * (1 - rho),
        "eq. (32), last bound": n * (n - m) <= (n - 1) * (m + n),
    }
    return Statement(given, shown)


def _sample_rho(rng: np.random.Generator) -> dict[str, F]:
    n = int(rng.integers(2, 9))
    m = int(rng.integers(1, n + 1))
    return {"n": F(n), "m": F(m), "rho": F(m, m + n) * F(int(rng.integers(0, 5)), 4)}


def _steps(draw: Draw, least: int) -> Statement:
    """H rho^2 beside rho^2/(1 - rho), over n(n-m)/(m^2 (n-1)); from two local steps on they are equal."""
    n, m, rho, I = several(draw, "n, m, rho, I")
    H = minimum(1 / (1 - rho), I)
    given = {
        "sizes": every(m >= 1, m <= n, n > 1),
        "rho": every(rho >= 0, rho < 1, rho * (m + n) <= m),
        "I": least <= I,
    }
    shown = {"H rho^2 <= rho^2/(1 - rho)": H * rho**2 * (1 - rho) <= rho**2}
    return Statement(given, {"H = 1/(1 - rho)": H * (1 - rho) >= 1} if least == 2 else shown)


def _sample_steps(rng: np.random.Generator) -> dict[str, F]:
    return {**_sample_rho(rng), "I": F(int(rng.integers(1, 5)))}


@claim(
    "afga.eq-32",
    statement="rho <= m/(m + n) gives H rho^2 <= rho^2/(1 - rho) <= m^2/((m + n) n) <= m^2/n^2, H = min{1/(1 - rho), "
    "I}, and (n - m)/((n - 1)(m + n)) <= 1/n; the first is = for I >= 2",
    source="eq. (32) (L2177), but for its first sign, an erratum",
    extent=Extent.PART,
    assumptions={
        "sizes": "1 <= m <= n, n > 1",
        "rho": "0 <= rho < 1, rho <= m/(m + n)",
        "I": "there is a local step; for the = there are two",
    },
)
def eq_32() -> Finding:
    """Proof for all reals; at rho = m/(m + n) the second inequality is an equality."""
    parts = {
        "rho": decide(lambda draw: _rho_condition(draw, 1), sample=_sample_rho),
        "any I": decide(lambda draw: _steps(draw, 1), sample=_sample_steps, ablate=False),
        "I >= 2": decide(lambda draw: _steps(draw, 2), sample=_sample_steps),
    }
    return all_proved(parts)


@false("afga.false-32-twice", of=eq_32, statement="The same for rho <= 2m/(m + n)")
def twice_as_sparse() -> Finding:
    """Refuted: the condition on rho has no slack of a factor of two."""
    return decide(lambda draw: _rho_condition(draw, 2), sample=_sample_rho)


def _noise_of_t_2(steps: Any, n: Any, rho: Any, H: Any) -> Any:
    """sigma^2 beside 3 L^2 C_1 eta_l^2 in the first bracket of eq. (28), over I."""
    return steps * rho**2 + (steps + H**2 * rho**2 / steps) / n


@claim(
    "afga.eq-29",
    statement="What the first bracket of eq. (28) has of sigma^2, over eta eta_l I, is at most that of eq. (29), C L^2 "
    "eta_l^2 I rho^2 (1 + 1/n) sigma^2, for a C that is irrelevant to the parameters",
    source="from eq. (28) to eq. (29) (L2081-2147), and so T2 of eq. (33) (L2299)",
    severity=Severity.PROOF_BREAKS,
)
def eq_29() -> Finding:
    """At rho = 0 the right side is 0 for every C: I sigma^2/n is missing; T2's last line (L2344) lacks L^2 too.

    Of the first loss eq. (8) needs no correction: with eta_l = 1/(sqrt(R) I) <= 1/(8IL), L^2 sigma^2/(n I R) is at most
    sqrt(m)/(8 n sqrt(I)) times L sigma^2/sqrt(RIm).
    """
    steps, n, rho, L, eta_l = 1, 2, F(0), F(1), F(1, 8)
    return refutation(
        instance="n = 2, I = 1, L = sigma = 1, W = J so that rho = 0 and H = 1, eta_l = 1/8; C_1 = 1, any C",
        conditions={"eta_l <= 1/(8IL)": eta_l * 8 * steps * L <= 1, "rho <= m/(m + n)": rho <= F(1, 1 + n)},
        left=3 * L**2 * eta_l**2 * _noise_of_t_2(steps, n, rho, 1),
        right=L**2 * eta_l**2 * steps * rho**2 * (1 + F(1, n)),
    )


@claim(
    "afga.eq-29-repaired",
    statement="The same with I {rho^2 (1 + 1/n) + 1/n} sigma^2 in eq. (29), C = 3 C_1",
    source="ours, for eq. (29) (L2147)",
    extent=Extent.WHOLE,
    assumptions={"sizes": "n >= 1, I >= 1", "H": "0 <= H <= I"},
)
@decided()
def eq_29_repaired(draw: Draw) -> Statement:
    """Proof by real algebra, for all real values."""
    steps, n, rho, H = several(draw, "I, n, rho, H")
    right = steps * (rho**2 * (1 + 1 / n) + 1 / n)
    given = {"sizes": every(n >= 1, steps >= 1), "H": every(H >= 0, steps >= H)}
    return Statement(given, {"eq. (29)": _noise_of_t_2(steps, n, rho, H) <= right})
