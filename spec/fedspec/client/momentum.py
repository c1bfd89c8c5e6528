"""Local momentum; the buffer u starts each round at zero."""

from __future__ import annotations

from fedspec import phrases
from fedspec.arith import Count, Scalar, Vector, zeros
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.facts import Fact
from fedspec.readings import BufferStart
from fedspec.records import record
from fedspec.rules import rule


@record
class Momentum:
    """A local model and its momentum buffer."""

    x: Vector
    u: Vector


def begin(x: Vector) -> Momentum:
    """The state at the start of a round: the server's model, an empty buffer."""
    return Momentum(x=x, u=zeros(x))


@rule
def momentum(state: Momentum, g: Vector, *, eta_l: Scalar, rho: Scalar) -> Momentum:
    """Local step of heavy-ball momentum; the step uses the new buffer.

        u = rho u + g                              momentum.u
        x = x - eta_l u                            momentum.step

    Accumulation vector a_k = (1 - rho^(tau-k)) / (1 - rho). Source: FedNova, eqs. (35)-(36).
    """
    u = rho * state.u + g
    x = state.x - eta_l * u
    return Momentum(x=x, u=u)


@rule
def nesterov(state: Momentum, g: Vector, *, eta_l: Scalar, rho: Scalar) -> Momentum:
    """Local step of Nesterov's momentum in the form that looks ahead along the new buffer.

        u = rho u + g                              nesterov.u
        x = x - eta_l (g + rho u)                  nesterov.step

    Accumulation vector a_k = (1 - rho^(tau-k+1)) / (1 - rho). External: Sutskever et al. (2013) in the variables
    of deep-learning libraries.
    """
    u = rho * state.u + g
    x = state.x - eta_l * (g + rho * u)
    return Momentum(x=x, u=u)


@rule
def dampened(
    state: Momentum, g: Vector, *, k: Count, eta_l: Scalar, rho: Scalar, start: BufferStart = BufferStart.ZERO
) -> Momentum:
    """Local step k = 0, 1, ... of momentum whose buffer is an average of gradients.

        u = rho u + (1 - rho) g                    dampened.u
        u = g if k = 0, else rho u + (1 - rho) g   dampened.u [start=first-gradient]
        x = x - eta_l u                            dampened.step

    Accumulation vector a_k = 1 - rho^(tau-k). The other reading starts the buffer at the first gradient, u = g.
    External: textbook exponential averaging; torch.optim documents the other.
    """
    # 1 * g is a copy: the gradient may live in a buffer that is used again.
    u = 1 * g if start is BufferStart.FIRST_GRADIENT and k == 0 else rho * state.u + (1 - rho) * g
    x = state.x - eta_l * u
    return Momentum(x=x, u=u)


@rule
def momentum_proximal_outside(
    state: Momentum, g: Vector, anchor: Vector, *, eta_l: Scalar, rho: Scalar, mu: Scalar
) -> Momentum:
    """Local step of momentum with the proximal pull added to the step, not to the buffer.

        u = rho u + g                              momentum-proximal-outside.u
        x = x - eta_l (u + mu (x - anchor))        momentum-proximal-outside.step

    Accumulation vector a_k = ((1-alpha)^n - rho^n) / (1-alpha-rho), n = tau-k. External: FedNova treats
    momentum and the proximal term apart (Apps. B.1 and B.2); this is one way of having both.
    """
    u = rho * state.u + g
    x = state.x - eta_l * (u + mu * (state.x - anchor))
    return Momentum(x=x, u=u)


@rule
def momentum_proximal_inside(
    state: Momentum, g: Vector, anchor: Vector, *, eta_l: Scalar, rho: Scalar, mu: Scalar
) -> Momentum:
    """Local step of momentum with the proximal pull treated as part of the gradient.

        u = rho u + g + mu (x - anchor)            momentum-proximal-inside.u
        x = x - eta_l u                            momentum-proximal-inside.step

    Accumulation vector: a_k = y_(tau-k), y_(n+1) = (1+rho-alpha) y_n - rho y_(n-1), y_0 = 0, y_1 = 1; it can have
    negative entries when alpha > (1 - sqrt(rho))^2. External: the other way.
    """
    u = rho * state.u + g + mu * (state.x - anchor)
    x = state.x - eta_l * u
    return Momentum(x=x, u=u)


