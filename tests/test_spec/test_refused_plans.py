"""Refusals by name: plans, settings, draws, and counts or sizes that are too large, missing or not whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import sympy

from fedspec.algorithms import peers
from fedspec.algorithms.fedada2 import FedAda2
from fedspec.algorithms.fedopt import FedAdam
from fedspec.client.sgd import sgd
from fedspec.covers import Cover, named_cover
from fedspec.domains import MOST, require_count
from fedspec.errors import ContractError, CoverError, FedspecError, ParameterError, PlanError, ShapeError, WeightError
from fedspec.mixing.accumulation import accumulation, momentum_norm
from fedspec.mixing.arrivals import local_change
from fedspec.params import layers, size
from fedspec.plan import Arrival, Exchange, Messages, Plan, Setup
from fedspec.plans import busy_clients, drawn_delays, steps_of_epochs
from fedspec.readings import CoverName, Solver
from fedspec_suite.judge.capsules.codec import decoded

X = np.ones(2)
HUGE = 2**63
RATES: dict[str, Any] = {"eta_l": 0.1, "eta": 1, "beta1": 0.5, "tau": 0.1, "v0": 1}

DELAYS: dict[str, Any] = {"clients": 3, "buffer": 1, "rounds": 2, "largest_delay": 1, "steps": 2}
BUSY: dict[str, Any] = {"means": [1.0, 2.0], "steps": [1, 2], "buffer": 1, "arrivals": 3}


def plan(**more: Any) -> Plan:
    return Plan(**{"participants": (0, 1), "steps": (1, 1), "examples": (1, 1), **more})


def delays(**more: Any) -> object:
    return drawn_delays(np.random.default_rng(0), **{**DELAYS, **more})


def busy(**more: Any) -> object:
    return busy_clients(np.random.default_rng(0), **{**BUSY, **more})


CASES: list[tuple[Callable[[], object], type[FedspecError], str]] = [
    (lambda: plan(scales=(1.0, math.nan)), PlanError, "^scales: entry 1 is nan"),
    (lambda: plan(scales=(math.inf, 1.0)), PlanError, "^scales: entry 0 is inf"),
    (lambda: plan(scales=(1.0, "2")), PlanError, "^scales: entry 1 is '2'"),
    (lambda: plan(noise=(0.5, math.nan)), PlanError, "^noise: entry 1 is nan"),
    (lambda: plan(examples=(1, -2)), WeightError, "^examples: client 1 has -2"),
    (lambda: plan(examples=(math.nan, 1)), WeightError, "^examples: client 0 has nan"),
    (lambda: plan(examples=(True, 1)), WeightError, "^examples: client 0 has True"),
    (lambda: Setup((1, math.inf), {}), WeightError, "^examples: client 1 has inf"),
    (lambda: Setup((), {}), PlanError, "^examples: there is no client"),
    (lambda: Messages(np.ones((2, 2)), [1], [1, 1], [1, 1]), PlanError, "^messages: 2 deltas, 1 examples"),
    (lambda: peers.check_everyone(Exchange((), (), np.eye(1)), [lambda k, x: x]), PlanError, "^computing: no local"),
    *[(lambda n=n: delays(**{n: -1}), PlanError, f"^{n}: got -1") for n in DELAYS],  # type: ignore[misc]
    (lambda: delays(randomness=0), PlanError, "^randomness: got 0"),
    (lambda: delays(buffer=1.5), PlanError, "^buffer: got 1.5"),
    (lambda: delays(clients="3"), PlanError, "^clients: got '3'"),
    (lambda: busy(means=[]), PlanError, "^steps: 2 numbers for 0 clients"),
    (lambda: busy(means=[], steps=[]), PlanError, "^means: there is no client"),
    (lambda: busy(means=[1.0, math.nan]), PlanError, r"^means\[1\]: got nan"),
    (lambda: busy(means=[0.0, 1.0]), PlanError, r"^means\[0\]: got 0"),
    (lambda: busy(steps=[1, 0]), PlanError, r"^steps\[1\]: got 0"),
    (lambda: busy(buffer=0), PlanError, "^buffer: got 0"),
    (lambda: busy(arrivals=1.5), PlanError, "^arrivals: got 1.5"),
    (lambda: steps_of_epochs((100,), epochs=math.nan, batch=1), PlanError, r"^epochs\[0\]: got nan"),  # type: ignore[arg-type]
    (lambda: steps_of_epochs(("100",), epochs=1, batch=1), PlanError, r"^examples\[0\]: got '100'"),  # type: ignore[arg-type]
    (lambda: steps_of_epochs((100,), epochs=1, batch=None), PlanError, "^batch: got None"),  # type: ignore[arg-type]
    (lambda: steps_of_epochs((100,), epochs=True, batch=1), PlanError, r"^epochs\[0\]: got True"),
]


COUNTED: dict[str, tuple[Callable[[], object], type[FedspecError], str]] = {
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
        ContractError,
        "^case: ",
    ),
    "a capsule of three axes": (
        lambda: decoded({"array": [], "shape": [0, 2**40, 2**40], "dtype": "float64"}, "case"),
        ContractError,
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


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [*CASES, *COUNTED.values()],
    ids=[*(words for *_, words in CASES), *COUNTED],
)
def test_it_is_refused_by_name(call: Callable[[], object], kind: type[FedspecError], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        call()
    assert type(caught.value) is kind


def test_what_has_a_meaning_is_taken() -> None:
    assert plan(scales=(F(1, 2), 0), examples=(0, sympy.Symbol("n"))).scales == (F(1, 2), 0)
    assert plan(scales=(-1.0, 2.0)).scales == (-1.0, 2.0)
    assert steps_of_epochs(np.array([100, 50]), epochs=np.int64(2), batch=np.int64(10)) == (20, 10)  # type: ignore[arg-type]
    assert busy(arrivals=0) == []
    assert Exchange((0,), (), np.eye(1)).computing == ()
    assert accumulation(Solver.DECAYED, 3, gamma=2) == [1, 2, 4]
    assert Plan((0,), (MOST,), (1,)).steps == (MOST,)
    assert size("w", (10**6, 10**6)) == 10**12
    require_count("steps", np.array([2.0, 3.0]))
    # What fits no parameter is Python's to say.
    with pytest.raises(TypeError, match="mu"):
        sgd(X, X, eta_l=0.1, mu=1)  # type: ignore[call-arg]
