"""Strategies and Theorem 25's condition: no named strategy meets it as printed, all meet a relaxed form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fedspec.algorithms.fedblended import optimize
from fedspec.arith import Array, Scalar, Vector
from fedspec.covers import Cover
from fedspec.readings import Strategy
from fedspec_proofs.claim import Extent, Finding, Severity, claim, refutation
from fedspec_proofs.engines import Choose, Inequality, Sides, searched
from fedspec_proofs.fedada2.kit.rational import F
from fedspec_proofs.fedada2.kit.relaxed_rule import relaxed_lines
from fedspec_proofs.kit.adding import confirmed

STRATEGIES = "after Theorem 25 (L1211), and footnote 4 of sec. 4 (L106)"


@dataclass(frozen=True)
class Local:
    """Hyper-parameters of a client's solver."""

    eta_l: Scalar
    eps: Scalar
    beta1: Scalar = 0
    beta2: Scalar = 0
    z: int = 1
    eps_s: Scalar = 0


def steps(strategy: Strategy, h: Local, g: Iterable[Any]) -> list[Vector]:
    """Changes of the local model per gradient, from runs of 1, 2, ... steps that start at 0."""
    rows = [np.atleast_1d(np.asarray(row, dtype=object)) for row in g]
    origin = rows[0] * 0
    ends = [origin]
    for k in range(1, len(rows) + 1):
        ends.append(optimize(strategy, origin, lambda step, _: rows[step], k, Cover(((0,),), 1), **vars(h)))
    return [after - before for before, after in pairwise(ends)]


def _hyper(**changes: Any) -> Local:
    return Local(**{"eta_l": F(1), "eps": F(1), "beta1": F(1, 2), "beta2": F(1, 3), **changes})


def _literal(strategy: Strategy, h: Local, words: str, *, forgets: bool = False) -> Finding:
    """Take gradients 1, 0: the printed rule takes a_1 g_1 / theta_1 in both steps.

    ``forgets``: the second step is 0, so that weights which may change from step to step would not help.
    """
    g, G = (F(1), F(0)), F(1)
    first, second = steps(strategy, h, g)
    more = {"and the second is 0, which weights >= a > 0 that change from step to step do not give": second[0] == 0}
    return refutation(
        instance=f"{words}, d = 1, gradients 1 then 0, eta_l = 1",
        conditions={
            "a_1/theta_1(g_1) g_1 is the first step, which is not 0, as a_1 >= a > 0 and theta_1 <= M": bool(
                first[0] != 0
            ),
            "Assumption 2: both gradients are at most G = 1": max(map(abs, g)) <= G,
            **(more if forgets else {}),
        },
        left=second[0],
        right=first[0],
        relation="=",
    )


@claim(
    "fedada2.theorem-25-sgd",
    statement="SGD satisfies the update rule of Theorem 25: every step is the sum of a_l g_l/theta_l(g_1..g_l) over "
    "all gradients so far, all a_l >= a > 0",
    source=STRATEGIES,
    severity=Severity.FALSE_RESULT,
)
def literal_sgd() -> Finding:
    """SGD's step is its newest gradient: if that is 0, so is the step, while the rule repeats the first step.

    That the rule is meant to sum over all gradients in every step is seen from the double sum of Lemma 26 (L1226).
    """
    return _literal(Strategy.SGD, _hyper(), "SGD", forgets=True)


@claim(
    "fedada2.theorem-25-adagrad",
    statement="AdaGrad satisfies the update rule of Theorem 25: every step is the sum of a_l "
    "g_l/theta_l(g_1..g_l) over "
    "all gradients so far, all a_l >= a > 0",
    source=STRATEGIES,
    severity=Severity.FALSE_RESULT,
)
def literal_adagrad() -> Finding:
    """Repeat SGD: if the second gradient is 0, so is the second step."""
    return _literal(Strategy.ADAGRAD, _hyper(), "AdaGrad, eps = 1", forgets=True)


@claim(
    "fedada2.theorem-25-adam",
    statement="Adam satisfies the update rule of Theorem 25 as printed, with weights a_l and denominators "
    "theta_l that are "
    "the same in every later step",
    source=STRATEGIES,
    severity=Severity.FALSE_RESULT,
)
def literal_adam() -> Finding:
    """Adam's weights and denominator of an old gradient change from step to step.

    Were weights a_(p,l) meant, for beta1 > 0 it would satisfy the rule.
    """
    return _literal(Strategy.ADAM, _hyper(), "Adam, beta1 = 1/2, beta2 = 1/3, eps = 1")


@dataclass(frozen=True)
class Local2:
    """A strategy on given gradients in one coordinate, with constants.

    Attributes:
        strategy: the local solver.
        h: the solver's hyper-parameters, in floating point.
        g: the gradients.
        G, w: bound of the gradients, and the weight of the client's change.
        eta_l: the learning rate in the bound.
    """

    strategy: Strategy
    h: Local
    g: Array
    G: float
    w: float
    eta_l: float


