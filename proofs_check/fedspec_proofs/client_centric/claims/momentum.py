"""Identities for 1 / K_t, and the momentum d_t as a weighted sum of changes."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from fedspec.arith import Vector
from fedspec.server.averaged_momentum import averaged_momentum
from fedspec.server.momentum import ServerMomentum
from fedspec_proofs.claim import Finding, Verdict, claim
from fedspec_proofs.client_centric.claims.second_moments import Buffer
from fedspec_proofs.client_centric.kit.problems import Clients, flat
from fedspec_proofs.client_centric.kit.steps import rooted
from fedspec_proofs.engines import Draw, exact, identities


def _harmonic(draw: Draw, reading: str) -> Any:
    """(1 / m^2) sum 1 / K_i less (1 / m) (1 / K_t), for three readings of 1 / K_t."""
    m = 3
    K = [draw(f"K_{i}", positive=True) for i in range(m)]
    one = {
        "harmonic": sum(1 / k for k in K) / m,
        "L914": sum(1 / k for k in K),
        "footnote": sum(K) / m,
    }[reading]
    return [sum(1 / k for k in K) / m**2 - one / m]


@claim(
    "client-centric.footnote-5",
    statement="With 1 / K_t = (1 / m) sum over S_t of 1 / K_(t,i), (1 / m^2) sum 1 / K_(t,i) = (1 / m) (1 / K_t): "
    "the noise of the buffer's mean, as L907 has it",
    source="footnote 5 (L282) and L914, as L907 and L1094 need it",
    sizes="m = 3",
    assumptions={"harmonic": "1 / K_t is the mean of the 1 / K_(t,i)"},
)
def footnote_5() -> Finding:
    """For three clients, as symbols; and a buffer of pure noise with K = (2, 4) has exactly this second moment.

    The conversion of footnote 5 shows a bar over K_(t,i) where the fraction's was, and L914 has no 1 / m.
    """
    K = (2, 4)
    noise = Buffer(
        Clients(((flat(0),), (flat(0),)), Fraction(1)), exact.vector(0), K, Fraction(1), Fraction(1), Fraction(1)
    )
    if noise.expected()[0] != noise.K / 2:
        return Finding(Verdict.REFUTED, f"{noise.expected()[0]} is not {noise.K / 2}")
    return identities(
        {"m = 3": lambda draw: _harmonic(draw, "harmonic")},
        without={
            "harmonic": {
                "L914": lambda draw: _harmonic(draw, "L914"),
                "footnote": lambda draw: _harmonic(draw, "footnote"),
            }
        },
    )


def momenta(changes: list[Vector], betas: list[Any]) -> list[Vector]:
    """Momenta d_0 = 0, d_1, d_2, ... by the servers' rule, with a beta for each round."""
    state = ServerMomentum(x=changes[0] * 0, v=changes[0] * 0)
    out = [state.v]
    for delta, beta in zip(changes, betas, strict=True):
        state = averaged_momentum(state, delta, eta=1, beta=beta)
        out.append(state.v)
    return out


def weights(betas: list[Any], t: int) -> list[Any]:
    """Weights a_(t,p) = (1 - beta_p) prod_(q = p+1)^t beta_q for p = 0 .. t."""
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
    source="d_t as a sum (L917-921), in the index of L579",
    sizes="t <= 3, d = 2",
    assumptions={"index": "the momentum that holds Delta_t is d_(t+1)"},
)
def sums() -> Finding:
    """Identities for one to four rounds in two coordinates, a beta for each round; CC-FedAdagrad's m is this momentum.

    L917 has the index of the main text, where d_t holds Delta_t; at L579 it is d_(t+1) that does.
    """
    return identities(
        {f"T = {T}": partial(_sum, T=T, late=False) for T in (1, 2, 3, 4)},
        without={"index": {"d_t in its place": lambda draw: _sum(draw, 1, True)}},
        instances=10,
    )
