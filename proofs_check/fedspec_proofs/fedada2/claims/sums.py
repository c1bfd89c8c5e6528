"""Lemma 21: the double sum of b^(t-r) (t-r)^2 at the end of the proof of Theorem 20."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fedspec_proofs.claim import FEDADA2, Dropped, Engine, Extent, Finding, Second, Source, Verdict, claim
from fedspec_proofs.engines.reals import real
from fedspec_proofs.engines.smt import Proof, every
from fedspec_proofs.fedada2.kit.bounds import c
from fedspec_proofs.fedada2.kit.inductive import patient
from fedspec_proofs.fedada2.kit.rational import F

LEMMA_21 = Source(FEDADA2, "Lemma 21 (L1054)")
LOGIC = "QF_NRA"
RATES = tuple(F(k, 20) for k in range(20))


def double_sum(b: Fraction, T: int) -> Fraction:
    """sum over t <= T and r <= t of b^(t-r) (t-r)^2, term by term."""
    return sum((b ** (t - r) * (t - r) ** 2 for t in range(1, T + 1) for r in range(1, t + 1)), start=F(0))


def _tail() -> tuple[Proof, Proof]:
    """The induction of Lemma 21 from T = u_0 + 1 on, its first state and its step.

    A is the sum of b^u u^2 over u < T, C that over u <= u_0, S the double sum, w = b^T T^2 the newest term.
    """
    A, S, T, w, C, u0 = (real(name) for name in ("A", "S", "T", "w", "C", "u0"))

    def known(A: Any, S: Any, T: Any) -> dict[str, Any]:
        return {
            "A <= C + 1/u_0 - 1/(T - 1)": every(
                A * u0 * (T - 1) <= C * u0 * (T - 1) + T - 1 - u0,
            ),
            "S <= (C + 1/u_0) T": every(
                u0 * S <= (u0 * C + 1) * T,
            ),
        }

    cut_off = {"u_0 >= 1 and C >= 0": every(u0 >= 1, C >= 0)}
    start = {
        **cut_off,
        "every inner sum so far is at most C": every(
            C * (u0 + 1) >= S,
        ),
    }
    first = patient(known(C, S, u0 + 1), start, logic=LOGIC)
    terms = {"b^T T^4 <= 1 and T >= u_0 + 1": every(w >= 0, w * T * T <= 1, u0 + 1 <= T)}
    # One more round adds an inner sum of its own, which has one term more than the one before.
    return first, patient(known(A + w, S + A + w, T + 1), {**cut_off, **terms, **known(A, S, T)}, logic=LOGIC)


@claim(
    "fedada2.lemma-21",
    statement="sum over t <= T, r <= t of b^(t-r) (t-r)^2 <= c(b) T for every T and b in [0, 1)",
    source=LEMMA_21,
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
    assumptions={"0 <= b < 1": "the server's beta1", "1 in N": "u_0 >= 1: with u_0 = 0 the integral is infinite"},
)
def lemma_21() -> Finding:
    """Induction over T from u_0 + 1 on: the sum of b^u u^2 below T is at most its part up to u_0 and 1/u_0 - 1/(T - 1).

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
