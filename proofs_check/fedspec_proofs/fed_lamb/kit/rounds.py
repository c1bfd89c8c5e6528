"""Rounds of the specification's Fed-LAMB, and the proofs' quantities computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms import fedlamb, local_ams
from fedspec.algorithms.fedlamb import FedLamb
from fedspec.algorithms.local_ams import State
from fedspec.arith import Stack, Vector, norm, sqrt
from fedspec.client.lamb import precondition, scaling
from fedspec.plan import Oracle, Plan, Setup
from fedspec.readings import Averaged, ClientMemory, LocalCorrection, LocalGradient, Normalisation, Phi, Sent
from fedspec_proofs.fed_lamb.kit.problems import Problem, vector
from fedspec_proofs.fed_lamb.kit.shared import constant, quiet
from fedspec_proofs.words import as_text

F = Fraction
ZERO, ONE, HALF, HUNDREDTH = F(0), F(1), F(1, 2), F(1, 100)

SETTING: dict[str, Any] = {
    "eta_l": F(1, 10),
    "beta1": F(0),
    "beta2": F(99, 100),
    "eps": F(0),
    "v0": F(1),
    "phi": Phi.CONSTANT,
    "bias_correction": LocalCorrection.NONE,
    "gradient": LocalGradient.FRESH,
    "memory": ClientMemory.CARRIED,
    "sent": Sent.RAW,
    "averaged": Averaged.PARTICIPANTS,
    "normalisation": Normalisation.LAYER,
}
"""Hyper-parameters of the proofs: no stabiliser in the denominator, no bias correction, lam = 0; phi = 1 meets H4.

Every reading is named, so that these claims do not depend on the specification's canonical readings: moments are
carried over the rounds. Nothing counts t here; a claim that corrects a bias names what t counts, too.

