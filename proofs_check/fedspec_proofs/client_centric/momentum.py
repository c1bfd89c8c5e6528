"""The momentum d_t as a weighted sum of changes."""

from __future__ import annotations

from functools import partial
from typing import Any

from fedspec.arith import Vector
from fedspec.server.averaged_momentum import averaged_momentum
from fedspec.server.momentum import ServerMomentum
from fedspec_proofs.claim import CLIENT_CENTRIC, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric.steps import rooted
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities


def momenta(changes: list[Vector], betas: list[Any]) -> list[Vector]:
    """d_0 = 0, d_1, d_2, ... by the servers' rule, one beta for every round."""
    state = ServerMomentum(x=changes[0] * 0, v=changes[0] * 0)
    out = [state.v]
    for delta, beta in zip(changes, betas, strict=True):
        state = averaged_momentum(state, delta, eta=1, beta=beta)
        out.append(state.v)
    return out


def weights(betas: list[Any], t: int) -> list[Any]:
    """a_(t,p) = (1 - beta_p) prod_(q = p+1)^t beta_q for p = 0 .. t."""
    out = []
    for p in range(t + 1):
        a = 1 - betas[p]
        for q in range(p + 1, t + 1):
            a = a * betas[q]
        out.append(a)
    return out


def _decay(draw: Draw, name: str) -> Any:
    b = draw(name, positive=True)
    return b / (1 + b)


def _sum(draw: Draw, T: int, late: bool) -> Any:
    """d_(t+1) less the sum of weighted changes; the weights' sum less 1 - prod beta; the same momentum elsewhere."""
    changes, betas = list(draw("Delta", T, 2)), [_decay(draw, f"b{q}") for q in range(T)]
    d = momenta(changes, betas)
    out = []
    for t in range(T):
        a = weights(betas, t)
        out += list(d[t if late else t + 1] - sum(w * one for w, one in zip(a, changes, strict=False)))
        rest = 1
        for b in betas[: t + 1]:
            rest = rest * b
        out.append(sum(a) - (1 - rest))
    first = rooted(
        "adagrad", changes[0] * 0, changes[0] * 0, changes[0], changes[0] * 0 + 1, eta=1, beta=betas[0], eps=1
    )
    return [*out, *(first.m - d[1])]


@claim(
    "client-centric.d-t",
    statement="d_(t+1) = sum_(p <= t) a_(t,p) Delta_p with a_(t,p) = (1 - beta_p) prod_(q = p+1)^t beta_q, and these "
    "weights sum to 1 - prod_(q <= t) beta_q (t <= 3, d = 2)",
    source=Source(CLIENT_CENTRIC, "d_t as a sum (L917-921), in the index of L579"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="t <= 3, d = 2",
    assumptions={"index": "the momentum that holds Delta_t is d_(t+1)"},
)
def sums() -> Finding:
    """One to four rounds, a beta for each round, two coordinates; CC-FedAdagrad's m is the same momentum.

    L917 has the index of the main text, where d_t holds Delta_t; at L579 it is d_(t+1) that does.
    """
    return identities(
        {f"T = {T}": partial(_sum, T=T, late=False) for T in (1, 2, 3, 4)},
        without={"index": {"d_t in its place": lambda draw: _sum(draw, 1, True)}},
        instances=10,
    )
