"""FedSAM: every local step uses the gradient at a point slightly uphill, where the batch's loss is higher.

    for each participating client i:
        y = x;  tau_i times: g = g_i(y);  z = y + radius g / (||g|| + eps)
                             y = y - eta_l g_i(z)                             (of one batch, from y and not from z)
    Delta = sum_i p_i (y_i - x)
    x = x + eta Delta

with the length over the whole model, p_i = 1/|S| and eta = 1. eps stands in the codes alone, as a guard where g = 0: a
client then looks where it is.

External: Qu et al. (2022), "Generalized Federated Learning via Sharpness Aware Minimization", arXiv 2206.02618, and
Caldarola, Caputo and Ciccone (2022), "Improving Generalization in Federated Learning by Seeking Flat Minima", arXiv
2203.11834, of both of which the abstract alone was opened. Witnesses: debcaldarola/fedsam at 64bbf93, the authors' code
of the second, models/clients/minimizers.py:49-68, sam_client.py:28-36 and models/servers/fedavg_server.py:132-148;
woodenchild95/FL-Simulator at 502bec6, optimizer/ESAM.py:21-74, client/fedsam.py and server/FedSAM.py;
bytedance/FedDecorr at 973e4af, approach/fedsam.py:73-152. All take both gradients of one batch and one length for all
tensors, with eps 1e-16, 1e-7 and 1e-12. The first and the third offer momentum and weight decay beside it, the second
clips the gradient at z to length 10; the first weighs by examples, the second by one and has a rate at the server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.arith import Scalar, Vector, norm
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Shares
from fedspec.records import record
from fedspec.rules import rule
from fedspec.server.average import average


@dataclass(frozen=True)
class FedSam(Hyper):
    """Hyper-parameters and readings of FedSAM."""

    eta_l: Scalar
    radius: Scalar
    eps: Scalar
    eta: Scalar = 1
    weights: Shares = Shares.UNIFORM


@record
class State:
    """The server's model."""

    x: Vector


@rule
def uphill(x: Vector, g: Vector, *, radius: Scalar, eps: Scalar) -> Vector:
    """Point of FedSAM's second gradient: uphill along the first gradient g, at most ``radius`` away.

        z = y + radius g / (||g|| + eps)           fedsam.z

    External: Caldarola, Caputo and Ciccone (2022); see the row ``fedsam`` for whose code has it so.
    """
    return x + radius * (g / (norm(g) + eps))


def init(h: FedSam, x: Vector, setup: Setup) -> State:
    """Initial state: the server keeps only its model."""
    return State(x=x)


def step(h: FedSam, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = x
        for k in range(tau):
            z = uphill(y, gradient(k, y), radius=h.radius, eps=h.eps)
            y = sgd(y, gradient(k, z), eta_l=h.eta_l)
        return y - x

    delta = weighted_mean(each(client, clients, plan, state.x), shares(plan.examples, state.x, h.weights))
    return State(x=average(state.x, delta, eta=h.eta)), {"delta": delta}


ROW = Algorithm(
    id="fedsam",
    family=Family.SERVERS,
    title="FedAvg whose clients take their gradients a little uphill (sharpness-aware minimisation)",
    source="external: Qu et al. (2022); Caldarola, Caputo and Ciccone (2022)",
    basis=Basis.CODE,
    levels=("round",),
    readings=(
        Reading(
            name="fl-simulator",
            formerly=("qu-2022",),
            words="p_i = 1/|S| and a rate at the server (woodenchild95/FL-Simulator at 502bec6)",
            fixes={"weights": "uniform"},
        ),
        Reading(
            name="caldarola-2022-code",
            formerly=("caldarola-2022",),
            words="means by examples (debcaldarola/fedsam at 64bbf93, with eta = 1)",
            fixes={"weights": "examples"},
        ),
    ),
    run=Program(hyper=FedSam, init=init, step=step),
    costs=Costs(
        down="m d",
        up="m d",
        working="2 d",
        server="d",
        note="a step asks for two gradients, and keeps y, or z - y, while it looks at z",
    ),
    facts=(Fact.ISOTROPIC,),
    denies={Fact.ADAPTIVE: "its server divides by nothing: the stabiliser is that of how far its clients look"},
    usual={"eps": 1e-12},
    traps=(
        phrases.DOWNHILL,
        "both gradients of a step are of one batch; uphill for one batch is nowhere in particular for another",
        "the step is taken from y: what led to z is taken back, exactly or but for rounding",
        "only the gradient at z moves y: where the first is not cleared, frameworks add the two",
        "the length is over the whole model; one for each tensor looks the same radius away in each of them",
        "g = 0 over 0 is NaN without eps: so it is at a minimum, and where no unit is active",
        "buffers of BatchNorm see two forward passes a step, the second of them at z",
    ),
    symbols={"radius": "rho", "tau_i": "K"},
    aliases={"sam": "its clients' optimiser"},
)
