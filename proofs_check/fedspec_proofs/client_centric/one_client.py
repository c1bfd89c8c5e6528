"""The local run of one client against the drift lemma, for all smooth functions and any noise, in every dimension.

Nothing is known of the other clients but the mean gradient at the point where the run begins, from which the client's
own deviates by sigma_g^2 at most: so the number of clients plays no part. Noise is as in FedNova's round with noise:
vectors whose products are the means of theirs, at right angles to all that came before.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from fedspec.algorithms.cc_fedsgd import CCFedSGD
from fedspec.algorithms.local import local_sgd
from fedspec.arith import Vector
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.worst_case.certificates import Case
from fedspec_proofs.engines.worst_case.classes import Function, smooth
from fedspec_proofs.engines.worst_case.forms import ORIGIN, basis, vector
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value, function_value, inner, square


def run_of(K: int) -> Callable[[Any], Problem]:
    """E|x_(K-1) - x|^2 <= 5 K eta_l^2 (sigma_l^2 + 6 K sigma_g^2) + 30 K^2 eta_l^2 |grad f(x)|^2 at x = 0, L = 1."""

    def problem(eta: Any) -> Problem:
        f, slope = Function("F", smooth(1)), basis("grad")
        # Both times eta_l^2, so that their multipliers need not depend on the rate.
        noise, deviation = (function_value(name) for name in ("sigma_l^2", "sigma_g^2"))
        given = {"sigma_l^2 >= 0": -noise, "sigma_g^2 >= 0": -deviation}

        def gradient(k: int, x: Vector) -> Vector:
            xi = basis(f"noise{k}")
            given[f"variance {k}"] = eta**2 * square(xi) - noise
            before = [slope, f.at(x[0]).g, *(p.g for p in f.points.values()), *(basis(f"noise{j}") for j in range(k))]
            for number, other in enumerate(before):
                product = inner(xi, other)
                given[f"noise {k}, {number}"], given[f"noise {k}, {number}, less"] = product, -product
            return f.oracle(k, x) + vector(xi)

        h = CCFedSGD(buffer=1, eta_l=eta, eta=exact.number(1))
        end = local_sgd(h, vector(ORIGIN), gradient, K - 1)[0]
        given["deviation"] = eta**2 * square(f.at(ORIGIN).g - slope) - deviation
        given |= f.obeys()
        terms = {
            "noise": 5 * K * noise,
            "deviation": 30 * K**2 * deviation,
            "gradient": 30 * K**2 * eta**2 * square(slope),
        }
        right = sum(terms.values(), Value())
        return Problem(square(end) - right, given, right, terms=terms, relaxed=True)

    return problem


CASES = {
    f"K = {K}, eta_l in [1/{16 * K}, 1/{8 * K}]": Case(run_of(K), Fraction(1, 16 * K), Fraction(1, 8 * K), drop=K == 2)
    for K in (2, 3, 4, 5, 6)
}