_RESET = "the buffer is zeroed at the start of every round, for each client"

ROWS = (
    Algorithm(
        id="momentum",
        family=Family.LOCAL_SOLVERS,
        place=5,
        title="heavy-ball momentum, buffer reset each round",
        source="FedNova, eqs. (35)-(36)",
        basis=Basis.READ,
        levels=("client",),
        readings=(Reading(name="fednova", words="u = rho u + g, no dampening, the step uses the new buffer"),),
        run=LocalSolver(rule=momentum, begin=begin),
        costs=Costs(working="2 d"),
        traps=(_RESET, "the step uses the new buffer, which is not dampened: u = rho u + g"),
        facts=(Fact.ISOTROPIC,),
        symbols={"eta_l": "eta", "u": "u_i^(t,k)"},
    ),
    Algorithm(
        id="nesterov",
        family=Family.LOCAL_SOLVERS,
        place=6,
        title="Nesterov momentum, buffer reset each round",
        source="external: Sutskever et al. (2013)",
        basis=Basis.MEMORY,
        levels=("client",),
        readings=(Reading(name="textbook", words="u = rho u + g, step along g + rho u"),),
        run=LocalSolver(rule=nesterov, begin=begin),
        costs=Costs(working="2 d"),
        traps=(_RESET, "the step is g + rho u with the new u", "a single step is (1 + rho) g already"),
        facts=(Fact.ISOTROPIC,),
    ),
    Algorithm(
        id="dampened",
        family=Family.LOCAL_SOLVERS,
        place=7,
        title="momentum as an exponential average of gradients",
        source="external: textbook",
        basis=Basis.MEMORY,
        levels=("client",),
        readings=(
            Reading(name="textbook", words="u = rho u + (1 - rho) g from u = 0", fixes={"start": "zero"}),
            Reading(
                name="first-gradient", words="the same, but u = g at the first step", fixes={"start": "first-gradient"}
            ),
        ),
        run=LocalSolver(rule=dampened, begin=begin),
        costs=Costs(working="2 d"),
        traps=(_RESET, "whether the first gradient enters whole or by 1 - rho is a reading"),
        facts=(Fact.ISOTROPIC,),
    ),
    Algorithm(
        id="momentum-proximal-outside",
        family=Family.LOCAL_SOLVERS,
        place=8,
        title="momentum with the proximal pull added to the step",
        source="external: FedNova treats the two apart (Apps. B.1, B.2)",
        basis=Basis.OURS,
        levels=("client",),
        readings=(Reading(name="outside", words="the pull mu (x - anchor) does not enter the buffer"),),
        run=LocalSolver(rule=momentum_proximal_outside, begin=begin),
        costs=Costs(working="3 d", note="buffer and anchor"),
        traps=(_RESET, phrases.ANCHOR_IS_OLD, "||a||_1 differs from that of the form inside the buffer"),
    ),
    Algorithm(
        id="momentum-proximal-inside",
        family=Family.LOCAL_SOLVERS,
        place=9,
        title="momentum with the proximal pull inside the buffer",
        source="external: FedNova treats the two apart (Apps. B.1, B.2)",
        basis=Basis.OURS,
        levels=("client",),
        readings=(Reading(name="inside", words="the pull mu (x - anchor) is part of the gradient"),),
        run=LocalSolver(rule=momentum_proximal_inside, begin=begin),
        costs=Costs(working="3 d", note="buffer and anchor"),
        traps=(
            _RESET,
            phrases.ANCHOR_IS_OLD,
            "entries of a can be negative for alpha > (1 - sqrt(rho))^2; their sum is then no norm",
        ),
    ),
)
