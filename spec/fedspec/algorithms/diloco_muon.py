"""DiLoCo with Muon: clients run Muon and keep its momentum; the server takes a Nesterov step along their mean change.

    for each client i of the round:
        x_i = x;  m_i as it left it
        H times:
            m_i = rho m_i + g_i(x_i)
            for each block, a matrix of r rows and c columns:
                O = m_i / (||m_i|| + eps)
                ns_steps times, k = 0, 1, ...:  O = a_k O + (b_k O O' + c_k (O O')^2) O
                x_i = x_i - eta_l wd x_i - eta_l sqrt(r / c) O
        Delta_i = x_i - x
    Delta = 1/|S| sum_i Delta_i
    v = beta v + Delta
    x = x + eta (Delta + beta v)

The blocks of the model are matrices; there are no others. MuLoCo's codes give vectors, embeddings and the last layer to
AdamW, which is no part of this row. So is their bfloat16, in which they iterate. The paper's algorithm was not at hand:
the box follows the two codes of its authors, which agree on Muon. They write the outer step in two ways with the same
models, unless the rate changes.

External: Therien et al. (2025), "MuLoCo: Muon is a practical inner optimizer for DiLoCo", arXiv 2505.23725.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.arith import Scalar, Stack, Vector, concatenate, flat, matrix, norm, numbers, put, sqrt, stack, zeros
from fedspec.client.muon import QUINTICS, Muon, muon, quintic
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.params import matrices
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Coefficients, LookAhead, MatrixLength, MatrixScale, Rated, Summed, Weighting
from fedspec.records import record
from fedspec.server.momentum import ServerMomentum
from fedspec.server.outer_momentum import outer_momentum


@dataclass(frozen=True)
class DiLoCoMuon(Hyper):
    """Hyper-parameters and readings: rho, eps, wd and ns_steps are Muon's at the clients, eta and beta the server's."""

    eta_l: Scalar
    rho: Scalar
    eps: Scalar
    wd: Scalar
    ns_steps: int
    eta: Scalar
    beta: Scalar
    momentum: Summed = Summed.SUM
    ahead: LookAhead = LookAhead.NONE
    length: MatrixLength = MatrixLength.PLUS
    coefficients: Coefficients = Coefficients.MULOCO
    scale: MatrixScale = MatrixScale.SPECTRAL
    rated: Rated = Rated.STEP
    weights: Weighting = Weighting.UNIFORM


@record
class State:
    """The server's model and outer momentum, every client's Muon momentum, and the shapes of the model's blocks.

    Attributes:
        x: the model.
        v: the outer momentum.
        m_i: every client's momentum as its last round left it.
        shapes: the rows and columns of each block.
    """

    x: Vector
    v: Vector
    m_i: Stack
    shapes: tuple[tuple[int, ...], ...]


def init(h: DiLoCoMuon, x: Vector, setup: Setup) -> State:
    """Initial state: all momenta at zero."""
    blocks = tuple(tuple(shape) for shape in setup.shapes.values())
    return State(x=x, v=zeros(x), m_i=stack([zeros(x)] * setup.clients), shapes=blocks)


def moved(x: Vector, m: Vector, shapes: Sequence[Sequence[int]], h: DiLoCoMuon) -> Vector:
    """Local step along the momentum, block by block, in the canonical reading."""
    new, known = [], QUINTICS[Coefficients.MULOCO]
    for l, (r, c) in matrices(shapes, m.shape[-1]):
        O = matrix(m[..., l] / (norm(m[..., l]) + h.eps), (r, c))
        for k in range(h.ns_steps):
            O = quintic(O, *known[min(k, len(known) - 1)])
        x_l, O_l = x[..., l], flat(O)
        new.append(x_l - h.eta_l * h.wd * x_l - h.eta_l * sqrt(numbers([r], O_l) / c) * O_l)
    return concatenate(new)


def after(state: State, plan: Plan, *, x: Vector, v: Vector, m_i: Stack) -> State:
    """State after a round, with the new values of the server and of the participants."""
    return State(x=x, v=v, m_i=put(state.m_i, list(plan.participants), m_i), shapes=state.shapes)


def step(h: DiLoCoMuon, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round under any options."""

    def client(i: int, x: Vector, gradient: Oracle, H: int) -> tuple[Vector, Vector]:
        y = Muon(x=x, m=state.m_i[i])
        for k in range(H):
            y = muon(y, gradient(k, y.x), state.shapes, **h.of(muon))
        return y.x - x, y.m

    deltas, m_i = each(client, clients, plan, state.x)
    delta = weighted_mean(deltas, shares(plan.examples, state.x, h.weights, plan.steps))
    outer = outer_momentum(ServerMomentum(x=state.x, v=state.v), delta, eta=h.eta, beta=h.beta, rated=h.rated)
    return after(state, plan, x=outer.x, v=outer.v, m_i=m_i), {}


