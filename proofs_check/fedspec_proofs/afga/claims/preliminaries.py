"""Appendix C: properties of doubly stochastic matrices that lead to rho <= 1, and their effect on models.

By Birkhoff's theorem every doubly stochastic matrix is a convex combination of permutations; where a claim needs the
sums only, they are solved for in the last row and column.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

from fedspec.arith import Mixing
from fedspec.mixing import topology
from fedspec.mixing.gossip import gossip
from fedspec_proofs.afga.claims.sequences import doubly, row_stochastic
from fedspec_proofs.afga.kit.constants import doubly_stochastic, keeps, mixes, only_consensus_is_fixed
from fedspec_proofs.afga.kit.network import EXACT
from fedspec_proofs.afga.kit.networks import blended_permutation
from fedspec_proofs.claim import Engine, Finding, Severity, Verdict, claim, refutation
from fedspec_proofs.engines import Draw, curried, exact, identities

APPENDIX = "Appendix C"


@claim(
    "afga.eq-7",
    statement="(W - J)(W - J) = W - J for doubly stochastic W, so that its eigenvalues are 0 and 1",
    source=f"{APPENDIX}, eq. (7) (L1045-1049)",
    severity=Severity.PROOF_BREAKS,
)
def eq_7() -> Finding:
    """Fact: (W - J)^2 = W^2 - J; only projections are their own square. The entries [1, 1] are compared."""
    W = blended_permutation(2, (0, 1), F(1, 2))
    gap = W - topology.complete(2, EXACT)
    return refutation(
        instance="W = [[3/4, 1/4], [1/4, 3/4]], whose W - J has the eigenvalue 1/2; the entry [1, 1] of both sides",
        conditions={
            "4.5: W is doubly stochastic": doubly_stochastic(W),
            "null(I - W) = span(1)": only_consensus_is_fixed(W),
        },
        left=(gap @ gap)[0, 0],
        right=gap[0, 0],
        relation="=",
    )


@claim(
    "afga.eq-7-repaired",
    statement="(W - J)^2 = W^2 - J for doubly stochastic W, and WJ = JW = J",
    source=f"ours, for {APPENDIX}, eq. (7) (L1045)",
    sizes="n = 2 and 3",
    assumptions={"columns of W sum to one": "1'W = 1'; the rows are meant to as well"},
)
def eq_7_repaired() -> Finding:
    """Proof for n = 2 and n = 3, for every doubly stochastic matrix."""

    @curried
    def body(draw: Draw, n: int, make: Callable[[Draw, int], Mixing]) -> list[Any]:
        W, J = make(draw, n), topology.complete(n, EXACT)
        gap = W - J
        return [*(gap @ gap - (W @ W - J)).ravel(), *(W @ J - J).ravel(), *(J @ W - J).ravel()]

    weaker = {"n = 2, rows only": body(2, row_stochastic)}
    return identities(
        {"n = 2": body(2, doubly), "n = 3": body(3, doubly)}, without={"columns of W sum to one": weaker}, instances=5
    )


@curried
def _shrinks(draw: Draw, n: int, weight: Any = 1, make: Callable[[Draw, int], Mixing] = doubly) -> list[Any]:
    """|x|^2 - |(W - J) x|^2 less n xbar^2 + 1/2 sum (W'W)_jk (x_j - x_k)^2, (W - J) x = Wx - J Wx by the rule."""
    W, x = make(draw, n), draw("x", n, 1)
    J = topology.complete(n, EXACT)
    image = gossip(x, W) - J @ gossip(x, W)
    gram, centre = W.T @ W, sum(x[:, 0]) / F(n)
    pairs = sum(gram[j, k] * (x[j, 0] - x[k, 0]) ** 2 for j in range(n) for k in range(j))
    return [sum(x[:, 0] ** 2) - sum(image[:, 0] ** 2) - n * centre**2 - weight * pairs]


@claim(
    "afga.appendix-c",
    statement="||W - J||_2 <= 1: |x|^2 - |(W - J)x|^2 = n xbar^2 + 1/2 sum_jk (W'W)_jk (x_j - x_k)^2 >= 0",
    source=f"{APPENDIX} (L1051-1052), footnote 2 and L277",
    sizes="n = 2 and 3",
    assumptions={"columns of W sum to one": "with rows that do; W'W is then doubly stochastic"},
)
def appendix_c() -> Finding:
    """Proof for every doubly stochastic matrix, n = 2 and 3; any n would do, since rows of W'W sum to one."""

    return identities(
        {"n = 2": _shrinks(2), "n = 3": _shrinks(3)},
        without={"columns of W sum to one": {"n = 2, rows only": _shrinks(2, 1, row_stochastic)}},
        instances=5,
    )


@claim(
    "afga.appendix-c-maximum",
    statement="||W - J||_2 attains its bound 1 (claim appendix-c) at W = I; at permutations and parted matrices too",
    source=f"{APPENDIX} (L1051)",
    engine=Engine.EXACT,
    sizes="I and a cyclic permutation for n = 2..5, two parted pairs",
)
def maximum() -> Finding:
    """Other matrices attain the maximum too: (1, -1, 0, ..), and for the pairs (1, 1, -1, -1), keep their lengths."""
    attained = []
    for n in (2, 3, 4, 5):
        x = exact.vector(1, -1, *[0] * (n - 2))
        for W in (topology.alone(n, EXACT), topology.permutation([*range(1, n), 0], EXACT)):
            attained.append(mixes(W, 1) and keeps(W, x, 1))
    parted = topology.clustered([topology.complete(2, EXACT), topology.complete(2, EXACT)])
    attained.append(mixes(parted, 1) and keeps(parted, exact.vector(1, 1, -1, -1), 1))
    verdict = Verdict.PROVED if all(attained) else Verdict.REFUTED
    return Finding(verdict, f"{len(attained)} matrices: 1 bounds ||W - J||_2, and some x of mean zero keeps its length")
