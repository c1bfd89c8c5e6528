"""Lower bounds at all rates of an interval, by scalar quadratic clients, for FedProx, SCAFFOLD and FedDyn.

Clients are h_i x^2 / 2, with curvatures of [mu, 1] and one minimiser, x* = 0. A round is linear in its state, with
coefficients that are polynomials in the local rate.

* FedProx ends at e(eta_l) from x = 1, and e^2 is to be at least a number. * SCAFFOLD and FedDyn multiply the state (x,
c_1, c_2, ...) by a matrix. Any form P changes by |lambda|^2 or more, for each eigenvalue lambda: take the state along
its eigenvector, in two coordinates where it is complex. So it is to be shown that not all roots of the matrix's
polynomial p(z) are smaller than r. If they were, so would be the roots of all its derivatives (Gauss and Lucas), which
then were positive at r, as for z -> infinity. One derivative that is not positive suffices. So does one of the same for
-M.

The claim is that a polynomial in the rate is at most zero. It is checked in Bernstein's basis, on halves of the
interval if the whole interval does not show it; beyond all bounds by its coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import combinations, permutations
from math import isqrt, perm

from fedspec.plan import Oracle
from fedspec_proofs.engines.worst_case.forms import Form, basis, vector
from fedspec_proofs.engines.worst_case.open_rate import RATE
from fedspec_proofs.engines.worst_case.rates import Polynomial, bernstein, plus, polynomial, rebased, times
from fedspec_proofs.worst_cases.one_round import Round

HALVED = 8
"""Number of times that an interval may be halved."""

DIGITS = 10**6
"""Denominator for rounding the square root of the bound upwards."""


def wrong_with(r: Round, curvatures: Sequence[Fraction], low: Fraction, high: Fraction | None, least: Fraction) -> str:
    """Reason why quadratics with these curvatures don't prove the bound on the interval; empty if they do."""
    words = ", ".join(map(str, curvatures))
    if len(curvatures) != len(r.steps) or not all(Fraction(r.mu) <= h <= 1 for h in curvatures):
        return f"parabolas of curvatures {words} are not of the class"
    shown = nowhere_above(over(r, curvatures, least), low, high)
    return "" if shown else f"parabolas of curvatures {words} do not show it from {low} to {high or 'infinity'}"


def over(r: Round, curvatures: Sequence[Fraction], least: Fraction) -> list[Polynomial]:
    """Polynomials in the rate; if any polynomial is at most zero at a rate, these clients prove the bound there."""
    M = matrix(r, curvatures)
    if not r.keeps:
        ((end,),) = M
        return [plus([least], Fraction(-1), times(end, end))]
    size = Fraction(isqrt(int(least * DIGITS**2)) + 1, DIGITS)
    return [derivative for sign in (1, -1) for derivative in _derivatives(minors(M), sign, size)]


def matrix(r: Round, curvatures: Sequence[Fraction]) -> list[list[Polynomial]]:
    """Transition matrix of the state in a round, with polynomials in the rate as entries, from a run of the rule."""
    names = ["x", *(f"c{i}" for i in range(len(r.steps)) if r.keeps)]
    clients: list[Oracle] = [lambda k, y, h=h: h * y for h in curvatures]  # type: ignore[misc]
    now, (x, *each) = replace(r, eta_l=RATE), [vector(basis(name)) for name in names]
    if r.keeps:
        end, _, *ends = now.kept(x, each, clients)
    else:
        end, ends = now.after(x, clients), []
    found: list[Form] = [out[0] for out in (end, *ends)]
    return [[polynomial(dict(y.parts).get(name, Fraction(0))) for name in names] for y in found]


def minors(M: Sequence[Sequence[Polynomial]]) -> list[Polynomial]:
    """Sums e_k of the k x k principal minors, e_0 = 1 first: p(z) = sum (-1)^k e_k z^(m - k)."""
    n = len(M)
    out = []
    for k in range(n + 1):
        total: Polynomial = []
        for chosen in combinations(range(n), k):
            total = plus(total, Fraction(1), determinant([[M[i][j] for j in chosen] for i in chosen]))
        out.append(total)
    return out


def determinant(rows: Sequence[Sequence[Polynomial]]) -> Polynomial:
    """Determinant as a sum over all permutations, for small matrices."""
    total: Polynomial = []
    for order in permutations(range(len(rows))):
        crossed = sum(a > b for k, a in enumerate(order) for b in order[k + 1 :])
        factors = (rows[i][j] for i, j in enumerate(order))
        total = plus(total, Fraction((-1) ** crossed), reduce(times, factors, [Fraction(1)]))
    return total


def _derivatives(e: Sequence[Polynomial], sign: int, size: Fraction) -> list[Polynomial]:
    """Derivatives of p, at a size, of the matrix or of minus it; p itself first, the last one is a constant."""
    m = len(e) - 1
    out = []
    for j in range(m):
        total: Polynomial = []
        for k in range(m - j + 1):
            total = plus(total, (-sign) ** k * perm(m - k, j) * size ** (m - k - j), e[k])
        out.append(total)
    return out


def nowhere_above(some: Sequence[Polynomial], low: Fraction, high: Fraction | None, halves: int = HALVED) -> bool:
    """True if, on each piece of the interval, some polynomial is shown to be at most zero."""
    if high is None:
        return any(all(c <= 0 for c in rebased(p, low, low + 1)) for p in some)
    there = [rebased(p, low, high) for p in some]
    if any(all(c <= 0 for c in bernstein(p, max(0, len(p) - 1))) for p in there):
        return True
    if not halves or any(all(value(p, eta) > 0 for p in some) for eta in (low, high)):
        return False
    middle = (low + high) / 2
    return nowhere_above(some, low, middle, halves - 1) and nowhere_above(some, middle, high, halves - 1)


def value(p: Polynomial, eta: Fraction) -> Fraction:
    """Value of a polynomial at the rate eta."""
    return sum((c * eta**k for k, c in enumerate(p)), Fraction(0))
