"""q-FedAvg: clients with higher losses count for more, and a bound of the curvature sets the step's length.

    L = 1 / eta_l
    for each client i of the round:
        F_i = F_i(x) + guard                                   (over all its examples, before it moves)
        Delta_i = y_i - x after tau_i steps of SGD from x
        g_i = -L Delta_i
        d_i = F_i^q g_i
        b_i = q F_i^(q - 1) ||g_i||^2 + L F_i^q
    x = x - sum_i d_i / sum_i b_i

Where each takes one step, d_i is the gradient of F_i^(q + 1) / (q + 1) at x, and b_i bounds the eigenvalues of its
Hessian there if L bounds those of F_i's. With q = 0 it is FedAvg with equal weights; a large q follows who loses most.
Who takes part is drawn by shares p_i in the paper, so that nobody is weighed again. The authors' code draws so if its
sampling is 2, and alike from all clients if it is 1 (flearn/trainers/fedbase.py:116-148 at f097971), and weighs nobody
either way. The paper has no guard; codes add a little to each loss, whose power may be negative.

External: Li, Sanjabi, Beirami and Smith (2020), "Fair Resource Allocation in Federated Learning", arXiv 1905.10497,
Algorithm 2, as the authors' code has it: litian96/fair_flearn at 578cca2, flearn/trainers/qffedavg.py, where the guard
is 1e-10. So it is in Flower's (flwrlabs/flower at 3d7dfd4, flwr/serverapp/strategy/qfedavg.py) and in FedLab's
(SMILELab-FL/FedLab at 698746e, fedlab/contrib/algorithm/qfedavg.py); 1e-8 in flgo's (WwZzz/easyFL at 1180ebd,
flgo/algorithm/qfedavg.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import losses_of, together
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.domains import Dimension
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.fair import fair_parts, fair_step
from fedspec.plan import Inbox


@dataclass(frozen=True)
class QFedAvg(Hyper):
    """Hyper-parameters of q-FedAvg."""

    eta_l: Scalar
    q: Scalar
    guard: Scalar = 0


def init(h: QFedAvg, x: Vector) -> Vector:
    """Initial state: the server keeps only its model."""
    return x


def server(h: QFedAvg, x: Vector, messages: Inbox) -> tuple[Vector, dict[str, Any]]:
    """Weight every change by its client's loss and take one step.

    Raises:
        PlanError: a message has no loss, or a loss that isn't positive.
    """
    sent = together(messages)
    F = losses_of(sent, x, guard=h.guard)
    d_i, b_i = fair_parts(sent.deltas, F, eta_l=h.eta_l, q=h.q, guard=h.guard)
    return fair_step(x, d_i, b_i), {"d_i": d_i, "b_i": b_i[:, 0]}


ROW = Algorithm(
    id="q-fedavg",
    family=Family.SERVERS,
    title="FedAvg in which who loses more counts for more",
    source="external: Li, Sanjabi, Beirami and Smith (2020)",
    basis=Basis.CODE,
    levels=("server", "round"),
    readings=(
        Reading(
            name="li-2020-code",
            formerly=("li-2020",),
            words="x = x - sum_i F_i^q g_i / sum_i (q F_i^(q - 1) ||g_i||^2 + F_i^q / eta_l), "
            "g_i = -Delta_i / eta_l, F_i = F_i(x) + guard of the model that the round began with; "
            "the paper has no guard: 0",
        ),
    ),
    run=Method(
        hyper=QFedAvg,
        init=init,
        server=server,
        local=local_sgd,
        norm=sgd_norm,
        whole=True,
        losses=True,
        reads=("eta_l",),
    ),
    costs=Costs(down="m d", up="m (d + 1)", server="d"),
    dimensions={"guard": Dimension.SQUARE},
    facts=(Fact.ISOTROPIC,),
    denies={
        "coordinates": "its b_i is one number over the whole model",
    },
    traps=(
        phrases.DOWNHILL,
        "F_i is of the model that the client received, over all its examples: not of the model after its steps, no "
        "mean over the batches on its way, no sum of them",
        "every client has a loss of its own; of one loss for all nothing is fair",
        "the length in b_i is squared, over the whole model, and of g_i, which has L in it",
        "b_i has F_i to the power q - 1 in its first term, and L in its second",
        "nobody is weighed by examples: q = 0 is the plain mean",
        "a loss of 0 has no power q - 1: codes have a guard, in both powers",
    ),
    symbols={"tau_i": "E", "d_i": "Delta_k^t", "b_i": "h_k^t", "g_i": "Delta w_k^t"},
    aliases={"q-ffl": "the objective that it descends on"},
)
