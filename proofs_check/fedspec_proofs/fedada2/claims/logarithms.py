"""Lemma 22: the sum of the server's shares Delta_t^2/v_t is at most a logarithm.

Lemma 21: the double sum of b^(t-r) (t-r)^2 at the end of the proof of Theorem 20.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.server.adagrad import Adaptive, adagrad
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Second, Verdict, claim
from fedspec_proofs.engines import Choose, Draw, Statement, decide, enclosure, exact, real, several
from fedspec_proofs.engines.search import Inequality, Sides, searched
from fedspec_proofs.engines.smt import Induction, Proof, every
from fedspec_proofs.fedada2.kit.bounds import c
from fedspec_proofs.fedada2.kit.inductive import inductive, patient
from fedspec_proofs.fedada2.kit.rational import F
from fedspec_proofs.kit.adding import confirmed

LEMMA_21 = "Lemma 21 (L1054)"
LOGIC = "QF_NRA"
RATES = tuple(F(k, 20) for k in range(20))


def double_sum(b: Fraction, T: int) -> Fraction:
    """Sum over t <= T and r <= t of b^(t-r) (t-r)^2, term by term."""
    return sum((b ** (t - r) * (t - r) ** 2 for t in range(1, T + 1) for r in range(1, t + 1)), start=F(0))


def _tail() -> tuple[Proof, Proof]:
    """The induction of Lemma 21 from T = u_0 + 1 on, its first state and its step.

    A is the sum of b^u u^2 over u < T, C that over u <= u_0, S the double sum, w = b^T T^2 the newest term.
    """
    A, S, T, w, C, u0 = (real(name) for name in ("A", "S", "T", "w", "C", "u0"))

    def known(A: Any, S: Any, T: Any) -> dict[str, Any]:
        return {
            "A <= C + 1/u_0 - 1/(T - 1)": A * u0 * (T - 1) <= C * u0 * (T - 1) + T - 1 - u0,
            "S <= (C + 1/u_0) T": u0 * S <= (u0 * C + 1) * T,
        }

    cut_off = {"u_0 >= 1 and C >= 0": every(u0 >= 1, C >= 0)}
    start = {
        **cut_off,
        "every inner sum so far is at most C": C * (u0 + 1) >= S,
    }
    first = patient(known(C, S, u0 + 1), start, logic=LOGIC)
    terms = {"b^T T^4 <= 1 and T >= u_0 + 1": every(w >= 0, w * T * T <= 1, u0 + 1 <= T)}
    # One more round adds an inner sum of its own, which has one term more than the one before.
    return first, patient(known(A + w, S + A + w, T + 1), {**cut_off, **terms, **known(A, S, T)}, logic=LOGIC)


@claim(
    "fedada2.lemma-21",
    statement="sum over t <= T, r <= t of b^(t-r) (t-r)^2 <= c(b) T for every T and b in [0, 1)",
    source=LEMMA_21,
    extent=Extent.WHOLE,
    assumptions={"0 <= b < 1": "the server's beta1", "1 in N": "u_0 >= 1: with u_0 = 0 the integral is infinite"},
)
def lemma_21() -> Finding:
    """Induction over T from u_0 + 1 on: sum of b^u u^2 below T <= its part up to u_0 plus 1/u_0 - 1/(T - 1).

    Up to T = u_0 + 1 every inner sum is a part of the one up to u_0, since its terms are not negative. That b^u u^4 < 1
    from u_0 on is what u_0 is defined by. The typed double sum, term by term, is then compared at 20 rates and T <= 40.
    """
    first, step = _tail()
    if not (first and step):
        return Finding(Verdict.UNKNOWN, f"{first}\n{step}")
    worst, count = F(0), 0
    for b in RATES:
        for T in range(1, 41):
            worst, count = max(worst, double_sum(b, T) / (c(b) * T)), count + 1
            if worst > 1:
                return Finding(Verdict.REFUTED, f"b = {b}, T = {T}")
    b = F(21, 20)
    outside = double_sum(b, 40) / 40
    return Finding(
        Verdict.PROVED,
        f"{first}\n{step}\nlargest left/right {float(worst):.4f} at {count} pairs of b and T",
        {
            "0 <= b < 1": Dropped(True, f"b = {b} has no u_0; the sum over T is {float(outside):.0f} at T = 40"),
            "1 in N": Dropped(False, "u_0 = 0 makes the right side infinite: true and void"),
        },
        Second(Engine.EXACT, count, "both sides in fractions, the left term by term"),
    )


TRIES = 1200
LEMMA_22 = "Lemma 22 (L1067)"


@dataclass(frozen=True)
class Changes:
    """Mean changes of T rounds in one coordinate, with constants.

    Attributes:
        deltas: Delta_1, ..., Delta_T.
        phi: bound of the changes.
        tau, v0, b: tau, v0 and beta1 of the server.
    """

    deltas: Vector
    phi: Fraction
    tau: Fraction
    v0: Fraction
    b: Fraction


def _changes(choose: Choose) -> Changes:
    tau = choose.of(F(1), F(1, 10), F(1, 1000), F(3))
    phi = choose.of(F(1), F(1, 2))
    deltas = exact.vector(*(choose.of(phi, phi / 100, F(0), -phi, 4 * phi) for _ in range(choose.whole(1, 12))))
    return Changes(deltas, phi, tau, tau**2 * choose.of(F(1), F(2), F(1, 100)), choose.of(F(0), F(1, 2), F(9, 10)))


def _weighted(s: Changes) -> float:
    """(1 - b) sum_t sum_r b^(t-r) Delta_t^2 / v_t, with v_t from the server's rule, in floating point."""
    state = Adaptive(x=np.zeros(1), m=np.zeros(1), v=np.full(1, float(s.v0)), t=0)
    total, b = 0.0, float(s.b)
    for t, delta in enumerate(s.deltas, 1):
        state = adagrad(state, np.full(1, float(delta)), eta=1.0, beta1=b, tau=float(s.tau))
        total += sum((1 - b) * b ** (t - r) for r in range(1, t + 1)) * float(delta) ** 2 / float(state.v[0])
    return total


