"""The steps y_t taken along the momentum, and the sum of their squares."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from fedspec_proofs.adding import confirmed
from fedspec_proofs.claim import CLIENT_CENTRIC, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric import every_size
from fedspec_proofs.client_centric.every_size import shown
from fedspec_proofs.client_centric.momentum import weights
from fedspec_proofs.client_centric.momentum_sums import Path, any_path
from fedspec_proofs.client_centric.steps import rooted
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.combine import all_refuted
from fedspec_proofs.engines.search import Inequality, searched
from fedspec_proofs.refutation import refutation


@claim(
    "client-centric.y-t",
    statement="sum_(t < T) |y_t|^2 <= (1 / (4 eps^2)) sum_(t < T) |d_t|^2 with y_t = d_(t+1) / (sqrt(v_(t+1)) + eps), "
    "in either index of d_t (that of L579 and that of L917); the line after it is right",
    source=Source(CLIENT_CENTRIC, "sum of the |y_t|^2 (L954-962)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def steps_taken() -> Finding:
    """An index that is off by one: d_t has not seen what d_(t+1) has. With d_(t+1) on the right it holds."""
    left, _, later = _taken(Fraction(0))
    conditions = {
        "v_0 = 5^2 - 4^2 >= eps^2": 5**2 - 4**2 >= 3**2,
        "with d_1 in place of d_0 it holds": left <= later,
    }
    # In the index of L917, d_0 = Delta_0 and d_1 = Delta_1 for beta = 0.
    zero, first = exact.vector(0), weights([Fraction(0)] * 2, 1)
    return all_refuted(
        refutation(
            instance="L579's index: T = 1, eps = 3, v_0 = 9, beta = 0, Delta_0 = 4, CC-FedAdagrad",
            conditions=conditions,
            left=left,
            right=Fraction(0),
        ),
        refutation(
            instance="L917's index: T = 1, eps = 3, v_0 = 9, beta = 0, Delta_0 = 0, Delta_1 = 4, CC-FedAdagrad",
            conditions={**conditions, "d_1 = Delta_1": first == [0, 1]},
            left=left,
            right=(zero @ zero) / (4 * 9),
        ),
    )


def _taken(beta: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """|y_0|^2, |d_0|^2 / (4 eps^2) and |d_1|^2 / (4 eps^2) in one round through the rule, roots 3 and 5."""
    zero, delta, eps = exact.vector(0), exact.vector(4), Fraction(3)
    after = rooted("adagrad", zero, zero, delta, exact.vector(5), eta=Fraction(1), beta=beta, eps=eps)
    y, d = after.x, after.m
    return (y @ y), Fraction(0), (d @ d) / (4 * eps**2)


def _rounds(index: int) -> Inequality[Path]:
    def sides(path: Path) -> Any:
        eps, left = Fraction(1), Fraction(0)
        p, m = exact.vector(1), exact.vector(0)
        ds = [m]
        for s, beta in zip(path.changes, path.betas, strict=True):
            # A Pythagorean change: s parametrises it.
            s = s / 5
            delta, q = p * 2 * s / (1 - s**2), p * (1 + s**2) / (1 - s**2)
            after = rooted("adagrad", m * 0, m, delta, q, eta=Fraction(1), beta=beta, eps=eps)
            left += after.x @ after.x
            p, m = q, after.m
            ds.append(m)
        chosen = ds[index : len(path.changes) + index]
        yield left, sum(d @ d for d in chosen) / (4 * eps**2)

    return Inequality(lambda choose: any_path(choose, True), {"v_0": lambda path: True}, sides)


@claim(
    "client-centric.y-t-repaired",
    statement="sum_(t < T) |y_t|^2 <= (1 / (4 eps^2)) sum_(t < T) |d_(t+1)|^2",
    source=Source(CLIENT_CENTRIC, "ours: sum of the |y_t|^2 (L954-962), corrected"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"v_0": "v_0 >= eps^2"},
    repairs="client-centric.y-t",
)
def steps_taken_repaired() -> Finding:
    """A coordinate of a step is that of the momentum over a root of at least 2 eps, round by round.

    Looked at: up to five rounds of CC-FedAdagrad in fractions, v_0 = eps^2 = 1; the printed index falls over the same.
    """
    found, printed = searched(_rounds(1), 600, drop=0), searched(_rounds(0), 200, drop=0)
    if printed.verdict is not Verdict.REFUTED:
        return Finding(Verdict.UNKNOWN, f"the printed index does not fall: {printed.evidence}")
    d = exact.vector("1/10")
    q = exact.vector("1/10")
    free = rooted("adagrad", d * 0, d, d, q, eta=Fraction(1), beta=Fraction(0), eps=Fraction(1)).x
    lost = Dropped(bool(free @ free > d @ d / 4), f"eps = 1, v_0 = 0, Delta_0 = 1/10: |y_0|^2 = {free @ free}")
    proof = shown(every_size.a_1, sample=every_size.nearby)
    return confirmed(proof, replace(found, dropped={"v_0": lost}), 600)