_MULOCO = {"momentum": "sum", "length": "plus-eps", "coefficients": "muloco"}

ROW = Algorithm(
    id="diloco-muon",
    family=Family.SERVERS,
    title="Muon clients that keep their momentum, Nesterov's momentum on the server",
    source="external: Therien et al. (2025); as the codes of its authors have it",
    basis=Basis.CODE,
    levels=("round",),
    readings=(
        Reading(
            name="muloco",
            words="v = beta v + Delta, x = x + eta (Delta + beta v) around MuLoCo's Muon (facebookresearch/MuLoCo at "
            "475bbf4, torchft/torchft/local_sgd.py:372-374 and 613-692; torchtitan/config/diloco/2x_4gpu_muloco.py:"
            "1-19, 63 and 127-133; torchtitan/torchtitan/experiments/dion_optimizer/muon.py:608-736, and there "
            "newton_schulz_triton.py:339-377)",
            fixes={**_MULOCO, "rated": "step"},
        ),
        Reading(
            name="muloco-1",
            words="v = beta v + eta Delta, x = x + eta Delta + beta v: other models only where eta changes (bentherien/"
            "muloco-1 at 33cc333, muloco/pytorch/muloco.py:25-58, 135-186 and 346-362, there for one client)",
            fixes={**_MULOCO, "rated": "buffer"},
        ),
        Reading(
            name="torch",
            words="as muloco, around torch.optim.Muon (ahead=nesterov; scale=original or match-rms-adamw) and with "
            "torch's SGD: made of the rows muon and diloco, as no code that was opened has it",
            fixes={"momentum": "average", "length": "at-least-eps", "coefficients": "jordan", "rated": "step"},
        ),
    ),
    # Its outer momentum is in no stored vector: models alone are compared.
    shows=(),
    run=Program(hyper=DiLoCoMuon, init=init, step=step, takes=("layers",)),
    costs=Costs(down="m d", up="m d", client="d", working="3 d", server="2 d"),
    traps=(
        phrases.DOWNHILL,
        "Muon's momentum lives in the client from round to round, and is neither sent nor reset",
        "what is orthogonalised is a client's momentum, block by block; the outer momentum is not",
        "a block goes into the iteration as a matrix: of a vector all directions are one",
        "five iterations do not end at 1, nor do mean changes: the mean of orthogonal steps is not orthogonal",
        "the step uses the new buffer and the mean change beside it: eta (Delta + beta v)",
    ),
    denies={Fact.ADAPTIVE: "its server divides by nothing: the stabiliser is that of its clients' own steps"},
    usual={"eta_l": 0.02, "rho": 0.95, "eps": 1e-8, "wd": 0.01, "ns_steps": 5, "eta": 0.7, "beta": 0.6},
    symbols={"x": "theta", "rho": "mu", "wd": "lambda", "beta": "outer momentum", "Delta": "-Delta^(t)"},
)
