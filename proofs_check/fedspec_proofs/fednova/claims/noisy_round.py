"""FedNova's round with noise against (90), for all smooth clients in every dimension: Theorem 1, per round.

Random vectors of finite second moment are vectors too, with E<a, b> for their product; points, gradients and noise of a
round are such vectors, given the model x that it begins with. At every outcome the clients' gradients and values obey
the inequalities of their class, and so they do in the mean. The noise of a step has mean zero whatever came before it
and whatever other clients do: its product with all of that is zero. Its product with itself is at most sigma^2. With
what follows it, gradients at later models, it may have any. These are all the facts that are used, so what is certified
holds for every noise; not every solution of them is a noise, so no functions are built.

In the mean over x the bound telescopes: its sum over rounds is (97) for every T, with sigma^2 and kappa^2.
Rates below those of the certificates are ``fednova.round-assembly``'s, as :mod:`.one_round` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fedspec.arith import Vector
from fedspec.plan import Oracle
from fedspec_proofs.claim import Claim, Dropped
from fedspec_proofs.engines.worst_case.classes import Function, smooth
from fedspec_proofs.engines.worst_case.forms import basis, vector
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value, inner, square
from fedspec_proofs.fednova.claims import one_round
from fedspec_proofs.fednova.kit.bounds import Constants, printed, rational, repaired
from fedspec_proofs.fednova.kit.settings import Setting

SIGMA2 = square(basis("sigma"))
"""sigma^2, any number >= 0; kappa^2 = L = 1."""


def noise(i: int, k: int) -> str:
    """Name of the noise of client i at its local step k."""
    return f"F{i}.noise{k}"


def noisy(functions: tuple[Function, ...]) -> list[Oracle]:
    """Oracles that return the gradients of ``functions`` plus the noise of each step."""

    def oracle(i: int) -> Oracle:
        def at(k: int, y: Vector) -> Vector:
            return functions[i].oracle(k, y) + vector(basis(noise(i, k)))

        return at

    return [oracle(i) for i in range(len(functions))]


def _noise_is(sizes: one_round.Sizes, asked: list[int]) -> dict[str, Value]:
    """Values of the noise that are at most zero; asked has the number of gradients of each client in the round."""
    given = {}
    clients = range(len(asked))
    for i in clients:
        for k in range(sizes.steps[i]):
            given[f"variance of {noise(i, k)}"] = square(basis(noise(i, k))) - SIGMA2
            others = [f"F{j}.g{n}" for j in clients for n in range(asked[j]) if j != i or n <= k]
            others += [noise(j, n) for j in clients for n in range(sizes.steps[j]) if (j, n) < (i, k)]
            for name in others:
                product = inner(basis(noise(i, k)), basis(name))
                given |= {f"{noise(i, k)}, {name}": product, f"{noise(i, k)}, {name}, less": -product}
    return given


def problem_of(sizes: one_round.Sizes, constants: Callable[[Setting], Constants], eta: Any) -> Problem:
    """E F~(x') - F~(x) <= eta tau_eff (-|grad F~|^2/4 + eta sigma^2 A/m + 3/2 eta^2 sigma^2 B + 3 eta^2 kappa^2 C)."""
    one_round.check_rates(sizes, constants)
    functions = tuple(Function(f"F{i}", smooth(1)) for i in range(len(sizes.steps)))
    (end,) = one_round.round_from(sizes.setting(eta), sizes)(vector, noisy(functions))
    asked = [len(f.points) for f in functions]

    def terms(c: Constants, length: Any) -> dict[str, Value]:
        return {
            "A": length * (eta * c.A / len(asked)) * SIGMA2,
            "B": length * (rational(3, 2) * eta**2 * c.B) * SIGMA2,
            "C": Value(constant=length * 3 * eta**2 * c.C),
        }

    made = one_round.compared(sizes, constants, eta, functions, end[0], terms)
    return replace(made, given={**made.given, **_noise_is(sizes, asked)}, relaxed=True)


NOISE = {"noise": "unbiased, whatever came before and whatever other clients draw, with variance at most sigma^2"}


def _without(sizes: one_round.Sizes, constants: Callable[[Setting], Constants]) -> Mapping[str, Dropped]:
    """The instances without noise; and noise of one sign, on flat clients, which is a gradient that does not end."""
    return {**one_round.without(sizes, constants), "noise": biased(sizes, constants)}


def biased(sizes: one_round.Sizes, constants: Callable[[Setting], Constants]) -> Dropped:
    """Counterexample with biased noise: clients (x - 3)^2/2 pushed away from 3 by noise 4, which has sigma^2 = 0."""
    eta = rational(sizes.eta)
    s, c = sizes.setting(), constants(sizes.setting())
    run = one_round.round_from(s, sizes)

    def pushed(k: int, y: Vector) -> Vector:
        return (y - 3) + 4

    (end,) = run(lambda form: vector(basis("x")) * 0 + 1, [pushed] * len(sizes.steps))
    x = end[0].constant
    left = (x - 3) ** 2 / 2 - rational(2)
    right = eta * c.tau_eff * (-rational(1) + 3 * eta**2 * c.C)
    words = (
        f"F_i = (x - 3)^2/2 from x = 1, every gradient 4 too large: left {float(left):.4g}, right {float(right):.4g}"
    )
    return Dropped(left > right, words)


def claimed(
    id: str,
    statement: str,
    place: str,
    sizes: tuple[one_round.Sizes, ...],
    constants: Callable[[Setting], Constants],
    share: Any,
) -> Claim:
    """Claim that the bound holds for these sizes, at rates from ``share`` times the largest to the largest."""

    return one_round.of_rounds(
        id,
        statement,
        place,
        sizes,
        share,
        lambda one, eta: problem_of(one, constants, eta),
        lambda one: _without(one, constants),
        one_round.ASSUMED | NOISE,
        "; any sigma^2 and kappa^2",
        drop=True,
    )


with_noise = claimed(
    "fednova.theorem-1-round",
    "E F~(x') - F~(x) <= eta tau_eff (-|grad F~(x)|^2/4 + eta L sigma^2 A/m + 3/2 eta^2 L^2 sigma^2 B + 3 eta^2 L^2 "
    "kappa^2 C) for a round from any x, in every dimension, for all clients with Lipschitz gradients and any noise; "
    "summed over rounds, (97) for every T",
    "Theorem 1 (L155): a round of its proof, eqs. (90)-(97) (L589-616)",
    (*one_round.SCHEDULES[:3], one_round.SCHEDULES[7], one_round.SCHEDULES[9]),
    printed,
    rational("1/2"),
)

for_fedprox = claimed(
    "fednova.theorem-1-round-fedprox",
    "The same for FedProx with B' and C' for B and C: a round of the repaired (97), with noise",
    "ours, in place of Theorem 1 (L155) for FedProx",
    one_round.PROXIMAL[:2],
    repaired,
    1,
)
