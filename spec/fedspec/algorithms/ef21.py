"""EF21: clients send the largest entries of the difference between their gradient and the server's estimate of it.

    every client i:
        c_i = C(grad f_i(x) - g_i)          (g_i = 0 before the first round)
        g_i = g_i + c_i
    g = 1/n sum_i g_i
    x = x - eta g

Server and client keep the same g_i, since it is made of what was sent; the server needs their mean alone. A round has
one gradient of each client and no local steps, and everybody takes part. The source takes its step first and asks for
gradients then: the same sequence, whose rounds end elsewhere.

The print begins at g_i^0 = C(grad f_i(x^0)), so that the first message is compressed as all others are. The authors'
code sends the first gradients whole, c_i = grad f_i(x): that is the other reading.

External: Richtarik, Sokolov and Fatkhullin (2021), "EF21: A New, Simpler, Theoretically Better, and Practically Faster
Error Feedback", whose Algorithm 1 was opened on the authors' poster: ``IgorSokoloff/ef21_experiments_source_code``,
``poster.pdf`` at f8a3293. Their code: ``Logistic regression/bdfg_distributed_stable.py``, lines 41-86 at 805c9d7 there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.arith import Scalar, Stack, Vector, stack, zeros
from fedspec.client.compress import compress
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.errors import PlanError
from fedspec.hyper import NOT_GIVEN, Hyper
from fedspec.mixing.tracked import descend, learnt, mean_estimate, unknown
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Compressor, FirstMessage
from fedspec.records import record


@dataclass(frozen=True)
class Ef21(Hyper):
    """Hyper-parameters and options of EF21."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {"kept": ("compressor=top-k",)}

    eta: Scalar
    kept: int = NOT_GIVEN
    compressor: Compressor = Compressor.TOP_K
    first: FirstMessage = FirstMessage.COMPRESSED


@record
class State:
    """The server's model, its estimates of every client's gradient, and the number of rounds done."""

    x: Vector
    g_i: Stack
    t: int


def init(h: Ef21, x: Vector, setup: Setup) -> State:
    """Initial state: the server's estimates of all gradients are zero."""
    return State(x=x, g_i=stack([zeros(x)] * setup.clients), t=0)


def step(h: Ef21, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round.

    Raises:
        PlanError: a client doesn't take part, or takes more than one local step.
    """
    plan, g_i = one_gradient(plan, len(clients)), state.g_i
    whole = state.t == 0 and h.first is FirstMessage.WHOLE

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> tuple[Vector, Vector]:
        p_i = unknown(gradient(0, x), g_i[i])
        c_i = p_i if whole else compress(p_i, h.compressor, h.kept)
        return c_i, learnt(g_i[i], c_i)

    c_i, g_i = each(client, clients, plan, state.x)
    g = mean_estimate(g_i)
    return State(x=descend(state.x, g, eta=h.eta), g_i=g_i, t=state.t + 1), {"c_i": c_i, "g_i": g_i, "g": g}


def one_gradient(plan: Plan, n: int) -> Plan:
    """Plan in client order, if all n clients take part with one step each; else raise PlanError.

    Raises:
        PlanError: a client doesn't take part, or takes more than one local step.
    """
    if set(plan.steps) != {1}:
        raise PlanError(
            f"steps: got {plan.steps}; this algorithm takes one gradient of each client a round, so give 1 for each"
        )
    return plan.of_everyone(n)


ROW = Algorithm(
    id="ef21",
    family=Family.COMPRESSED,
    place=3,
    title="compressed differences of gradients",
    source="external: Richtarik, Sokolov and Fatkhullin (2021)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="richtarik-2021",
            formerly=("compressed-start",),
            words="the first message is compressed too, g_i^0 = C(grad f_i(x^0)) (Algorithm 1 on the authors' poster; "
            "so in NoblFriend/dgd_code_spring2024, cifar/utils/ef21.py at 1c1ff22)",
            fixes={"first": "compressed"},
        ),
        Reading(
            name="richtarik-2021-code",
            words="the first gradients are sent whole, as the authors' code has it",
            fixes={"first": "whole"},
        ),
    ),
    run=Program(hyper=Ef21, init=init, step=step, takes=("everyone", "one-step")),
    costs=Costs(
        down="n d",
        up="n k",
        client="d",
        server="d",
        note="under top-k, the k places not counted; the mean of the g_i is another d",
    ),
    traps=(
        phrases.EVERYONE,
        "the step is along the state g, not along the mean of the messages",
        "what is compressed is the difference to what was sent so far, not the gradient",
        "the client's g_i is made of what it sent: a state that holds the exact gradient was never sent",
        "compare rounds, not limits: a state that was never sent has the same limit",
    ),
    symbols={"eta": "gamma", "kept": "k"},
)
