"""App. C.5 for every number of steps: a client's distance from the model it started at, as a sum of steps.

One client i of a round that begins at x; every expectation is given x. Entry s of a is the coefficient of the gradient
g_s after all tau steps, entry s of a^(k) that after k of them. Where a solver's a^(k)_s never exceed a_s the lines of
the paper hold; those of proximal SGD do, since a_s falls as steps are added.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.client.momentum import Momentum, momentum
from fedspec.client.proximal import proximal_sgd
from fedspec.client.sgd import sgd
from fedspec_proofs.claim import Dropped, Finding, claim, false
from fedspec_proofs.engines import Draw, Statement, Step, Sum, all_proved, decide, every, identities, several
from fedspec_proofs.kit.adding import spoiled, summed


def _sgd(draw: Draw) -> Iterable[Any]:
    """Further step at a rate eta c: the sum increases by c g, and its other terms stay."""
    start, total, g = (draw(name, 2) for name in ("x_0", "sum", "g"))
    eta, c = draw("eta", positive=True), draw("c", positive=True)
    after = sgd(start - eta * total, g, eta_l=eta * c)
    yield from start - after - eta * (total + c * g)


def _momentum(draw: Draw) -> Iterable[Any]:
    """Identities of one more step: coefficient c of a gradient, b in the buffer, become c + rho b and rho b; the new
    one has 1, 1."""
    start, old, g, rest, held = (draw(name, 2) for name in ("x_0", "g_s", "g", "rest", "held"))
    eta, rho, c, b = several(draw, "eta, rho, c, b", positive=True)
    rho = rho / (1 + rho)
    after = momentum(Momentum(start - eta * (c * old + rest), b * old + held), g, eta_l=eta, rho=rho)
    yield from start - after.x - eta * ((c + rho * b) * old + rest + rho * held + g)
    yield from after.u - rho * b * old - rho * held - g


def _rises(draw: Draw) -> Statement:
    """The coefficients of momentum are nonnegative, and the coefficients in the sum never decrease."""
    rho, c, b = draw("rho"), draw("c"), draw("b")
    return Statement(
        {"rho": rho >= 0, "so far": every(c >= 0, b >= 0)},
        {"it rises": c + rho * b >= c, "again": every(c + rho * b >= 0, rho * b >= 0)},
    )


def _proximal() -> Dropped:
    """Two proximal steps: the first gradient's coefficient falls from 1 to 1 - alpha."""
    x, g, still = (np.array([Fraction(n)], dtype=object) for n in (0, 1, 0))
    rates: dict[str, Any] = {"eta_l": Fraction(1), "mu": Fraction(1, 2)}
    one = proximal_sgd(x, g, x, **rates)
    two = proximal_sgd(one, still, x, **rates)
    return Dropped(bool(-two[0] < -one[0]), f"proximal SGD, alpha = 1/2: {-one[0]} after one step, {-two[0]} after two")


@claim(
    "fednova.eq-69-every-k",
    statement="For SGD at any rates, decay among them, and for momentum: x_0 - x_k = eta sum_(s<k) a^(k)_s g_s after "
    "every number k <= tau of steps, with 0 <= a^(k)_s <= a_s",
    source="ours, about eqs. (69)-(75) (L526-545)",
    assumptions={
        "rho": "rho >= 0; rates are not negative",
        "solver": "the solver is SGD at rates that depend on k alone, or momentum",
    },
)
def every_k() -> Finding:
    """Proof by induction over k: one local step from any state; ``rest`` and ``held`` contain all other gradients.

    The coefficient of a gradient of SGD stays what it is; that of momentum becomes c + rho b >= c. Two coordinates are
    run, which do not mix.
    """
    parts = {
        "a step of SGD": identities({"d = 2": _sgd}),
        "a step of momentum": identities({"d = 2": _momentum}),
        "a^(k)_s <= a^(k+1)_s": decide(_rises),
    }
    found = all_proved(parts, ("rho",))
    return Finding(found.verdict, found.evidence, {**found.dropped, "solver": _proximal()}, found.second)


def young(draw: Draw) -> Statement:
    """Young's inequality |u + v|^2 <= 2 |u|^2 + 2 |v|^2, in one coordinate."""
    u, v = draw("u"), draw("v")
    return Statement({}, {"Young": (u + v) ** 2 <= 2 * u**2 + 2 * v**2})


def one_more(draw: Draw) -> Statement:
    """Induction step of |sum a_s g_s|^2 <= (sum a_s) sum a_s |g_s|^2 in one coordinate, adding a gradient."""
    total, weight, squares, a, g = several(draw, "sum, weight, squares, a, g")
    given = {
        "so far": every(total**2 <= weight * squares, weight >= 0, squares >= 0),
        "positive": a >= 0,
    }
    return Statement(given, {"Cauchy": (total + a * g) ** 2 <= (weight + a) * (squares + a * g**2)})


def slopes(draw: Draw) -> Statement:
    """|grad F(y)|^2 <= 2 L^2 |y - x|^2 + 2 |grad F(x)|^2, from squared lengths and inner products."""
    here2, change2, both, L, away2 = several(draw, "here2, change2, both, L, away2")
    given = {
        "smooth": change2 <= L**2 * away2,
        "Cauchy-Schwarz": every(here2 >= 0, change2 >= 0, both**2 <= here2 * change2),
    }
    return Statement(given, {"at y": here2 + 2 * both + change2 <= 2 * L**2 * away2 + 2 * here2})


