"""The lengths of changes and momenta."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fedspec.algorithms.cc_fedsgd import CCFedSGD, cc_fedsgd, init
from fedspec.plan import Arrival, Setup
from fedspec.problems.quadratic import given
from fedspec.server.averaged_momentum import averaged_momentum
from fedspec.server.momentum import ServerMomentum
from fedspec_proofs.claim import CLIENT_CENTRIC, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every


def _bounded(draw: Draw) -> Statement:
    """Two clients with two steps each; their change, and the momentum after it."""
    g, d, D, eta_l, beta = draw("g", 2, 2), draw("d"), draw("G"), draw("eta_l"), draw("beta")
    h = CCFedSGD(buffer=2, eta_l=eta_l, eta=1)
    x = np.array([d * 0], dtype=object)
    state = init(h, x, Setup((1, 1), {"w": (1,)}))
    clients = [given([np.array([one], dtype=object) for one in g[i]]) for i in range(2)]
    delta = cc_fedsgd(h, state, clients, *(Arrival(i, 2, 0) for i in range(2)))[1]["delta"]
    after = averaged_momentum(ServerMomentum(x=x, v=np.array([d], dtype=object)), delta, eta=1, beta=beta).v[0]
    inputs = {}
    for i in range(2):
        for k in range(2):
            inputs[f"g_{i}{k}"] = every(g[i, k] <= D, -g[i, k] <= D)
    return Statement(
        {
            "gradients": every(*inputs.values()),
            "before": every(d <= eta_l * D, -d <= eta_l * D),
            "rate": eta_l >= 0,
            "beta": every(beta >= 0, beta < 1),
        },
        {
            "Delta_t": every(delta[0] <= eta_l * D, -delta[0] <= eta_l * D),
            "d_t": every(after <= eta_l * D, -after <= eta_l * D),
        },
    )


def _small(rng: np.random.Generator) -> dict[str, Fraction]:
    values = exact.rationals(rng, 4, low=-1, high=1, denominators=(1, 2))
    (G, eta_l) = exact.rationals(rng, 2, low=1)
    named = {f"g_{i}_{k}": values[2 * i + k] * G for i in range(2) for k in range(2)}
    return {**named, "G": G, "eta_l": eta_l, "d": eta_l * G * values[0], "beta": Fraction(int(rng.integers(0, 9)), 9)}


@claim(
    "client-centric.bounds",
    statement="|Delta_t| <= eta_l G and |d_t| <= eta_l G",
    source=Source(CLIENT_CENTRIC, "step of A_3 and A_4 (L826)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="d = 1, m = 2, K = 2",
    assumptions={
        "gradients": "no gradient is longer than G",
        "before": "|d_(t-1)| <= eta_l G, as for d_0 = 0",
        "rate": "eta_l >= 0",
        "beta": "0 <= beta < 1",
    },
)
def bounds() -> Finding:
    """One coordinate, a buffer of two clients with two steps each, through CC-Local; a step of an induction over
    rounds.

    In more dimensions and with more clients it is the triangle inequality for the mean (in words).
    """
    return decide(_bounded, sample=_small)
