"""Assumption 4.5 and the sentences on rho around it: which matrices meet it, and what rho is not."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import sympy

from fedspec.arith import Array
from fedspec.mixing import topology
from fedspec_proofs.afga.assumptions import said
from fedspec_proofs.afga.constants import doubly_stochastic, keeps, mixes, only_consensus_is_fixed
from fedspec_proofs.afga.network import EXACT
from fedspec_proofs.afga.networks import blended_permutation
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.refutation import refutation

SHARES: tuple[Any, ...] = (F(0), F(1, 2), F(99, 100), F(1))


@claim(
    "afga.assumption-4-5",
    statement="Of four clients: the ring meets Assumption 4.5 with rho = 1/3 exactly, J with 0; I and two parted pairs "
    "fix more than consensus; the cyclic permutation fixes consensus only, and still has rho = 1",
    source=Source(AFGA, "ours, matrices for Assumption 4.5 (L269)"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED,
)
def assumption_4_5() -> Finding:
    """rho exactly: rho^2 I - (W - J)'(W - J) has no negative eigenvalue, and some x has |(W - J)x| = rho |x|."""
    ring, J = topology.ring(4, EXACT), topology.complete(4, EXACT)
    turn = topology.permutation((1, 2, 3, 0), EXACT)
    parted, x = topology.clustered([topology.complete(2, EXACT)] * 2), exact.vector(1, 0, -1, 0)
    checks = {
        "ring of 4: doubly stochastic, null(I - W) = span(1)": doubly_stochastic(ring)
        and only_consensus_is_fixed(ring),
        "ring of 4: rho = 1/3": mixes(ring, F(1, 3)) and keeps(ring, x, F(1, 3)),
        "J: rho = 0": mixes(J, F(0)),
        "I: fixes everything": not only_consensus_is_fixed(topology.alone(4, EXACT)),
        "parted: fixes more": not only_consensus_is_fixed(parted),
        "cyclic: fixes consensus only, rho = 1": only_consensus_is_fixed(turn)
        and mixes(turn, F(1))
        and keeps(turn, x, F(1)),
    }
    return said(checks, Verdict.PROVED)


def _eigenvalues(W: Array) -> list[Any]:
    found: dict[Any, int] = sympy.Matrix(W.tolist()).eigenvals()
    return [value for value, times in found.items() for _ in range(times)]


@claim(
    "afga.remark-rho-lambda",
    statement="Ours: taking rho = |lambda_2(W)|, the second largest eigenvalue, in place of ||W - J||_2 is taking the "
    "same number, for every W of Assumption 4.5",
    source=Source(
        AFGA, "ours, about the sentence after Assumption 4.5 (L285-290), which says the same role and no more"
    ),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def rho_lambda() -> Finding:
    """Not for matrices that do not commute with their transpose; squares of both sides."""
    W = np.array([exact.vector("1/2", "1/2", 0), exact.vector("1/6", "1/6", "2/3"), exact.vector("1/3", "1/3", "1/3")])
    values = sorted((abs(v) for v in _eigenvalues(W)), reverse=True)
    third = F(1, 3)
    gap = W - topology.complete(3, EXACT)
    gram = gap.T @ gap
    return refutation(
        instance="W = [[1/2, 1/2, 0], [1/6, 1/6, 2/3], [1/3, 1/3, 1/3]], eigenvalues 1, 0, 0; ||W - J||_2^2 against "
        "lambda_2^2",
        conditions={
            "4.5: W is doubly stochastic": doubly_stochastic(W),
            "null(I - W) = span(1)": only_consensus_is_fixed(W),
            "eigenvalues 1, 0, 0": values == [1, 0, 0],
            "||W - J||_2^2 = 1/3 < 1": max(_eigenvalues(gram)) == sympy.Rational(1, 3),
        },
        left=third,
        right=F(int(values[1])) ** 2,
        relation="=",
    )


@claim(
    "afga.remark-rho-lambda-repaired",
    statement="For symmetric doubly stochastic W the eigenvalues of (W - J)'(W - J) beside 0 are the squares of those "
    "of W beside 1, so that ||W - J||_2 = |lambda_2|",
    source=Source(AFGA, "ours, for the sentence after Assumption 4.5 (L285-290)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="n = 3",
    assumptions={"symmetric": "W = W'"},
    repairs="afga.remark-rho-lambda",
)
def rho_lambda_repaired() -> Finding:
    """All 3 x 3: with u, v the two eigenvalues beside 1, the traces of (W - J)'(W - J) and of its square are u^2 + v^2
    and u^4 + v^4.
    """

    def body(symmetric: bool) -> Any:
        def one(draw: Draw) -> list[Any]:
            a, b, c = draw("a"), draw("b"), draw("c")
            e = 0 if symmetric else draw("e")
            W = np.array([[1 - a - b, a, b], [a, 1 - a - c, c], [b, c, 1 - b - c]], dtype=object)
            # A turn added to W keeps rows and columns, and its symmetry only for e = 0.
            W = W + e * np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]], dtype=object)
            gap = W - topology.complete(3, EXACT)
            gram = gap.T @ gap
            total = np.trace(gap)
            product = (total**2 - np.trace(gap @ gap)) / 2
            squares = total**2 - 2 * product
            return [np.trace(gram) - squares, np.trace(gram @ gram) - (squares**2 - 2 * product**2)]

        return one

    return identities({"n = 3": body(True)}, without={"symmetric": {"n = 3, with a turn": body(False)}})


