"""Convergence as the paper defines it: Lemma 18 and Definition 19."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fedspec.arith import least
from fedspec_proofs.claim import Extent, claim
from fedspec_proofs.engines import Draw, Statement, decided
from fedspec_proofs.fedada2.kit.rational import F


def _so_far(rng: np.random.Generator) -> dict[str, Fraction]:
    shortest = F(int(rng.integers(0, 9)), 4)
    return {"least": shortest, "output": shortest, "r": shortest}


@claim(
    "fedada2.lemma-18",
    statement="If min over t <= T of |grad f(x_t)| is at most r(T), an algorithm that outputs the best model so far "
    "has |grad f| <= r(T) at its T-th output; with r(T) = C T^(-alpha) this falls to 0",
    source="Lemma 18 (L826)",
    extent=Extent.WHOLE,
    assumptions={
        "least <= r": "the bound on the smallest gradient so far",
        "so far": "the induction hypothesis, true at T = 1: the last output has the least length so far",
    },
)
@decided(sample=_so_far)
def lemma(draw: Draw) -> Statement:
    """Induction over T, where a is the length of the next gradient.

    In Corollaries 23 and 24 the client rate depends on T, so that bounds for different T are about different runs: to
    them the lemma does not apply as it stands.
    """
    a, r, shortest, output = draw("a"), draw("r"), draw("least"), draw("output")
    later, after = least([shortest, a]), least([output, a])
    return Statement(
        {"least <= r": later <= r, "so far": output == shortest},
        {
            "so far, again": after == later,
            "the output is at most r": after <= r,
            "it does not rise": after <= output,
        },
    )


@claim(
    "fedada2.definition-19",
    statement="Precompact convergence asks for some phi: N -> N, which need not rise: every sequence converges so to "
    "each of its own elements, by a constant phi",
    source="Definition 19 (L836), admitted after it (L840)",
    extent=Extent.PART,
    assumptions={"phi": "phi may take one value for ever, as printed; a subsequence needs phi to rise"},
)
@decided()
def definition(draw: Draw) -> Statement:
    """A constant phi makes each y_phi(n) the element y, at distance 0. An increasing phi leaves the element behind."""
    y, visited = draw("y"), draw("y_phi(n)")
    return Statement({"phi": visited == y}, {"|y_phi(n) - y| = 0": (visited - y) ** 2 == 0})
