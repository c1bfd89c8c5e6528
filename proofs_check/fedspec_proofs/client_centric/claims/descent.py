"""Terms A_1 to A_4 and A_7 of the descent inequality in one round of CC-FedAdagrad, and bounds of the changes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms.cc_fedsgd import CCFedSGD, cc_fedsgd, init
from fedspec.plan import Arrival, Setup
from fedspec.problems.quadratic import given
from fedspec.server.averaged_momentum import averaged_momentum
from fedspec.server.momentum import ServerMomentum
from fedspec_proofs.claim import Extent, Finding, claim
from fedspec_proofs.client_centric.kit import every_size, term_sums
from fedspec_proofs.client_centric.kit.every_size import prove_each
from fedspec_proofs.client_centric.kit.steps import Round, a_round, rooted
from fedspec_proofs.client_centric.kit.term_sums import added_up
from fedspec_proofs.engines import Draw, Inequality, Sides, Statement, all_proved, decide, exact, identities, searched
from fedspec_proofs.engines.smt import every
from fedspec_proofs.kit.adding import confirmed
from fedspec_proofs.kit.balls import mean_inside

TRIES = 1200


WORDS = {
    "v_0": "v_0 >= eps^2, so that every root is at least eps",
    "Lipschitz": "|grad f(z_t) - grad f(x_t)| <= L |z_t - x_t|",
    "gradient": "|grad f(x_t)| <= G",
    "changes": "|d_t| and |Delta_t| are at most eta_l G",
}


def round_searched(names: str, sides: Callable[[Round], Sides]) -> Finding:
    def holds(name: str) -> Callable[[Round], bool]:
        return lambda r: r.met()[name]

    return searched(
        Inequality(a_round, {name: holds(name) for name in names.split(", ")}, lambda r: [sides(r)]), TRIES, drop=500
    )


def assumed(names: str) -> dict[str, str]:
    return {name: WORDS[name] for name in names.split(", ")}


def _proof(name: str) -> list[Finding]:
    """Lines of the proof in one coordinate, and their sum."""
    lines = prove_each(getattr(every_size, name), every_size.a_1, sample=every_size.nearby)
    return [*lines, added_up(**{name: getattr(term_sums, name)})]


@claim(
    "client-centric.a-1",
    statement="A_1 <= (eta^2 L / (2 eps^2)) (C^2 |d_t|^2 + |Delta_t|^2)",
    source="bound of A_1 (L595-616)",
    extent=Extent.WHOLE,
    assumptions=assumed("Lipschitz"),
)
def a_1() -> Finding:
    """Young's inequality per coordinate with weight L eta; the only fact used about the roots is a <= 1 / eps.

    The search runs one round in one or two coordinates, in fractions.
    """
    return confirmed(_proof("a_1"), round_searched("Lipschitz", _a_1), TRIES)


def _a_1(r: Round) -> Sides:
    d, delta = r.d @ r.d, r.delta @ r.delta
    scale = r.eta**2 * r.L / (2 * r.eps**2)
    return r.u @ (r.eta * r.a * r.delta), {"C^2 |d_t|^2": scale * r.C**2 * d, "|Delta_t|^2": scale * delta}


def _split(draw: Draw, sign: int = 1, d: int = 2) -> Any:
    """A_5 + A_6 - A_2, and A_6 + eta eta_l |sqrt(a_t) grad|^2 - A_7, for the step of the rule."""
    g, delta, m = draw("g", d), draw("Delta", d), draw("m", d)
    p, q = draw("p", d, positive=True), draw("q", d, positive=True)
    eta, eta_l, eps = draw("eta", positive=True), draw("eta_l", positive=True), draw("eps", positive=True)
    moved = rooted("adagrad", m * 0, m, delta, q, eta=eta, beta=draw("beta") * 0, eps=eps).x
    a, a_next = 1 / (p + eps), 1 / (q + eps)
    A_2, A_5, A_6 = g @ moved, g @ (eta * (a_next - a) * delta), g @ (eta * a * delta)
    A_7 = eta * eta_l * (a * g) @ (g + sign * delta / eta_l)
    return [A_5 + A_6 - A_2, -eta * eta_l * (a * g) @ g + A_7 - A_6]


@claim(
    "client-centric.a-2",
    statement="A_2 = A_5 + A_6, and A_6 = -eta eta_l |grad f(x_t)|^2 weighted by a_t, plus A_7 with "
    "(sqrt(a_t))^2 = a_t",
    source="A_2, A_5 and A_6 (L618-673)",
    extent=Extent.WHOLE,
    assumptions={"descent": "Delta_t points downhill: the proof's sign"},
)
def a_2() -> Finding:
    """For one coordinate, and for two together; -Delta_t / eta_l is the mean gradient in A_7.

    L668 as converted has the weights without the root, which L680 has.
    """
    return identities(
        {"a coordinate": lambda draw: _split(draw, d=1), "two coordinates": _split},
        without={"descent": {"the main text's sign": lambda draw: _split(draw, -1)}},
    )


def _polarised(draw: Draw, half: bool, d: int = 2) -> Any:
    g, u, a = draw("g", d), draw("u", d), draw("a", d, positive=True)
    whole = (a * g) @ (g - u)
    parts = (a * g) @ g - ((a * u) @ u if half else 0) + (a * (g - u)) @ (g - u)
    return [2 * whole - parts]


@claim(
    "client-centric.a-7",
    statement="The second expression of A_7 (after the step client-centric.participation-mean) is (eta eta_l / 2) "
    "(|grad f|^2 - |u_t|^2 + |grad f - u_t|^2), all weighted by a_t, with u_t the mean over all clients of their mean "
    "local gradients",
    source="A_7 (L675-708)",
    extent=Extent.WHOLE,
    assumptions={"|u_t|^2": "the middle term"},
)
def a_7() -> Finding:
    """Proof of the underlying identity, for one coordinate and for two together.

    That the mean over S_t becomes u_t is the claim about participation.
    """
    return identities(
        {
            "a coordinate": lambda draw: _polarised(draw, True, 1),
            "two coordinates": lambda draw: _polarised(draw, True),
        },
        without={"|u_t|^2": {"without it": lambda draw: _polarised(draw, False)}},
    )


@claim(
    "client-centric.a-3",
    statement="A_3 <= (eta^2 eta_l^2 G^2 L C^2 / (2 eps) + eta eta_l G^2 C) |a_t - a_(t+1)|, in the sum of "
    "absolute values",
    source="bound of A_3 (L773-826), 2 eps where the conversion has 1 - beta",
    extent=Extent.WHOLE,
    assumptions=assumed("v_0, Lipschitz, gradient, changes"),
)
def a_3() -> Finding:
    """|grad f(z_t)| <= G + L |z_t - x_t| <= G + L eta C eta_l G/(2 eps), per coordinate, times a decrease of a_t.

    The search runs one round of CC-FedAdagrad in fractions; equality is attained at L = 0.
    """
    return confirmed(_proof("a_3"), round_searched("v_0, Lipschitz, gradient, changes", _a_3), TRIES)


def _a_3(r: Round) -> Sides:
    fall = sum(abs(r.before - r.a))
    left = -(r.g + r.u) @ (r.eta * r.C * (r.before - r.a) * r.d)
    first = r.eta**2 * r.eta_l**2 * r.G**2 * r.L * r.C**2 / (2 * r.eps)
    return left, {"the term with L": first * fall, "the other": r.eta * r.eta_l * r.G**2 * r.C * fall}


@claim(
    "client-centric.a-4",
    statement="A_4 <= (L eta^2 / (4 eps^2)) |Delta_t|^2 + L eta^2 eta_l^2 G^2 C^2 |a_t - a_(t+1)|^2",
    source="bound of A_4 (L828-842)",
    extent=Extent.WHOLE,
    assumptions=assumed("v_0, changes"),
)
def a_4() -> Finding:
    """(p - q)^2 <= 2 p^2 + 2 q^2 per coordinate; the search runs one round of CC-FedAdagrad in fractions."""
    return confirmed(_proof("a_4"), round_searched("v_0, changes", _a_4), TRIES)


def _a_4(r: Round) -> Sides:
    fall = r.before - r.a
    moved = r.a * r.delta - r.C * fall * r.d
    right = {
        "|Delta_t|^2": r.L * r.eta**2 / (4 * r.eps**2) * (r.delta @ r.delta),
        "|a_t - a_(t+1)|^2": r.L * (r.eta * r.eta_l * r.G * r.C) ** 2 * (fall @ fall),
    }
    return r.L * r.eta**2 / 2 * (moved @ moved), right


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
    source="step of A_3 and A_4 (L826)",
    extent=Extent.WHOLE,
    assumptions={
        "gradients": "no gradient is longer than G",
        "before": "|d_(t-1)| <= eta_l G, as for d_0 = 0",
        "rate": "eta_l >= 0",
        "beta": "0 <= beta < 1",
    },
)
def bounds() -> Finding:
    """A mean of vectors in a ball stays in the ball, by induction: of K gradients, m clients, momentum and change.

    That is by lengths and an inner product, in every dimension. Through CC-Local: one coordinate, a buffer of two
    clients with two steps each, and a step of an induction over rounds.
    """
    parts = {
        "any mean": decide(mean_inside, sample=every_size.on_the_line, ablate=False),
        "two clients, two steps": decide(_bounded, sample=_small),
    }
    return all_proved(parts)