In a layer of one coordinate a step is alpha phi times a sign, whatever the stabiliser and the scale of the moments are.
"""


def lamb(**changes: Any) -> FedLamb:
    """Hyper-parameters of Fed-LAMB as in the proofs, with changes."""
    return FedLamb(**{**SETTING, **changes})


def begin(h: FedLamb, x: Vector, n: int, sizes: Sequence[int] = ()) -> State:
    """Initial state for n clients; layers of one coordinate unless sizes are given."""
    shapes = {f"l{k}": (size,) for k, size in enumerate(sizes or [1] * len(x))}
    return fedlamb.init(h, x, Setup((1,) * n, shapes))


def one_round(h: FedLamb, state: State, clients: Sequence[Oracle], T: int = 1, who: Sequence[int] = ()) -> State:
    """State after a round in which all clients take part, or the clients in ``who``."""
    S = tuple(who or range(len(clients)))
    return fedlamb.step(h, state, clients, Plan(S, (T,) * len(S), (1,) * len(S)))[0]


def run(
    h: FedLamb,
    state: State,
    clients: Sequence[Oracle],
    R: int,
    T: int = 1,
    rate: Callable[[int], Any] | None = None,
) -> list[State]:
    """States before the first and after each of R rounds; ``rate(r)``, if given, is the rate of round r = 1, 2, ..."""
    states = [state]
    for r in range(1, R + 1):
        now = replace(h, eta_l=rate(r)) if rate else h
        states.append(one_round(now, states[-1], clients, T))
    return states


def local_models(h: FedLamb, state: State, clients: Sequence[Oracle], T: int) -> Stack:
    """Model of each client after T local steps, as the result of a round with this client alone."""
    return np.stack([one_round(h, state, clients, T, (i,)).x for i in range(len(clients))])


@dataclass(frozen=True)
class Seen:
    """Quantities of the proofs for a round with T = 1; arrays are [client, coordinate].

    Attributes:
        x: the model at the beginning of the round.
        v_hat: the denominator v_hat of the round.
        g: the clients' gradients.
        old: the clients' m before the round.
        m: the clients' m after the round.
        p: the ratios p of the LAMB step.
        Gamma: phi / (sqrt(v_hat) ||p^l||), coordinate by coordinate (L629); 0 where ||p^l|| = 0.
        g_bar: phi g^l / ||p^l|| (L733).
    """

    x: Vector
    v_hat: Vector
    g: Stack
    old: Stack
    m: Stack
    p: Stack
    Gamma: Stack
    g_bar: Stack


def round_quantities(h: FedLamb, state: State, clients: Sequence[Oracle]) -> Seen:
    """Quantities of the proofs for the round that begins with this state."""
    rows: list[list[Vector]] = [[], [], [], [], [], []]
    for i, oracle in enumerate(clients):
        g = oracle(0, state.x)
        own, p = precondition(local_ams.begin(h, state, i), g, state.v_hat, **h.of(precondition))
        factor = np.concatenate([_factor(h, state.x[at], p[at]) for at in state.layers])
        of_it = (g, state.m_i[i], own.m_i, p, factor / sqrt(state.v_hat), factor * g)
        for row, value in zip(rows, of_it, strict=True):
            row.append(value)
    return Seen(state.x, state.v_hat, *map(np.stack, rows))


def _factor(h: FedLamb, x: Vector, p: Vector) -> Vector:
    """phi(||x||) / ||p|| for a layer."""
    length = norm(p)
    return p * 0 + (scaling(x, h.phi, h.phi_m, h.phi_M) / length if length else length)


def shifted(xs: Sequence[Vector], beta1: Any, before: Vector | None = None) -> list[Vector]:
    """Auxiliary sequence (8) of the models; the model before the first is ``before``, or the first itself."""
    earlier = [xs[0] if before is None else before, *xs[:-1]]
    return [x + beta1 / (1 - beta1) * (x - y) for x, y in zip(xs, earlier, strict=True)]


def squared(x: Vector) -> Any:
    """Squared norm ||x||^2."""
    return x @ x


def as_in_proofs(h: FedLamb) -> dict[str, bool]:
    """True, by name, if the hyper-parameters have the values of the proofs."""
    none = h.bias_correction is LocalCorrection.NONE
    return {"setting: lam = eps = 0, no bias correction": h.lam == 0 and h.eps == 0 and none}


def noiseless(h: FedLamb, problem: Problem, M: Any) -> dict[str, bool]:
    """Assumptions H1 to H4, each with True if an instance with exact gradients meets it."""
    pairs = zip(problem.smoothness, problem.lipschitz, strict=True)
    return {
        f"H1: L_l = {as_text(problem.lipschitz)}": all(whole <= each for whole, each in pairs),
        f"H2: gradients are exact, none is longer than M = {M}": problem.largest_squared <= M**2,
        "H3: two draws agree, 0 < sigma^2 = 1": quiet(problem.clients, vector([ZERO] * sum(problem.sizes))),
        "H4: phi_m = phi_M = 1": h.phi is Phi.CONSTANT,
        **as_in_proofs(h),
    }


def noisy(h: FedLamb, coin: Sequence[tuple[Fraction, Any]], gradient: Any, M: Any, variance: Any) -> dict[str, bool]:
    """Assumptions H1 to H4, each with True if it holds for a linear f whose noise has the coin's outcomes."""
    spread = sum(q * (g - gradient) ** 2 for q, g in coin)
    return {
        f"H1: f' = {gradient} everywhere, L = 0": all(constant(g)(0, vector([ZERO])) == g for _, g in coin),
        "H2: unbiased": sum(q for q, _ in coin) == 1 and sum(q * g for q, g in coin) == gradient,
        f"H2: no outcome exceeds M = {M}": all(abs(g) <= M for _, g in coin),
        f"H3: the variance {spread} is below sigma^2 = {variance}": spread < variance,
        "H4: phi_m = phi_M = 1": h.phi is Phi.CONSTANT,
        **as_in_proofs(h),
    }