@claim(
    "afga.remark-rho-to-one",
    statement="Ours: what is said in words of rho -> 1, that W tends to entries 0 or 1, made a number: for rho >= "
    "99/100 every entry of W is within 1/4 of 0 or 1",
    source=Source(AFGA, "ours, about the words on rho after Assumption 4.5 (L283-284)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def rho_to_one() -> Finding:
    """Two pairs that nearly never meet; as the share tends to 1 so does rho, and the entries tend to 0 and 1/2.

    Large rings do it too, with every entry 0 or 1/3.
    """
    rho: Any = F(99, 100)
    pairs = topology.clustered([topology.complete(2, EXACT)] * 2)
    W = topology.blended([rho, 1 - rho], [pairs, topology.complete(4, EXACT)])
    n = 60
    ring = topology.ring(n, EXACT)
    wave = exact.vector(*(abs(k - n // 2) - F(n, 4) for k in range(n)))
    image = ring @ wave
    return refutation(
        instance="W = 99/100 diag(J_2, J_2) + 1/100 J_4: rho = 99/100, entries 0.4975 and 0.0025; the largest "
        "distance of an entry to {0, 1}; likewise the ring of 60, with entries 0 and 1/3",
        conditions={
            "4.5: W is doubly stochastic": doubly_stochastic(W),
            "null(I - W) = span(1)": only_consensus_is_fixed(W),
            "rho = 99/100": mixes(W, rho) and keeps(W, exact.vector(1, 1, -1, -1), rho),
            "ring of 60: rho >= 99/100, by a wave": sum(wave) == 0 and image @ image >= rho**2 * (wave @ wave),
        },
        left=max(min(w, 1 - w) for w in W.flat),
        right=F(1, 4),
    )


@claim(
    "afga.remark-rho-to-one-repaired",
    statement="Blends share P + (1 - share) J with P two parted pairs, or a cyclic permutation, have rho = share: 1 "
    "for entries 0 and 1/2 as for entries 0 and 1, and 0 for J, not for 1/1000 I + 999/1000 J",
    source=Source(AFGA, "ours, for the sentences on rho (L279-284)"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="n = 4, shares 0, 1/2, 99/100 and 1",
    repairs="afga.remark-rho-to-one",
)
def rho_extremes() -> Finding:
    """rho moves from 0 to 1 with the share of the permutation or of the parted matrix; (1, 1, -1, -1) and (1, 0, -1, 0)
    keep that share of their lengths.
    """
    parted = topology.clustered([topology.complete(2, EXACT)] * 2)
    J = topology.complete(4, EXACT)
    checks = {}
    turn = topology.permutation((1, 2, 3, 0), EXACT)
    for name, W, x in (("parted pairs", parted, (1, 1, -1, -1)), ("cyclic", turn, (1, 0, -1, 0))):
        for share in SHARES:
            blend = topology.blended([share, 1 - share], [W, J])
            checks[f"{name}, share {share}: rho = {share}"] = mixes(blend, share) and keeps(
                blend, exact.vector(*x), share
            )
    checks["1/1000 I + 999/1000 J: rho > 0"] = not mixes(blended_permutation(4, (0, 1, 2, 3), F(1, 1000)), F(0))
    return said(checks, Verdict.PROVED)
