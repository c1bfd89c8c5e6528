"""FedAda2: adaptive clients with SM3-compressed preconditioners that start from zero, under an adaptive server.

    for each participating client i (a multiset):
        x_i = x;  v_0 >= 0, by default 0, and mu_0(b) = v_0                       (line 4)
        for k = 1 .. K_i:
            g = g_i(x_i)                                                          (line 6)
            if (k - 1)/z is whole:                                                (SM3)
                v_k(j) = min over b with j in S_b of mu_(k-1)(b) + g(j)^2
                mu_k(b) = max over j in S_b of v_k(j)
            else: v_k = v_(k-1), mu_k = mu_(k-1)
            x_i = x_i - eta_l g / (sqrt(v_k) + eps), unless that step is short    (lines 11-12)
            x_i = x_i - eta_l wd x_i of before the step                           (ours; wd = 0)
        Delta_i = x_i - x                                                         (line 14)
    Delta = 1/|S| sum_i Delta_i                                                   (SU)
    m = beta1 m + (1 - beta1) Delta
    v = v + Delta^2 (AdaGrad), or beta2 v + (1 - beta2) Delta^2 (Adam)
    x = x + eta m / (sqrt(v) + tau)

A step is short if ||g / (sqrt(v_k) + eps)|| < eps_s. In the paper's runs the delay counts epochs, not steps (L1773).
In the runs on images the rate warms up in every round: eta_l min(1, k / warm_up) at step k (L1663).
Clients may run Adam over SM3's second moment instead. The paper has no weight decay: wd is AdamW's (external:
Loshchilov and Hutter, 2019), beside the step, so that neither the preconditioner nor the dead zone sees it.

Line 7 prints mu_k(b) = 0 at every k, updates or not; it contradicts Alg. 4, line 12, and the bound on v_k (L689).
mu_0 is not printed (Algs. 3 and 4: 0), and v_0 is never read: the printed start is that of v_0 = 0. Here mu_0(b) = v_0,
as the bound of L752 asks.
Source: FedAda2, Algs. 1 and 2 (L108, L667), eqs. (SM3) (L695) and (SU) (L100).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from fedspec import phrases
from fedspec.algorithms.joint_local import JointLocal
from fedspec.algorithms.server_update import LOCALLY, SYMBOLS, Covered, covered, server_update
from fedspec.arith import Scalar, Vector
from fedspec.client.delay import held, warmed
from fedspec.client.sm3_adam import begin as begin_adam
from fedspec.client.sm3_adam import sm3_adam
from fedspec.client.sm3_delayed import begin as begin_adagrad
from fedspec.client.sm3_delayed import sm3_ii_delayed
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading, v0_at_least_tau_squared
from fedspec.facts import Fact
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Adaptivity, CoverName, Idle
from fedspec.rules import rule

S_i = TypeVar("S_i", bound=Any)
"""Type of the state of a client's solver."""


@dataclass(frozen=True)
class FedAda2(JointLocal):
    """Hyper-parameters of FedAda2: joint adaptivity with delay z, dead zone eps_s, cover, clients' v_0 and decay."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **JointLocal.plays,
        **dict.fromkeys(("idle", "v0_l"), ("client=adagrad",)),
    }

    z: int = 1
    epoch: int = 1
    eps_s: Scalar = 0
    v0_l: Scalar = 0
    wd: Scalar = 0
    cover: CoverName = CoverName.AXES
    idle: Idle = Idle.CARRIED


@rule
def decayed(x: Vector, before: Vector, *, eta_l: Scalar, wd: Scalar) -> Vector:
    """Client's model after a step, with weight decay of the model before the step.

        x_i = x_i - eta_l wd x_i                  fedada2.x_i

    External: Loshchilov and Hutter (2019), the decay of AdamW.
    """
    return x - eta_l * wd * before


def init(h: FedAda2, x: Vector, setup: Setup) -> Covered:
    """Initial state: no momentum; second moment v_0, which the paper wants to be at least tau^2."""
    return covered(x, setup, v0=h.v0, cover=h.cover)


def step(h: FedAda2, state: Covered, clients: Clients, plan: Plan) -> tuple[Covered, dict[str, Any]]:
    """Run one round under any options."""
    S = state.cover

    def own(k: int) -> dict[str, Any]:
        eta_l = warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)
        return dict(eta_l=eta_l, eps=h.eps, z=h.z, epoch=h.epoch, eps_s=h.eps_s)

    def ended(y: S_i, after: S_i, k: int) -> S_i:
        after = replace(after, x=decayed(after.x, y.x, eta_l=own(k)["eta_l"], wd=h.wd))
        return held(y, after, k + 1, h.warm_up_from)

    def adagrad_client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = begin_adagrad(x, S, v0=h.v0_l)
        for k in range(tau):
            g = gradient(k, y.x)
            y = ended(y, sm3_ii_delayed(y, g, S, **own(k), idle=h.idle), k)
        return y.x - x

    def adam_client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = begin_adam(x, S)
        for k in range(tau):
            g = gradient(k, y.x)
            y = ended(y, sm3_adam(y, g, S, beta1=h.beta1_l, beta2=h.beta2_l, **own(k)), k)
        return y.x - x

    client = adam_client if h.client is Adaptivity.ADAM else adagrad_client
    deltas = each(client, clients, plan, state.x)
    server, shown = server_update(
        state.server, deltas, plan, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau, server=h.server
    )
    return replace(state, server=server), shown


ROW = Algorithm(
    id="fedada2",
    family=Family.JOINT,
    place=3,
    title="adaptive clients with SM3, adaptive server",
    source="FedAda2, Algs. 1 and 2 (L108, L667); SM3-Adam clients: external, a reconstruction",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="fedada2",
            words="local preconditioners start from zero, SM3-II, dead zone eps_s",
            requires=(v0_at_least_tau_squared("fedada2"),),
        ),
    ),
    run=Program(hyper=FedAda2, init=init, step=step, takes=("layers", "repeats")),
    costs=Costs(down="m d", up="m d", working="2 d + q", server="3 d", note=f"AdaGrad clients; {phrases.NU_IS_SPARE}"),
    traps=(
        phrases.LOCAL_FRESH,
        phrases.FIRST_OF_EVERY_Z,
        phrases.DEAD_ZONE,
        phrases.PRINTED_MU_0,
        phrases.WARM_UP,
        "sampling is with repetition; |S| counts it",
    ),
    facts=(Fact.JOINT,),
    symbols={**SYMBOLS, **LOCALLY, "beta2": "beta~_2", "v0_l": "v_0", "nu": "v_k"},
    aliases={"fedada2++": "FedAda2++ in v3 of the paper (NeurIPS 2025); what v3 calls FedAda2 is joint-local here"},
)
