"""Plans, settings and draws that make no sense are refused when they are made, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import sympy

from fedspec.algorithms import peers
from fedspec.errors import FedspecError, PlanError, WeightError
from fedspec.plan import Exchange, Messages, Plan, Setup
from fedspec.plans import busy_clients, drawn_delays, steps_of_epochs

TWO = np.ones(2)
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


@pytest.mark.parametrize(("call", "kind", "words"), CASES, ids=[words for *_, words in CASES])
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
