"""Random local runs on given gradients: SM3, AdaGrad or Adam with delayed updates, and their constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from fedspec.arith import Array, Vector
from fedspec.client import admu, agdu, sm3_delayed
from fedspec.covers import Cover
from fedspec.readings import Idle
from fedspec_proofs.engines import Choose, curried, exact
from fedspec_proofs.fedada2.kit.rational import F

CARRIED = "carried"
BOUNDED = "bounded"

COVERS: Mapping[int, tuple[Cover, ...]] = {
    1: (Cover(((0,),), 1),),
    2: (Cover(((0,), (1,)), 2), Cover(((0, 1),), 2), Cover(((0, 1), (1,)), 2)),
}


@dataclass(frozen=True)
class Local:
    """A client's gradients in one round, and its hyper-parameters.

    Attributes:
        g: [K, d] the gradients by local step.
        G: claimed bound of the gradients.
        z, eta_l, eps, v0, beta1, beta2, scale: hyper-parameters; scale is Xi.
        cover: cover of SM3.
        idle: choice of SM3 at steps without an update.
    """

    g: Array
    G: Any
    z: int
    eta_l: Any
    eps: Any
    v0: Any
    beta1: Any
    beta2: Any
    scale: Any
    cover: Cover
    idle: Idle

    @property
    def K(self) -> int:
        """Number of steps."""
        return len(self.g)

    @property
    def n(self) -> int:
        """Number ceil(K/z) of preconditioner updates."""
        return -(-self.K // self.z)


MET: Mapping[str, Callable[[Local], bool]] = {BOUNDED: lambda c: bool((abs(c.g) <= c.G).all())}
"""Test of Assumption 2 on an instance."""

HELD: Mapping[str, Callable[[Local], bool]] = {CARRIED: lambda c: c.idle is not Idle.RESET}

WORDS = {BOUNDED: "Assumption 2: |g_j| <= G for every draw"}
HELD_WORDS = {
    CARRIED: "SM3's accumulators start at v_0 and are kept at the steps without an update, at which Alg. 2 sets them "
    "to 0 (L675)"
}


def _unit(choose: Choose, kind: str, due: bool) -> Any:
    if kind == "any":
        return choose.rational(-2, 2, 2)
    if kind != "same" and due:
        return F(0)
    return F(2) if kind == "beyond" else F(1)


@curried
def drawn(choose: Choose, *, longest: int = 16, v0: bool = True) -> Local:
    """Return a maker of random instances."""
    d = choose.whole(1, 2)
    K, z = choose.whole(1, longest), choose.of(2, 1, 3, 8)
    G = choose.of(F(1), F(2), F(1, 2))
    # What the extremes are made of: 0 where the preconditioner is updated, the same sign elsewhere.
    kind = choose.of("any", "late", "same", "beyond")
    g = exact.vector(*(_unit(choose, kind, k % z == 0) * G for k in range(K) for _ in range(d))).reshape(K, d)
    if choose.of(True, True, False):
        g = np.where(abs(g) > G, g / 2, g)
    return Local(
        g,
        G,
        z,
        choose.of(F(1, 100), F(1, 2), F(1), F(2)),
        choose.of(F(1), F(1, 4), F(1, 10), F(1, 1000)),
        choose.of(F(0), F(1, 4), F(4)) if v0 else F(0),
        choose.of(F(9, 10), F(0), F(1, 2)),
        choose.of(F(999, 1000), F(1, 2), F(9, 10)),
        choose.of(F(1), F(1, 2), F(3)),
        choose.of(*COVERS[d]),
        choose.of(Idle.CARRIED, Idle.CARRIED, Idle.RESET),
    )


def _floats(c: Local) -> tuple[Vector, Array]:
    return np.zeros(c.g.shape[1]), c.g.astype(float)


def sm3_change(c: Local) -> Vector:
    """Change |Delta_i| of Algorithm 2 in floating point, with v_0 in every accumulator."""
    x, g = _floats(c)
    state = sm3_delayed.begin(x, c.cover, v0=float(c.v0))
    for row in g:
        state = sm3_delayed.sm3_ii_delayed(
            state, row, c.cover, eta_l=float(c.eta_l), eps=float(c.eps), z=c.z, idle=c.idle
        )
    return abs(state.x)


def agdu_change(c: Local) -> Vector:
    """Change |Delta_i| of Algorithm 10 in floating point, including its weight."""
    x, g = _floats(c)
    state = agdu.begin(x, v0=float(c.v0))
    for row in g:
        state = agdu.agdu(state, row, eta_l=float(c.eta_l), eps=float(c.eps), z=c.z)
    return abs(float(c.scale) * state.x)


def admu_change(c: Local) -> Vector:
    """Change |Delta_i| of Algorithm 8 in floating point, including its weight."""
    x, g = _floats(c)
    state = admu.begin(x)
    rates: dict[str, Any] = {
        "eta_l": float(c.eta_l),
        "beta1": float(c.beta1),
        "beta2": float(c.beta2),
        "eps": float(c.eps),
    }
    for row in g:
        state = admu.admu(state, row, z=c.z, **rates)
    return abs(float(c.scale) * state.x)


def lemma_15(c: Local) -> dict[str, float]:
    """Terms of Phi_1^K (L741) without the eta_l inside the bracket, as in the proof (L766)."""
    G, eps, rate = float(c.G), float(c.eps), float(c.eta_l)
    rest = (c.K - c.n) * G / (sqrt(c.v0) + eps)
    first = rate * sqrt(c.n * log(1 + c.n * G**2 / eps**2))
    return {"at updates": first, "between updates": rate * rest}
