"""The bracket that the proof merges from G_1 and G_2, and what it loses: the variance of drawing clients."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms.cc_fedsgd import CCFedSGD, cc_fedsgd, init
from fedspec.arith import Array
from fedspec.plan import Arrival, Setup
from fedspec_proofs.claim import CLIENT_CENTRIC, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric.participation import at_any_size, buffers, one
from fedspec_proofs.client_centric.problems import Clients, huber
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.expectation import subsets
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.engines.search import Inequality
from fedspec_proofs.refutation import refutation


@dataclass(frozen=True)
class Vectors:
    """What the clients would send, one number each, and the size of the buffer."""

    v: Array
    m: int

    @property
    def n(self) -> int:
        """How many clients there are."""
        return len(self.v)

    @property
    def G_1(self) -> Any:
        """sum |v_i|^2."""
        return sum(one @ one for one in self.v)

    @property
    def G_2(self) -> Any:
        """sum over ordered pairs of |v_i - v_j|^2."""
        return sum((one - other) @ (one - other) for one in self.v for other in self.v)

    @property
    def bracket(self) -> Any:
        """(1/(8 m^2)) E |sum over S|^2 - (1/(4 n^2)) |sum|^2, by every draw."""
        total = self.v.sum(axis=0)
        return buffers(self.v, self.m)[1] / 8 - (total @ total) / (4 * self.n**2)


def _vectors(choose: Choose) -> Vectors:
    n = choose.whole(2, 4)
    return Vectors(choose.array(n, 1, low=-2, high=2, denominator=2), choose.whole(1, n))


def _pairs(factor: Any) -> Inequality[Vectors]:
    return Inequality(_vectors, {"vectors": lambda v: True}, lambda v: [(v.G_2, factor(v.n) * v.G_1)])


def _opposed() -> Vectors:
    """What the two clients of the refuted theorem send from x = 0, through CC-Local, in units of eta_l."""
    clients = Clients(((huber(1, 2),), (huber(-1, 2),)))
    h = CCFedSGD(buffer=1, eta_l=exact.number(1), eta=exact.number(1))
    state = init(h, exact.vector(0), Setup((1, 1), {"w": (1,)}))
    oracles = [clients.oracle(0), clients.oracle(1)]
    sent = [cc_fedsgd(h, state, oracles, Arrival(i, 1, 0))[1]["delta_i"] for i in range(2)]
    return Vectors(np.stack(sent), 1)


@claim(
    "client-centric.bracket",
    statement="(1/(8 m^2)) E |sum over S_t v_i|^2 - (1/(4 n^2)) |sum v_i|^2 is not positive",
    source=Source(CLIENT_CENTRIC, "L1041-1057"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def bracket() -> Finding:
    """Positive wherever m < n and the vectors add up to zero: this loses the variance of drawing clients."""
    v = _opposed()
    return refutation(
        instance="n = 2, m = 1, the clients of the refuted theorem at x = 0 send 1 and -1; both draws",
        conditions={
            "both draws are equally likely": len({p for p, _ in subsets(2, 1)}) == 1,
            "the printed combination of G_1 and G_2": v.bracket == _combination(v),
        },
        left=v.bracket,
        right=Fraction(0),
    )


def _combination(v: Vectors) -> Any:
    """(-1/(4n) + 1/(8n)) G_1 + (1/(8 n^2) - (m-1) / (16 m n (n-1))) G_2, as at L1044."""
    n, m = v.n, v.m
    return -Fraction(1, 8 * n) * v.G_1 + (Fraction(1, 8 * n**2) - Fraction(m - 1, 16 * m * n * (n - 1))) * v.G_2


@claim(
    "client-centric.bracket-repaired",
    statement="The bracket is ((n - m) / (8 m (n - 1))) s^2 - (1/(8 n^2)) |sum v_i|^2, s^2 = (1/n) sum |v_i - mean|^2, "
    "hence at most the first of the two",
    source=Source(CLIENT_CENTRIC, "ours: L1041-1057, corrected"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"uniform": "every set of m clients is equally likely"},
    repairs="client-centric.bracket",
)
def bracket_repaired() -> Finding:
    """For symbols n and m, then at sizes through the rule; equality where the vectors add up to zero."""
    return identities(at_any_size("bracket"), without={"uniform": one("bracket, first")}, instances=5)