def _logarithm(draw: Draw) -> Induction[Any]:
    """Round by round: log(v_t/v_(t-1)) is 1 - v_(t-1)/v_t and something s that is not negative (log-step)."""
    delta, s, weight = draw("delta", 1), draw("s"), draw("weight")
    one = delta * 0 + 1

    def step(state: dict[str, Any]) -> dict[str, Any]:
        before = Adaptive(x=delta * 0, m=delta * 0, v=state["v"], t=0)
        after = adagrad(before, delta, eta=F(1), beta1=F(0), tau=F(1))
        share = delta[0] ** 2 / after.v[0]
        grown = 1 - before.v[0] / after.v[0] + s
        return {"v": after.v, "sum": state["sum"] + weight * share, "log": state["log"] + grown}

    def invariant(state: dict[str, Any]) -> dict[str, Any]:
        return {
            "v_t > 0": state["v"][0] > 0,
            "the sum <= log(v_t/v_0)": state["sum"] <= state["log"],
        }

    inputs = {
        "0 <= b < 1": every(weight >= 0, weight <= 1),
        "log-step": s >= 0,
    }
    initial = {"v": one, "sum": s * 0, "log": s * 0}
    arbitrary = {"v": draw("v", 1), "sum": draw("sum"), "log": draw("log")}
    return Induction(initial, arbitrary, step, inputs, invariant, lambda _, after: invariant(after))


