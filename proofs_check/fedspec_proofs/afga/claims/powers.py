"""Eq. (56): how much larger a power of one eigenvalue is than that of the other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

from fedspec_proofs.claim import AFGA, Dropped, Engine, Extent, Finding, Second, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.reals import Real, real
from fedspec_proofs.engines.smt import Induction, every, prove


@dataclass(frozen=True)
class Powers:
    """s_j, lambda_2^j, lambda_1^j and j."""

    s: Any
    P: Any
    Q: Any
    j: Any


@claim(
    "afga.eq-56",
    statement="s_j <= lambda_2^(j-1) min(lambda_2/(lambda_2 - lambda_1), j) <= lambda_2^j min(1/(lambda_2 - "
    "lambda_1), j) for every j >= 1",
    source=Source(AFGA, "Lemma F.3, eq. (56) (L3232-3246)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
    assumptions={
        "lambda_1 >= 0": "the determinant of G is not negative",
        "lambda_1 < lambda_2": "the eigenvalues differ; named in order",
        "lambda_2 >= 1": "lambda_2 >= C_I",
    },
)
def eq_56() -> Finding:
    """By induction over j, s_(j+1) = lambda_2 s_j + lambda_1^j; both parts of the minimum, multiplied out."""
    low, high = real("lambda_1"), real("lambda_2")
    inputs = {
        "lambda_1 >= 0": low >= 0,
        "lambda_1 < lambda_2": low < high,
        "lambda_2 >= 1": high >= 1,
    }

    def invariant(w: Powers) -> dict[str, Any]:
        return {
            "s (lambda_2 - lambda_1) = P - Q": w.s * (high - low) == w.P - w.Q,
            "lambda_2 s <= j P": high * w.s <= w.j * w.P,
            "Q <= P, 0 <= Q, 0 < P, s >= 0, j >= 1": every(w.Q <= w.P, w.Q >= 0, w.P > 0, w.s >= 0, w.j >= 1),
        }

    def shown(_: Powers, after: Powers) -> dict[str, Any]:
        return {
            "s (lambda_2 - lambda_1) <= P": after.s * (high - low) <= after.P,
            "s <= j P": after.s <= after.j * after.P,
        }

    def step(w: Powers) -> Powers:
        return Powers(high * w.s + w.Q, high * w.P, low * w.Q, w.j + 1)

    start, any_j = Powers(Real(1), high, low, Real(1)), Powers(*(real(n) for n in ("s", "P", "Q", "j")))
    base = prove({**invariant(start), **shown(start, start)}, inputs)
    answers = (base, Induction(start, any_j, step, inputs, invariant, shown).prove()[1])
    count, rng = 0, exact.generator()
    for _ in range(60):
        low_q = F(int(rng.integers(0, 9)), 8)
        high_q = max(F(1), low_q) + F(int(rng.integers(1, 9)), 8)
        for j in range(1, 7):
            if not _as_printed(low_q, high_q, j):
                return Finding(Verdict.UNKNOWN, f"fractions disagree at {low_q}, {high_q}, j = {j}")
            count += 1
    by_hand = {
        "lambda_1 >= 0": (F(-1), F(1), 1),
        "lambda_1 < lambda_2": (F(2), F(1), 2),
        "lambda_2 >= 1": (F(0), F(1, 2), 1),
    }
    dropped = {
        name: Dropped(not _as_printed(*at), f"by hand: lambda_1 = {at[0]}, lambda_2 = {at[1]}, j = {at[2]}")
        for name, at in by_hand.items()
    }
    return Finding(
        Verdict.PROVED if all(answers) else Verdict.UNKNOWN,
        "\n".join(map(str, answers)),
        dropped,
        Second(Engine.EXACT, count, "eigenvalues and powers as fractions"),
    )


def _as_printed(low: F, high: F, j: int) -> bool:
    s, gap, times = (high**j - low**j) / (high - low), high - low, F(j)
    middle = high ** (j - 1) * min(high / gap, times)
    return bool(s <= middle <= high**j * min(1 / gap, times))
