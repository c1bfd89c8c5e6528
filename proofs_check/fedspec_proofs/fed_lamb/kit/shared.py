"""Common parts of the claims: the paper, its assumptions in words, and conjunctions of formulas or truth values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedspec.arith import Vector
from fedspec.plan import Oracle
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.smt import every

H1 = "every layer of the objective is smooth with constant L_l"
H2 = "stochastic gradients are unbiased and no longer than M"
H3 = "each coordinate of a stochastic gradient has a variance below sigma^2"
H4 = "phi_m <= phi <= phi_M"
H5 = "||sqrt(v)|| <= V^2"
SETTING = "lam = eps = 0 (L561), no bias correction (as L529 and (11) need); moments are carried over rounds"
V_READ = (
    "v_r^t, which (2) to (4), H5 and the proof print without a hat, is read as the v_hat_r of line 9, by which a "
    "step is divided: in (11) it stands in that place"
)
FOUR = {"H1": H1, "H2": H2, "H3": H3, "H4": H4, "setting": SETTING}
"""Printed assumptions, and the additional ones that the proofs use."""

PROOF_1 = "eq-7 eq-9 eq-10 eq-8"
"""Claims of Theorem 1's printed proof down to (10), where it first breaks, and (8), which the proof bounds."""
PROOF_3 = "eq-23-bound l-744 eq-25"
"""Claims of Theorem 3's proof down to (25), where it breaks again, apart from lines shared with Theorem 1."""


def within(x: Any, M: Any) -> Any:
    """Condition |x| <= M."""
    return every(x <= M, -x <= M)


def quiet(clients: Sequence[Oracle], x: Vector) -> bool:
    """True if two evaluations of every gradient at x agree, so that the variance is 0, below every sigma^2 > 0."""
    return all(bool((gradient(0, x) == gradient(1, x)).all()) for gradient in clients)


def constant(*g: Any) -> Oracle:
    """Oracle with the same gradient everywhere."""
    return lambda k, x: vector(*g)