@claim(
    "fedada2.lemma-22-sharper",
    statement="The sum of Lemma 22 is at most log(1 + sum_l Delta_l^2 / v_0), without its 1 - b",
    source="ours, about Lemma 22 (L1067)",
    assumptions={
        "0 <= b < 1": "so that (1 - b) sum_r b^(t-r) = 1 - b^t lies in [0, 1]",
        "log-step": "log(1 + x) >= x / (1 + x), claim fedada2.log-step",
        "v_0 > 0": "the server's second moment starts above 0; tau^2 in the lemma",
    },
    chain="log-step",
)
def sharper_22() -> Finding:
    """Induction over the server's rounds; log(v_T/v_0) is the right side, since v is a sum.

    v_0 = 1: changes in units of sqrt(v_0) alter neither side. The weight 1 - b^t of a round is any number of [0, 1].
    Rational bounds of the logarithm then look at whole runs.
    """
    found = inductive({"any T": _logarithm}, numerals=True)
    rng, count = exact.generator(), 0
    for _ in range(60):
        b, v, left = F(1, 2), F(1, int(rng.integers(1, 50))), F(0)
        first = v
        for t in range(1, int(rng.integers(2, 9))):
            after = v + F(int(rng.integers(0, 9)), 4) ** 2
            left, v = left + (1 - b**t) * (after - v) / after, after
        if left > enclosure.log(v / first)[0] and left > 0:
            return Finding(Verdict.REFUTED, f"v_0 = {first}, v_T = {v}: {left}")
        count += 1
    if found.second is None:
        return found
    void = Dropped(False, "the right side has no meaning at v_0 = 0")
    second = replace(found.second, instances=found.second.instances + count)
    return replace(found, second=second, dropped={**found.dropped, "v_0 > 0": void})


def _weaker(draw: Draw) -> Statement:
    """The sum S of Lemma 22 from S <= log(1 + s/v_0), s = sum_l Delta_l^2; second is log(1 + T Phi^2/tau^2).

    The first is at most the second as the logarithm rises, once s/v_0 <= T Phi^2/tau^2.
    """
    S, first, second, s, v0, squares, tau2, b = several(draw, "S, first, second, s, v0, T Phi^2, tau^2, b")
    given = {
        "lemma-22-sharper": first >= S,
        "the logarithm rises": first <= second,
        "|Delta| <= Phi": every(s >= 0, s <= squares),
        "v_0 >= tau^2": every(v0 >= tau2, tau2 > 0),
        "b < 1": b < 1,
    }
    return Statement(given, {"s/v_0 <= T Phi^2/tau^2": s * tau2 <= squares * v0, "Lemma 22": 1 - b + second >= S})


def _sums(rng: np.random.Generator) -> dict[str, Fraction]:
    s, tau2 = F(int(rng.integers(0, 9))), F(int(rng.integers(1, 9)), 4)
    return {
        "s": s,
        "T Phi^2": 2 * s,
        "tau^2": tau2,
        "v0": tau2,
        "S": F(0),
        "first": s / tau2,
        "second": 2 * s / tau2,
    } | {"b": F(int(rng.integers(0, 8)), 8)}


@claim(
    "fedada2.lemma-22",
    statement="(1 - b) sum_t sum_r b^(t-r) Delta_t^2 / (sum_l Delta_l^2 + tau^2) <= 1 - b + log(1 + T Phi_1^2 / tau^2)",
    source=LEMMA_22,
    extent=Extent.WHOLE,
    assumptions={
        "|Delta| <= Phi": "what Phi_1 stands for; the lemma does not say it",
        "v_0 >= tau^2": "the server's sum starts at tau^2 or above",
    },
)
def lemma_22() -> Finding:
    """Proof from ``fedada2.lemma-22-sharper``: the logarithm's argument is at most T Phi^2/tau^2, and 1 - b is
    positive.

    The second engine looks for violations through the server's own second moment.
    """
    whole, weaker = sharper_22.body(), decide(_weaker, ablate=False, sample=_sums)

    def sides(s: Changes) -> Iterable[Sides]:
        T = len(s.deltas)
        yield _weighted(s), float(1 - s.b) + log(1 + T * float(s.phi / s.tau) ** 2)

    met = {
        "|Delta| <= Phi": lambda s: bool((abs(s.deltas) <= s.phi).all()),
        "v_0 >= tau^2": lambda s: bool(s.v0 >= s.tau**2),
    }
    looked = searched(Inequality(_changes, met, sides), TRIES)
    return confirmed((whole, weaker), looked, TRIES)