def local(choose: Choose) -> Local2:
    K, G = choose.whole(1, 6), choose.of(1.0, 2.0)
    kind = choose.of("any", "same")
    g = np.array([float(choose.rational(-2, 2, 2)) if kind == "any" else 2.0 for _ in range(K)])
    g = g / 2 * G if choose.of(True, True, False) else 2 * g * G
    rate = choose.of(0.5, 1.0, 0.01)
    eps = choose.of(1.0, 0.1, 0.001)
    h = Local(eta_l=rate, eps=eps, beta1=choose.of(0.9, 0.0, 0.5), beta2=choose.of(0.99, 0.5), z=choose.of(1, 2))
    strategy = choose.of(Strategy.SGD, Strategy.ADAGRAD, Strategy.ADAM, Strategy.SM3_ADAGRAD)
    return Local2(strategy, h, g, G, choose.of(1.0, 3.0), rate)


def bounds(s: Local2) -> tuple[float, float, float]:
    """Constants a, A, m of the strategy with a <= a_(p,p), a_(p,l) <= A and m <= theta."""
    if s.strategy is Strategy.SGD:
        return 1.0, 1.0, 1.0
    if s.strategy is Strategy.ADAM:
        return 1 - float(s.h.beta1), 1.0, float(s.h.eps)
    return 1.0, 1.0, float(s.h.eps)


def _weights(s: Local2) -> Iterator[tuple[float, list[float]]]:
    """Yield theta_p and the weights a_(p,1) ... a_(p,p) of each step p, in the relaxed rule."""
    v = v_hat = 0.0
    updates = 0
    for p, g in enumerate(s.g, 1):
        due = (p - 1) % s.h.z == 0
        updates += due
        if s.strategy is Strategy.SGD:
            yield 1.0, [0.0] * (p - 1) + [1.0]
        elif s.strategy is Strategy.ADAM:
            b1, b2 = float(s.h.beta1), float(s.h.beta2)
            v = b2 * v + (1 - b2) * g**2 if due else v
            v_hat = v / (1 - b2**updates) if due else v_hat
            weights = [(1 - b1) * b1 ** (p - l) / (1 - b1**p) for l in range(1, p + 1)]
            yield v_hat**0.5 + float(s.h.eps), weights
        else:
            v = v + g**2 if due else v
            yield v**0.5 + float(s.h.eps), [0.0] * (p - 1) + [1.0]


@claim(
    "fedada2.theorem-25-strategies-relaxed",
    statement="SGD, AdaGrad and Adam, with delayed updates or not, satisfy the rule with weights a_(p,l) >= 0 and one "
    "denominator theta_p a step, of which only a_(p,p) >= a > 0: m <= theta_p <= M, a_(p,l) <= A; AdaGrad with v_0 "
    "= 0, Adam with m_0 = v_0 = 0",
    source=STRATEGIES,
    extent=Extent.PART,
    assumptions={"bounded": "Assumption 2: |g| <= G"},
    repairs="fedada2.theorem-25-sgd",
)
def relaxed() -> Finding:
    """SGD: a = A = m = M = 1; AdaGrad: a = A = 1, theta in [eps, sqrt(K) G + eps]; Adam: a = 1 - beta1, A = 1, theta
    in [eps, G + eps]; by inductions over steps of the rules. Searched: steps of the specification's solvers,
    compared with their closed form.
    """

    def sides(s: Local2, **times: float) -> Iterable[Sides]:
        a, A, m = (times.get(name, 1.0) * end for name, end in zip("aAm", bounds(s), strict=True))
        roots = {Strategy.SGD: 1.0, Strategy.ADAM: s.G + float(s.h.eps)}
        M = times.get("M", 1.0) * roots.get(s.strategy, len(s.g) ** 0.5 * s.G + float(s.h.eps))
        moved = [float(d[0]) for d in steps(s.strategy, s.h, s.g)]
        for p, (theta, weights) in enumerate(_weights(s)):
            wanted = -times.get("steps", 1.0) * s.eta_l * sum(w * g for w, g in zip(weights, s.g, strict=False)) / theta
            yield abs(moved[p] - wanted), 1e-9 * (1 + abs(wanted))
            yield m, theta
            yield theta, M * (1 + 1e-12)
            yield a, weights[-1]
            yield max(weights), A * (1 + 1e-12)

    def off(name: str, by: float) -> Callable[[Local2], Iterable[Sides]]:
        return lambda s: sides(s, **{name: by})

    ends = {"a": 1.01, "A": 0.99, "m": 1.01, "M": 0.99, "steps": 1.01}
    spoiled = {f"{name} off by 1%": off(name, by) for name, by in ends.items()}
    looked = searched(Inequality(local, {"bounded": lambda s: bool(max(abs(s.g)) <= s.G)}, sides, spoiled), 500)
    return confirmed(relaxed_lines(), looked, 500)
