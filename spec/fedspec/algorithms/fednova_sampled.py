"""FedNova with sampled clients: a round draws q of the m clients.

    draw S, q of the m clients
    for each i in S:
        x_i = x;  tau_i local steps of a solver with accumulation vector a_i
        d_i = (x - x_i) / (eta_l ||a_i||_1)
    tau_eff = sum over S of w_i ||a_i||_1
    x = x - tau_eff sum over S of w_i eta_l d_i

with w_i = p_i / sum over S of p_j in the box, which is not unbiased, w_i = 1/q or w_i = p_i m/q under the two schemes
that are. The box is canonical, since it runs and keeps to its text: tau_eff is "the same as FedAvg" (L961) when it is
divided by the sample's share as the weights are. The sum of L961, which is not divided, makes the step smaller than
FedAvg's by that share; it is a reading, and so are the unbiased schemes, which the paper analyses and does not print as
an algorithm. Source: FedNova, Alg. 1 (L962-971), footnote 1 (L87) and App. G (L839). How S is drawn is the plan's; a
client drawn twice trains once for each draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fedspec.algorithms.fednova import SYMBOLS
from fedspec.algorithms.local import READ_BY, local_norm, local_run
from fedspec.arith import Scalar, Vector, Weights, numbered, numbers
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.errors import PlanError
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.nova import normalised_gradient
from fedspec.mixing.sampling import sampled_steps, sampled_update, sampled_weights
from fedspec.mixing.weighted import shares
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import SampledSteps, SampledWeights, Solver
from fedspec.records import record


@dataclass(frozen=True)
class FedNovaSampled(Hyper):
    """Hyper-parameters and readings of sampled FedNova; mu, rho and gamma belong to the local solver."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {**READ_BY, "tau_eff": ("sampled_steps=fixed",)}

    eta_l: Scalar
    mu: Scalar = 0
    rho: Scalar = 0
    gamma: Scalar = 1
    tau_eff: Scalar = 1
    solver: Solver = Solver.SGD
    sampled_weights: SampledWeights = SampledWeights.SELF_NORMALISED
    sampled_steps: SampledSteps = SampledSteps.SAMPLE


@record
class State:
    """The server's model, and the shares of all clients."""

    x: Vector
    p: Weights


def init(h: FedNovaSampled, x: Vector, setup: Setup) -> State:
    """Initial state: the server's model, and the clients' shares, which never change."""
    return State(x=x, p=shares(setup.examples, x))


def check_distinct(plan: Plan) -> None:
    """Raise PlanError if the plan draws a client twice.

    Raises:
        PlanError: a client is named twice.
    """
    if len({*plan.participants}) < len(plan.participants):
        raise PlanError(f"participants: {plan.participants} names a client twice; draw without replacement here")


def step(h: FedNovaSampled, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round.

    Raises:
        PlanError: the plan draws a client twice, although clients are drawn without replacement.
    """
    S = list(plan.participants)
    if h.sampled_weights is not SampledWeights.WITH_REPLACEMENT:
        check_distinct(plan)

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> tuple[Vector, Scalar]:
        x_i = local_run(h, x, gradient, tau)
        a_i = local_norm(h, tau)
        return normalised_gradient(x_i - x, eta_l=h.eta_l, a_norm=a_i), a_i

    p = state.p[numbered(S, state.p)]
    d, a = each(client, clients, plan, state.x)
    w = sampled_weights(p, clients=len(state.p), sampled_weights=h.sampled_weights)
    tau_eff = sampled_steps(p, w, numbers(a, p), sampled_steps=h.sampled_steps, tau_eff=h.tau_eff)
    x = sampled_update(state.x, d, w, tau_eff=tau_eff, eta_l=h.eta_l)
    return replace(state, x=x), {"w": w, "tau_eff": tau_eff}


ROW = Algorithm(
    id="fednova-sampled",
    family=Family.CONTROL,
    place=6,
    title="normalised averaging over sampled clients",
    source="FedNova, Alg. 1 (L962-971), footnote 1 (L87) and App. G (L839)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="box",
            words="Alg. 1, line 6: weights p_i over their sum in the sample, tau_eff from the sample; biased",
            fixes={"sampled_weights": "self-normalised", "sampled_steps": "sample"},
        ),
        Reading(
            name="box-with-text",
            words="the weights of Alg. 1 with the tau_eff of the text before it (L961), a sum that is not divided",
            fixes={"sampled_weights": "self-normalised", "sampled_steps": "sum"},
        ),
        Reading(
            name="with-replacement",
            words="scheme (i) and App. G: weights 1/q for every draw, tau_eff a constant; unbiased",
            fixes={"sampled_weights": "with-replacement", "sampled_steps": "fixed"},
        ),
        Reading(
            name="with-replacement-sampled-steps",
            words="scheme (i) with tau_eff from the sample: the objective inconsistency is back at order 1/q",
            fixes={"sampled_weights": "with-replacement", "sampled_steps": "sample"},
        ),
        Reading(
            name="without-replacement",
            words="scheme (ii): weights p_i m/q, tau_eff a constant; unbiased",
            fixes={"sampled_weights": "without-replacement", "sampled_steps": "fixed"},
        ),
        Reading(
            name="without-replacement-sampled-steps",
            words="scheme (ii) with tau_eff from the sample, sum of p_i m/q ||a_i||_1: biased, unlike tau_eff alone",
            fixes={"sampled_weights": "without-replacement", "sampled_steps": "sample"},
        ),
    ),
    run=Program(hyper=FedNovaSampled, init=init, step=step, takes=("repeats",)),
    costs=Costs(
        down="m d",
        up="m (d + 1)",
        server="d",
        note="m here: those drawn, q in the box; a client that is drawn twice counts twice",
    ),
    traps=(
        "tau_eff made from the sample brings the inconsistency back at order 1/q",
        "weights 1/q belong to draws with replacement, p_i m/q to draws without; p_i over the sample's sum to neither",
        "box and text disagree on whether tau_eff is divided by the sample's share",
    ),
    facts=(Fact.AFFINE, Fact.COUNTS_ALL),
    symbols=SYMBOLS,
)
