"""CC-FedAMS as CC-FedAvgM in the theorem's regime, and the lengths of changes and momenta."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms.cc_adaptive import CCFedAMS, cc_fedams, init_ams
from fedspec.algorithms.cc_fedavgm import CCFedAvgM, cc_fedavgm
from fedspec.algorithms.cc_fedavgm import init as init_m
from fedspec.algorithms.cc_fedsgd import CCFedSGD, cc_fedsgd, init
from fedspec.plan import Arrival, Setup
from fedspec.problems.quadratic import given
from fedspec.server.averaged_momentum import averaged_momentum
from fedspec.server.momentum import ServerMomentum
from fedspec_proofs.claim import CLIENT_CENTRIC, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric import every_size
from fedspec_proofs.client_centric.problems import Clients, huber
from fedspec_proofs.client_centric.starts import growth, told
from fedspec_proofs.client_centric.steps import rooted
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.combine import all_proved
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.engines.smt import every


def _same_step(draw: Draw, twice: bool) -> Any:
    """A CC-FedAMS step whose root is eps, against a CC-FedAvgM step with eta / (2 eps)."""
    x, m, delta = draw("x", 2), draw("m", 2), draw("Delta", 2)
    eta, eps, b = draw("eta", positive=True), draw("eps", positive=True), draw("b", positive=True)
    ams = rooted("ams", x, m, delta, x * 0 + eps, eta=eta, beta=b / (1 + b), eps=eps)
    rate = eta / (2 * eps) if twice else eta / eps
    other = averaged_momentum(ServerMomentum(x=x, v=m), delta, eta=rate, beta=b / (1 + b))
    return [*(ams.x - other.x), *(ams.m - other.v)]


def _runs(wide: bool, count: int) -> bool:
    """Whether whole runs of both algorithms agree, exactly; changes beyond eps where ``wide``."""
    rng = exact.generator()
    clients = Clients(((huber(1, 2),), (huber(-1, 2, Fraction(1, 2)),), (huber(3, 1),)))
    eps, gamma = exact.number("1/4" if wide else 2), exact.number("1/3")
    setup, x0 = Setup((1, 1, 1), {"w": (1,)}), exact.vector("1/2")
    own: dict[str, Any] = {"buffer": 2, "eta_l": Fraction(1, 2)}
    for _ in range(count):
        beta: Any = Fraction(int(rng.integers(0, 10)), 10)
        eta: Any = Fraction(int(rng.integers(1, 5)))
        a = CCFedAMS(eta=eta, beta1=beta, beta2=gamma, eps=eps, v0=eps**2, **own)
        b = CCFedAvgM(eta=eta / (2 * eps), beta=beta, **own)
        one, two = init_ams(a, x0, setup), init_m(b, x0, setup)
        for q in range(8):
            arrival = Arrival(int(rng.integers(3)), int(rng.integers(1, 4)), int(rng.integers(0, min(q // 2, 2) + 1)))
            oracles = [clients.oracle(i) for i in range(3)]
            try:
                one, _ = cc_fedams(a, one, oracles, arrival)
            except ValueError:
                # The root of v_hat is not rational: it has left eps^2.
                return False
            two, _ = cc_fedavgm(b, two, oracles, arrival)
        if (one.x != two.x).any():
            return False
    return True


@claim(
    "client-centric.ams-is-avgm",
    statement="With v_0 = eps^2 and eta_l G <= eps, CC-FedAMS is CC-FedAvgM with the rate eta / (2 eps)",
    source=Source(CLIENT_CENTRIC, "ours: what L659 and the third condition (L228) make of CC-FedAMS"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"small": "eta_l G <= eps", "rate": "the rate is eta / (2 eps)"},
)
def ams_is_avgm() -> Finding:
    """v_hat stays max(v_0, eta_l^2 G^2) = eps^2 (SMT induction); a step whose root is eps is then CC-FedAvgM's.

    So the theorem's regime leaves nothing of the adaptivity of CC-FedAMS. Whole runs with delays agree exactly, too.
    """
    base, step = growth("ams").prove(timeout_ms=5000)
    found = identities(
        {"two coordinates": lambda draw: _same_step(draw, True)},
        without={"rate": {"eta / eps": lambda draw: _same_step(draw, False)}},
    )
    if not (base and step and _runs(False, 12)):
        return Finding(Verdict.UNKNOWN, f"{base}\n{step}")
    apart = Dropped(not _runs(True, 3), "eps = 1/4, eta_l G = 1: v_hat leaves eps^2 and the runs part")
    return Finding(
        found.verdict,
        f"v_hat = eps^2: {told([base, step])}\n{found.evidence}\n12 runs of 4 rounds of both algorithms agree exactly",
        {"small": apart, **found.dropped},
        found.second,
    )


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
    verdict=Verdict.PROVED,
    assumptions={
        "gradients": "no gradient is longer than G",
        "before": "|d_(t-1)| <= eta_l G, as for d_0 = 0",
        "rate": "eta_l >= 0",
        "beta": "0 <= beta < 1",
    },
)
def bounds() -> Finding:
    """Means stay in a ball, one member more at a time: of K gradients, of m clients, of the momentum and the change.

    That is by lengths and an inner product, in every dimension. Through CC-Local: one coordinate, a buffer of two
    clients with two steps each, and a step of an induction over rounds.
    """
    parts = {
        "any mean": decide(every_size.lengths, sample=every_size.on_the_line, ablate=False),
        "two clients, two steps": decide(_bounded, sample=_small),
    }
    return all_proved(parts)
