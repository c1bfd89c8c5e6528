"""H4 and H5: the bounds of phi and of the second moments. Fed-LAMB, L188 and L282."""

from __future__ import annotations

import numpy as np

from fedspec.client.lamb import Moments, precondition, scaling
from fedspec.mixing.periodic import moment_maximum
from fedspec.readings import LocalCorrection, Phi
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fed_lamb.rounds import F
from fedspec_proofs.fed_lamb.shared import at


def _clipped(draw: Draw) -> Statement:
    x, phi_m, phi_M = draw("x", 2), draw("phi_m"), draw("phi_M")
    value = scaling(x, Phi.CLIP, phi_m, phi_M)
    return Statement({"phi_m <= phi_M": phi_m <= phi_M}, {"H4": every(value >= phi_m, value <= phi_M)})


@claim(
    "fed-lamb.assumption-4",
    statement="phi(a) = min(max(a, phi_m), phi_M) meets H4 for every layer",
    source=at("ours, a phi for H4 (L188)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="layers of two coordinates",
    assumptions={"phi_m <= phi_M": "the bounds are in order"},
)
def clipped() -> Finding:
    """Through the specification's own phi; the number of coordinates only enters through the length."""
    return decide(_clipped, sample=_lengths, timeout_ms=3000)


def _lengths(rng: np.random.Generator) -> dict[str, F]:
    k = F(int(rng.integers(-8, 9)), 4)
    low = F(int(rng.integers(1, 9)), 4)
    return {"x_0": 3 * k, "x_1": 4 * k, "phi_m": low, "phi_M": low + F(int(rng.integers(0, 9)), 4)}


CEILING = {
    "v0 <= v_hat <= C, 0 <= v <= C": "as at the start, where both are v0, with C the larger of v0 and the largest g^2",
    "g^2 <= C": "H2, by coordinate",
    "0 <= beta2 < 1": "v is a weighted mean",
}


def _ceiling(draw: Draw) -> Statement:
    v0, C, beta2, v_hat = draw("v0"), draw("C"), draw("beta2"), draw("v_hat", 1)
    v, g = draw("v", 2), draw("g", 2)
    kw = {"beta1": 0, "beta2": beta2, "eps": 0, "bias_correction": LocalCorrection.NONE}
    own = [precondition(Moments(v[:1], v[i : i + 1], 0), g[i : i + 1], vector(1), **kw)[0].v_i for i in range(2)]
    after = moment_maximum(v_hat, np.stack(own), clients=2)[0]
    before = every(v0 >= 0, v0 <= v_hat[0], v_hat[0] <= C, *(every(a >= 0, a <= C) for a in v))
    holds = (before, every(*(a * a <= C for a in g)), every(beta2 >= 0, beta2 < 1))
    again = every(*(every(a[0] >= 0, a[0] <= C) for a in own), v0 <= after, after <= C)
    return Statement(dict(zip(CEILING, holds, strict=True)), {"again": again, "v_hat does not fall": after >= v_hat[0]})


def _small(rng: np.random.Generator) -> dict[str, F]:
    C = F(int(rng.integers(4, 9)))
    v = {name: F(int(rng.integers(0, 9)), 8) * C for name in ("v_0", "v_1", "v_hat_0")}
    g = {f"g_{i}": F(int(rng.integers(-4, 5)), 2) for i in range(2)}
    return {**v, **g, "C": C, "v0": v["v_hat_0"] / 2, "beta2": F(int(rng.integers(0, 9)), 9)}


@claim(
    "fed-lamb.assumption-5",
    statement="H5 follows from H2 where no bias is corrected: v0 <= v_hat <= max(v0, largest g^2) in every "
    "coordinate, v_hat never falls, and the clients' v has the same ceiling",
    source=at("ours, about H5 (L282) and H2 (L184)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="two clients",
    assumptions=CEILING,
)
def ceiling() -> Finding:
    """One round from any state within the bounds, which hold at the start: so V^4 = p max(v0, M^2) will do."""
    return decide(_ceiling, sample=_small)
