"""False variants of a certified round, which a certificate check that is too weak would accept.

Each is about one way in which the check may be too weak: multipliers, the matrix that is left over, its elimination,
the sign of multipliers, and the inequalities of the class and of the noise, which functions must meet with equality.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from fedspec_proofs.claim import Finding, Verdict, false, refutation
from fedspec_proofs.engines.worst_case.attained import Attained
from fedspec_proofs.engines.worst_case.certificates import CERTIFIED, load
from fedspec_proofs.engines.worst_case.classes import Class, Point, convex, smooth, strongly_convex
from fedspec_proofs.engines.worst_case.forms import basis
from fedspec_proofs.engines.worst_case.open_rate import RATE
from fedspec_proofs.engines.worst_case.proof import Problem, flaw
from fedspec_proofs.engines.worst_case.rates import flaw_between
from fedspec_proofs.engines.worst_case.values import Value, inner, square
from fedspec_proofs.fednova.claims.noisy_round import with_noise

ONE = Fraction(1)


def _judged(words: str, *flaws: str) -> Finding:
    """Refuted if each check names a flaw; proved, which it must not be, if one of them lets it pass."""
    verdict = Verdict.REFUTED if all(flaws) else Verdict.PROVED
    return Finding(verdict, "\n".join([words, *(found or "nothing is wrong with it" for found in flaws)]))


def _first() -> tuple[Any, Any, Problem]:
    """The first case of the certified round with noise: its multipliers, and the claim at the largest rate."""
    name, case = next(iter(CERTIFIED[with_noise.id].items()))
    return case, load(with_noise.id, name).multipliers, case.make(case.high)


@false(
    "fednova.certificate-multipliers",
    of=with_noise,
    statement="Multipliers of which one is doubled prove the round as well",
)
def doubled() -> Finding:
    """Refuted at the largest rate, and as a certificate for the interval."""
    case, at, problem = _first()
    first = next(iter(at[case.high]))
    spoiled = {rate: {**proof, first: 2 * proof[first]} for rate, proof in at.items() if first in proof}
    words = f"2 times the multiplier {at[case.high][first]} of {first!r}"
    return _judged(words, flaw(problem, spoiled[case.high]), flaw_between(case.make(RATE), {**at, **spoiled}))


@false(
    "fednova.certificate-remainder",
    of=with_noise,
    statement="The same multipliers prove that a round takes off 10^6 |g|^2 more, g the gradient of a client after it",
)
def more() -> Finding:
    """Refuted: the linear terms still cancel, but the remaining matrix has a negative diagonal entry."""
    case, at, problem = _first()
    extra = 10**6 * square(basis("F0.g1"))
    opened = case.make(RATE)
    one = flaw(replace(problem, claimed=problem.claimed + extra), at[case.high])
    between = flaw_between(replace(opened, claimed=opened.claimed + extra), at)
    return _judged("10^6 |g|^2 more on the left side", one, between)


@false(
    "fednova.certificate-elimination",
    of=with_noise,
    statement="|a + 2 b|^2 >= 3 |b|^2 for all vectors a and b",
)
def eliminated() -> Finding:
    """Refuted: [[1, 2], [2, 1]] has positive diagonal entries, but its second pivot in LDL^T is -3."""
    a, b = basis("a"), basis("b")
    claimed = -(square(a) + 4 * inner(a, b) + square(b))
    there = Attained({"a": (-2 * ONE,), "b": (ONE,)}, {})
    return _judged(f"at a = -2, b = 1 the sides differ by {there.of(claimed)}", flaw(Problem(claimed, {}), {}))


@false(
    "fednova.certificate-sign",
    of=with_noise,
    statement="|x| >= 1 wherever |x| <= 1, by the multiplier -1",
)
def negative() -> Finding:
    """Refuted: no remainder is left, but the multiplier is negative."""
    inside = square(basis("x")) - 1
    problem = Problem(-inside, {"inside": inside})
    return _judged("multiplier -1", flaw(problem, {"inside": -ONE}))


def _pair(of: Class, bend: Fraction) -> Value:
    """Value that the class bounds by zero, for two points of bend x^2/2."""
    points = []
    for name, at in (("x", ONE), ("y", -2 * ONE)):
        x = basis(name)
        points.append(Point(x, bend * x, Value(constant=bend * at**2 / 2)))
    return of(points[0], points[1])


PARABOLAS = Attained({"x": (ONE,), "y": (-2 * ONE,)}, {})
CLASSES = (smooth(1), convex(1), strongly_convex(Fraction(1, 10), 1))


@false(
    "fednova.certificate-classes",
    of=with_noise,
    statement="Functions of each class meet its inequality with its square of gradients counted twice",
)
def classes() -> Finding:
    """Parabolas of the smallest and largest curvature satisfy the inequality of each class with equality.

    A stronger one excludes one of them, and would certify what is false of it.
    """
    equal = {
        f"curvatures {of.low} to {of.high}: {bend} x^2/2 from 1 to -2": PARABOLAS.of(_pair(of, bend)) == 0
        for of in CLASSES
        for bend in (of.low, of.high)
    }
    of = CLASSES[0]
    gap = of.high - of.low
    twice = PARABOLAS.of(_pair(of, of.high)) + (gap * 3) ** 2 / (2 * gap)
    words = "x^2/2 at 1 and -2 in the class of 1-smooth functions, its square of gradients counted twice"
    return refutation(instance=words, conditions=equal, left=twice, right=Fraction(0))


@false(
    "fednova.certificate-assumptions",
    of=with_noise,
    statement="Clients and noise that meet Assumptions 2 and 3 meet them with half of kappa^2 and of sigma^2",
)
def assumptions() -> Finding:
    """Gradients and noise in two coordinates that satisfy Assumptions 2 and 3 with equality, as used in the proof."""
    _, _, problem = _first()
    zero = 0 * ONE
    still = {"sigma": (ONE, zero), "F0.noise0": (zero, ONE), "x": (zero, zero)}
    apart = Attained({**still, "F0.g0": (ONE, zero), "F1.g0": (-ONE, zero)}, {})
    leaning = Attained({**still, "F0.g0": (4 * ONE, 3 * ONE), "F1.g0": (4 * ONE, -3 * ONE)}, {})
    unlike, varies = problem.given["dissimilar"], problem.given["variance of F0.noise0"]
    equal = {
        "gradients 1 and -1, w = 1/2: their mean square is kappa^2 = 1": apart.of(unlike) == 0,
        "gradients (4, 3) and (4, -3): 25 = 3/2 16 + 1": leaning.of(unlike) == 0,
        "noise of length sigma = 1": apart.of(varies) == 0,
    }
    left = apart.of(unlike) + Fraction(1, 2) + apart.of(varies) + Fraction(1, 2)
    return refutation(instance="those clients and that noise", conditions=equal, left=left, right=zero)
