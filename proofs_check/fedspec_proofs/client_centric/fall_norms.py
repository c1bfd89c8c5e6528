"""Two norms of one fall of the preconditioner, and how large a fall may be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec.arith import Vector, sqrt
from fedspec_proofs.claim import CLIENT_CENTRIC, Engine, Finding, Source, Verdict, claim, false
from fedspec_proofs.client_centric.steps import increments
from fedspec_proofs.client_centric.telescoping import telescoping
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.combine import all_refuted
from fedspec_proofs.engines.search import Inequality, searched
from fedspec_proofs.refutation import refutation


@dataclass(frozen=True)
class Fall:
    """Two roots of CC-FedAdagrad's v in one round, for every coordinate."""

    p: Vector
    delta: Vector
    eps: Fraction

    def falls(self) -> Vector:
        """|a_t - a_(t+1)|, through the rule."""
        after = increments("adagrad", self.p, self.p, self.delta)
        out: Vector = abs(1 / (self.p + self.eps) - 1 / (sqrt(after) + self.eps))
        return out


def _fall(choose: Choose) -> Fall:
    d = choose.whole(1, 3)
    # From v = 0 every root is rational.
    return Fall(exact.vector(*[0] * d), choose.array(d, low=0, high=3), choose.of(Fraction(1), Fraction(1, 2)))


def _norms(reverse: bool) -> Inequality[Fall]:
    def sides(f: Fall) -> Any:
        falls = f.falls()
        length, total = falls @ falls, sum(falls) ** 2
        return [(total, length)] if reverse else [(length, total)]

    return Inequality(_fall, {"one round": lambda f: True}, sides)


@claim(
    "client-centric.telescoping-norms",
    statement="The Euclidean length of a_t - a_(t+1) is the sum of its coordinates' absolute values: an equality as "
    "converted, of which the proof needs no more than the inequality",
    source=Source(CLIENT_CENTRIC, "sum of the falls, first line (L875), with the norm of L851-864"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def norms() -> Finding:
    """Printed with the sign of equality; in two coordinates falls of 3/10 and 4/10 have length 1/2. Squares
    compared.
    """
    f = Fall(exact.vector(0, 0), exact.vector("3/7", "2/3"), Fraction(1))
    falls = f.falls()
    return all_refuted(
        refutation(
            instance=f"d = 2, eps = 1, v_t = 0, Delta_t = (3/7, 2/3), CC-FedAdagrad: falls {falls[0]} and "
            f"{falls[1]}; squares",
            conditions={"v_hat does not fall": bool(all(f.delta**2 >= 0))},
            left=falls @ falls,
            right=sum(falls) ** 2,
            relation="=",
        ),
        searched(_norms(True), 300, drop=0),
    )


@claim(
    "client-centric.telescoping-norms-repaired",
    statement="The Euclidean length of a_t - a_(t+1) is at most the sum of its coordinates' absolute values",
    source=Source(CLIENT_CENTRIC, "ours: sum of the falls, first line (L875), corrected"),
    engine=Engine.SEARCH,
    verdict=Verdict.CHECKED,
    repairs="client-centric.telescoping-norms",
)
def norms_repaired() -> Finding:
    """The same instances; what follows needs no more. The norm of any vector is no longer than its sum of sizes."""
    return searched(_norms(False), 600, drop=0)


@false(
    "client-centric.telescoping-half",
    of=telescoping,
    statement="sum_t |a_t - a_(t+1)|_1 <= d / (4 eps) for CC-FedAdagrad with v_0 >= eps^2",
)
def telescoping_half() -> Finding:
    """One large change makes most of the fall; 9 plus its square is a square."""
    one = Fall(exact.vector(3), exact.vector("540/19"), Fraction(3))
    return refutation(
        instance="d = 1, eps = 3, v_0 = 9, T = 1, Delta_0 = 540/19, CC-FedAdagrad",
        conditions={"v_0 >= eps^2": bool(all(one.p >= one.eps))},
        left=one.falls()[0],
        right=Fraction(1, 12),
    )