def _numbers(rng: np.random.Generator) -> dict[str, Fraction]:
    """Gradients and weights in the sums, chosen to meet the sums' assumptions."""
    a, g, c, h = (Fraction(int(n), 4) for n in rng.integers(-8, 9, size=4))
    a, c = abs(a), abs(c)
    cauchy = {"sum": a * g, "weight": a, "squares": a * g**2, "a": c, "g": h}
    return {**cauchy, "here2": g**2, "change2": h**2, "both": g * h, "L": Fraction(1), "away2": h**2 + c}


@claim(
    "fednova.drift-lines",
    statement="The lines 'Young', 'Cauchy', 'Jensen' and 'slopes' of the assemblies: |u + v|^2 <= 2 |u|^2 + 2 |v|^2; "
    "|sum a_s g_s|^2 <= (sum a_s) sum a_s |g_s|^2; |grad F(y)|^2 <= 2 L^2 |y - x|^2 + 2 |grad F(x)|^2",
    source="ours, for eqs. (60), (64) and (70)-(84) (L493-575)",
    assumptions={
        "positive": "weights are not negative",
        "smooth": "gradients change by at most L |y - x| (Assumption 1)",
        "Cauchy-Schwarz": "the product of two vectors is at most that of their lengths",
    },
)
def lines() -> Finding:
    """Proof per coordinate or in squared lengths, so for every dimension; sums by induction over the summands."""
    parts = {
        "Young": decide(young, ablate=False),
        "Cauchy": decide(one_more, sample=_numbers),
        "slopes": decide(slopes, sample=_numbers),
    }
    return all_proved(parts, ("positive", "smooth", "Cauchy-Schwarz"))


DRIFT = {
    "eq. (69)": "sum_k a_k E|x - x_k|^2/||a||_1 = eta^2 M, M the same mean of E|sum_(s<k) a^(k)_s g_s|^2: "
    "fednova.eq-69-every-k",
    "Young": "M <= 2 V + 2 U: V of the noise, U of the exact gradients: fednova.drift-lines",
    "Lemma 2": "V <= sigma^2 N2, N2 = sum_k a_k sum_(s<k) a_s^2/||a||_1: fednova.lemma-2, Assumption 2, a^(k)_s <= a_s",
    "Cauchy": "U <= N1 P, N1 = sum_k a_k sum_(s<k) a_s/||a||_1, P = sum_s a_s E|grad F_i(x_s)|^2 over all tau steps: "
    "fednova.drift-lines, a^(k)_s <= a_s",
    "(76)": "N2 <= ||a||_2^2 - a_(-1)^2: fednova.eq-76",
    "(78)": "N1 <= ||a||_1 - a_(-1): fednova.eq-78",
    "slopes": "P <= 2 ||a||_1 (L^2 S + |grad F_i(x)|^2): fednova.drift-lines",
    "C": "||a||_1 (||a||_1 - a_(-1)) <= C, the largest over the clients",
}


def client(draw: Draw) -> Sum:
    """Steps (82)-(86), not solved for S; b is ||a||_2^2 - a_(-1)^2, before ||a||_1 - a_(-1), G |grad F_i(x)|^2.

    The right side is that of (86) times the divisor of (87).
    """
    eta, L, sigma2, C, b = several(draw, "eta, L, sigma2, C, b", positive=True)
    before, last, S, G, P = several(draw, "before, last, S, G, P", positive=True)
    M, V, U, N1, N2 = several(draw, "M, V, U, N1, N2")
    norm = before + last
    steps = {
        "eq. (69)": Step(1, S, eta**2 * M),
        "Young": Step(eta**2, M, 2 * V + 2 * U),
        "Lemma 2": Step(2 * eta**2, V, sigma2 * N2),
        "Cauchy": Step(2 * eta**2, U, N1 * P),
        "(76)": Step(2 * eta**2 * sigma2, N2, b),
        "(78)": Step(2 * eta**2 * P, N1, before),
        "slopes": Step(2 * eta**2 * before, P, 2 * norm * (L**2 * S + G)),
        "C": Step(4 * eta**2 * (L**2 * S + G), norm * before, C),
    }
    right = {"noise": 2 * eta**2 * sigma2 * b, "drift": 4 * eta**2 * L**2 * C * S, "slope": 4 * eta**2 * C * G}
    return Sum(steps, S, right)


@claim(
    "fednova.drift-assembly",
    statement="S <= 2 eta^2 sigma^2 (||a_i||_2^2 - a_(i,-1)^2) + 4 eta^2 C (L^2 S + |grad F_i(x)|^2) for S = sum_k a_k "
    "E|x - x_k|^2/||a_i||_1 of a client: the steps that are assumed here add up to it, for every tau and dimension",
    source="ours: eqs. (69)-(86) (L526-585)",
    assumptions=DRIFT,
    chain="eq-69-every-k drift-lines lemma-2 eq-76 eq-78",
)
def assembly() -> Finding:
    """Proof by adding the steps. Summed over clients with weights w_i, B is in the first term; C bounds all."""
    return summed(client, DRIFT)


@false("fednova.drift-half-slope", of=assembly, statement="They add up with 2 eta^2 C |grad F_i(x)|^2")
def half_of_the_slope() -> Finding:
    """Refuted: Young's inequality is used twice, for the noise and for the gradients at later models."""
    return spoiled(client, "slope")
