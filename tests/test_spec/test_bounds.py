"""Counts and sizes that nobody can have are refused at once, and what is missing or no whole number by a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.fedada2 import FedAda2
from fedspec.algorithms.fedopt import FedAdam
from fedspec.client.sgd import sgd
from fedspec.covers import Cover, named_cover
from fedspec.domains import MOST, require_count
from fedspec.errors import CoverError, FedspecError, ParameterError, PlanError, ShapeError
from fedspec.mixing.accumulation import accumulation, momentum_norm
from fedspec.mixing.arrivals import local_change
from fedspec.params import layers, size
from fedspec.plan import Arrival, Plan
from fedspec.readings import CoverName, Solver
from fedspec_suite.judge.capsules.codec import decoded

X = np.ones(2)
HUGE = 2**63
RATES: dict[str, Any] = {"eta_l": 0.1, "eta": 1, "beta1": 0.5, "tau": 0.1, "v0": 1}

CASES: dict[str, tuple[Callable[[], object], type[FedspecError], str]] = {
    "a norm": (lambda: momentum_norm(tau=HUGE, rho=0.5), PlanError, "^tau: got 9223372036854775808"),
    "a vector": (lambda: accumulation(Solver.SGD, 2**40), PlanError, "^steps: got 1099511627776"),
    "steps of a change": (lambda: local_change(X, X, steps=2**60), PlanError, "^steps: got .* at most"),
    "a plan": (lambda: Plan((0,), (HUGE,), (1,)), PlanError, "^steps: got .* at most"),
    "a delay": (lambda: Arrival(0, 1, HUGE), PlanError, "^delay: got .* at most"),
    "a cycle": (lambda: FedAda2(**RATES, eps=0.1, z=HUGE), ParameterError, "^z: got .* at most"),
    "a cover": (lambda: Cover((), HUGE), CoverError, f"^cover: coordinate 0 .* of {HUGE} missing"),
    "a cover with a gap": (lambda: Cover(((0, 1, 3),), HUGE), CoverError, "^cover: coordinate 2 belongs to no set"),
    "no coordinates, one length": (
        lambda: named_cover(CoverName.AXES, {"w": (0, 2**60)}),
        ShapeError,
        r"^w: shape \(0, 1152921504606846976\).* at most",
    ),
    "a length": (lambda: size("w", (HUGE,)), ShapeError, "^w: shape .* at most"),
    "a product": (lambda: layers({"w": (2**31, 2**31)}), ShapeError, "^w: shape .* at most"),
    "a capsule": (
        lambda: decoded({"array": [], "shape": [0, 2**60], "dtype": "float64"}, "case"),
        FedspecError,
        "^case: ",
    ),
    "a capsule of three axes": (
        lambda: decoded({"array": [], "shape": [0, 2**40, 2**40], "dtype": "float64"}, "case"),
        FedspecError,
        "^case: ",
    ),
    "half of a float": (lambda: Plan((0,), (2.5,), (1,)), PlanError, "^steps: got 2.5"),  # type: ignore[arg-type]
    "a whole float": (lambda: Plan((0,), (2.0,), (1,)), PlanError, "^steps: got 2.0; .* write 2$"),  # type: ignore[arg-type]
    "a whole float of a rule": (lambda: local_change(X, X, steps=2.0), PlanError, "^steps: got 2.0; .* write 2$"),  # type: ignore[arg-type]
    "a long double": (lambda: require_count("steps", np.longdouble(2)), PlanError, "^steps: got .*write 2$"),
    "long doubles": (lambda: require_count("steps", np.ones(2, np.longdouble) / 2), PlanError, "^steps: got .*0.5"),
    "a record without rates": (lambda: FedAdam(eta_l=0.1), ParameterError, "^eta, .*v0: not given; FedAdam needs them"),  # type: ignore[call-arg]
    "a rule without its rate": (lambda: sgd(X, X), ParameterError, "^sgd: eta_l is not given; it is the client lear"),  # type: ignore[call-arg]
    "a rule without a gradient": (lambda: sgd(X, eta_l=0.1), ParameterError, "^sgd: g is not given"),  # type: ignore[call-arg]
}


@pytest.mark.parametrize(("call", "kind", "words"), CASES.values(), ids=CASES)
def test_it_is_refused_by_name(call: Callable[[], object], kind: type[FedspecError], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_what_can_be_is_taken() -> None:
    assert accumulation(Solver.DECAYED, 3, gamma=2) == [1, 2, 4]
    assert Plan((0,), (MOST,), (1,)).steps == (MOST,)
    assert size("w", (10**6, 10**6)) == 10**12
    require_count("steps", np.array([2.0, 3.0]))
    # What fits no parameter is Python's to say.
    with pytest.raises(TypeError, match="mu"):
        sgd(X, X, eta_l=0.1, mu=1)  # type: ignore[call-arg]
