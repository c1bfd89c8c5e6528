"""G_1 and G_2, and what the proof makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms.cc_fedsgd import CCFedSGD, cc_fedsgd, init
from fedspec.arith import Array
from fedspec.plan import Arrival, Setup
from fedspec_proofs.claim import CLIENT_CENTRIC, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric.participation import at_any_size, buffers, everybody_at_any_size, one
from fedspec_proofs.client_centric.problems import Clients, huber
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.combine import all_refuted
from fedspec_proofs.engines.expectation import subsets
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.engines.search import Inequality, searched
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
    "client-centric.g-2",
    statement="G_2 <= 2 (n - 1) G_1, G_2 over ordered pairs as the 1/2 of the first identity needs them",
    source=Source(CLIENT_CENTRIC, "L1057"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def pairs() -> Finding:
    """Two opposite vectors: G_2 = 8, G_1 = 2, and n = 2."""
    v = _opposed()
    return all_refuted(
        refutation(
            instance=f"n = 2, what two Huber clients around 1 and -1 send from x = 0: {v.v[0][0]} and {v.v[1][0]}",
            conditions={
                "G_1 and G_2 as defined at L1048-1056": v.G_1 == 2 and v.G_2 == 8,
                "over ordered pairs: |sum v_i|^2 = n G_1 - G_2 / 2, the first identity (L1014-1018)": bool(
                    v.v.sum(axis=0) @ v.v.sum(axis=0) == v.n * v.G_1 - v.G_2 / 2
                ),
            },
            left=v.G_2,
            right=2 * (v.n - 1) * v.G_1,
        ),
        searched(_pairs(lambda n: 2 * (n - 1)), 400, drop=0),
    )


@claim(
    "client-centric.g-2-repaired",
    statement="G_2 <= 2 n G_1, with equality exactly where the vectors add up to zero",
    source=Source(CLIENT_CENTRIC, "ours: L1057, corrected"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"ordered": "G_2 runs over ordered pairs"},
    repairs="client-centric.g-2",
)
def pairs_repaired() -> Finding:
    """2 n G_1 - G_2 = 2 |sum v_i|^2, which is the first identity; and searched over the vectors that break the
    other.
    """
    found = searched(_pairs(lambda n: 2 * n), 400, drop=0)
    if "no violation" not in found.evidence:
        return found
    proof = identities(everybody_at_any_size(), without={"ordered": one("all, once")}, instances=5)
    return Finding(proof.verdict, f"{proof.evidence}\n{found.evidence}", proof.dropped, proof.second)


def _bracket_sides(v: Vectors) -> Any:
    """The bracket's positive part against its negative one, so that the ratio says how tight it is."""
    total = v.v.sum(axis=0)
    yield buffers(v.v, v.m)[1] / 8, (total @ total) / (4 * v.n**2)


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
    return all_refuted(
        refutation(
            instance="n = 2, m = 1, the clients of the refuted theorem at x = 0 send 1 and -1; both draws",
            conditions={
                "both draws are equally likely": len({p for p, _ in subsets(2, 1)}) == 1,
                "the printed combination of G_1 and G_2": v.bracket == _combination(v),
            },
            left=v.bracket,
            right=Fraction(0),
        ),
        searched(Inequality(_vectors, {"any m": lambda v: True}, _bracket_sides), 400, drop=0),
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
