"""What the claims share: the paper, its assumptions in words, and conjunctions of formulas or truth values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedspec.arith import Vector
from fedspec.plan import Oracle
from fedspec_proofs.claim import FED_LAMB, Source
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
"""The printed assumptions, and what the proofs take beside them."""

TO_THE_END = ("eq-17", "eq-18", "eq-19", "eq-20", "l-659", "eq-21", "l-673", "eq-8")
PROOF_1 = tuple(
    f"fed-lamb.{link}"
    for link in ("eq-7", "eq-9", "eq-10", "eq-11", "eq-13-15", "l-598", "l-600", "l-604", "eq-16", "l-621", *TO_THE_END)
)
"""The lines of the printed proof of Theorem 1, in their order."""
PROOF_3 = tuple(f"fed-lamb.{link}" for link in ("eq-23-bound", "l-744", "l-748", "eq-25", "l-772", "l-792", "l-804"))
"""Those of Theorem 3, after the lines that it shares with Theorem 1."""


def at(place: str) -> Source:
    """A place in the paper."""
    return Source(FED_LAMB, place)


def within(x: Any, M: Any) -> Any:
    """|x| <= M."""
    return every(x <= M, -x <= M)


def quiet(clients: Sequence[Oracle], x: Vector) -> bool:
    """Whether two draws of every gradient are the same: its variance is 0, below every sigma^2 > 0."""
    return all(bool((gradient(0, x) == gradient(1, x)).all()) for gradient in clients)


def constant(*g: Any) -> Oracle:
    """The same gradient everywhere."""
    return lambda k, x: vector(*g)
