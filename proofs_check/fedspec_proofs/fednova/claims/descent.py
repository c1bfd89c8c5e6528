"""Steps of the proof of Theorem 1 (App. C)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec_proofs.claim import Extent, Finding, claim, false
from fedspec_proofs.engines import Draw, Statement, curried, decide, identities, identity
from fedspec_proofs.fednova.kit.bounds import rational


@curried
def _tree(draw: Draw, depth: int, *, fair: bool = True) -> Iterable[Any]:
    """Matrices of one column on a binary tree: what A_k is depends on the way there, its mean given the way is 0."""

    def node(way: tuple[int, ...]) -> tuple[Any, tuple[Vector, Vector]]:
        name = "".join(map(str, way)) or "r"
        u, other, n = draw(f"u{name}", 2), draw(f"v{name}", 2), draw(f"n{name}", 2, positive=True)
        q = n[0] / (n[0] + n[1])
        return q, (u, -q * u / (1 - q) if fair else other)

    total, single = 0 * draw("ur", 2)[0], 0 * draw("ur", 2)[0]
    for way in product((0, 1), repeat=depth):
        chance, parts = 1, []
        for k, turn in enumerate(way):
            q, values = node(way[:k])
            chance = chance * (q if turn == 0 else 1 - q)
            parts.append(values[turn])
        whole: Any = sum(parts)
        total += chance * (whole @ whole)
        single += chance * sum(part @ part for part in parts)
    yield total - single


def _outcome(draw: Draw) -> Iterable[Any]:
    """Addition of an outcome A of chance q to E|S + A|^2: its shares of |S|^2, of 2 <S, E A> and of E|A|^2."""
    q, S, A = draw("q", positive=True), draw("S", 3), draw("A", 3)
    yield q * ((S + A) @ (S + A)) - q * (S @ S) - 2 * (S @ (q * A)) - q * (A @ A)


@claim(
    "fednova.lemma-2",
    statement="E|sum A_k|_F^2 = sum E|A_k|_F^2 where E[A_k | A_(k-1), ..., A_1] = 0",
    source="Lemma 2 (L461), eqs. (50)-(53)",
    extent=Extent.WHOLE,
    assumptions={"martingale": "the mean of A_k is zero, given those before"},
)
def martingale() -> Finding:
    """Proof by induction over the steps, given the sum S of earlier ones: E|S + A|^2 = |S|^2 + 2 <S, E A> + E|A|^2, one
    outcome at a time, with E A = 0. Only inner products are used, so it holds for matrices of any shape.

    Beside it every outcome of trees of depth 1 to 3 with two branches at each node, matrices of two entries; all values
    and probabilities are variables.
    """
    bodies = {"one outcome, given those before": _outcome} | {f"T = {depth}": _tree(depth) for depth in (1, 2, 3)}
    return identities(bodies, without={"martingale": {"T = 2": _tree(2, fair=False)}}, instances=5)


@claim(
    "fednova.eq-56",
    statement="<grad F~, sum w_i h_i> = |grad F~|^2 / 2 + |sum w_i h_i|^2 / 2 - |grad F~ - sum w_i h_i|^2 / 2",
    source="eq. (56) (L480)",
    extent=Extent.WHOLE,
)
@identity("one coordinate")
def polarisation(draw: Draw) -> Iterable[Any]:
    """Proof per coordinate; both sides are sums over coordinates."""
    g, h = draw("g"), draw("h")
    yield g * h - (g**2 + h**2 - (g - h) ** 2) / 2


@curried
def drift_step(draw: Draw, factor: int, least: Fraction, share: Fraction) -> Statement:
    """D <= 1 / (factor beta^2 + 1) gives 1/(1-D) <= 1 + 1/(factor beta^2) <= least, D beta^2 / (1-D) <= share.

    All times 1 - D and beta^2, so that nothing is divided.
    """
    D, beta2 = draw("D"), draw("beta2")
    return Statement(
        {"drift": D * (factor * beta2 + 1) <= 1, "beta": beta2 >= 1},
        {
            "1/(1-D) <= 1 + 1/(c beta^2)": factor * beta2 <= (1 - D) * (factor * beta2 + 1),
            "1/(1-D) <= its largest value": least * (1 - D) >= 1,
            "D beta^2/(1-D)": D * beta2 <= share * (1 - D),
        },
    )


@curried
def small_drift(rng: np.random.Generator, factor: int) -> dict[str, Fraction]:
    """Random D and beta^2 with D <= 1 / (factor beta^2 + 1)."""
    beta2 = 1 + rational(int(rng.integers(0, 9)), 4)
    return {"beta2": beta2, "D": rational(int(rng.integers(0, 9)), 8) / (factor * beta2 + 1)}


DRIFT = {"drift": "D <= 1 / (2 beta^2 + 1)", "beta": "beta^2 >= 1"}


@claim(
    "fednova.eq-90",
    statement="D <= 1 / (2 beta^2 + 1) gives 1/(1-D) <= 1 + 1/(2 beta^2) <= 3/2 and D beta^2 / (1-D) <= 1/2",
    source="the words above eq. (90), and (91) (L589-596)",
    extent=Extent.WHOLE,
    assumptions=DRIFT,
)
def drift_constants() -> Finding:
    """Proof for all reals."""
    return decide(drift_step(2, rational(3, 2), rational(1, 2)), sample=small_drift(2))


@false(
    "fednova.eq-90-weaker",
    of=drift_constants,
    statement="D <= 1 / (beta^2 + 1) is enough for the same",
)
def weaker_drift() -> Finding:
    """Refuted: z3 finds a counterexample."""
    body = drift_step(1, rational(3, 2), rational(1, 2))
    return decide(body, sample=small_drift(1), ablate=False)
