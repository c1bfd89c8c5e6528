"""Yogi if v is exactly the square of what arrives: the sign of 0 is 0, and v stays."""

from __future__ import annotations

import numpy as np

from fedspec.arith import Array, digits
from fedspec.contract import Gradient, Messages
from fedspec.params import flatten
from fedspec_properties.closed_forms.adaptive import AMSGRAD, direction
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.made import TIED, tied
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.running import RUNNING
from fedspec_suite.measure.scenario import Scenario, describe, running


def _still(s: Scenario) -> Array:
    """The model after the event, its denominator made of v_0, in numbers that carry their rounding."""
    lifted, server = running(s), s.case.level == "server"
    h, o, x, event = lifted.case.hyper, lifted.case.options, flatten(lifted.case.x0), lifted.events[0]
    number = RUNNING[s.case.dtype]
    with digits():
        if isinstance(event, Messages):
            rows = [flatten(event.messages[0].delta)]
        else:
            assert isinstance(event, Gradient)
            rows = [flatten(event.g)]
        # The one average of v_0 and a square that equals it: its rounding covers that of a v that stays.
        assert all(a * a == number(h["v0"].value) for a in rows[0])
        step = direction(AMSGRAD, rows, h, o, h["tau" if server else "eps"])
        end: Array = x + h["eta"] * step if server else x - h["eta_l"] * step
    return end


def _stays(bench: Bench, s: Scenario) -> None:
    (got,), where = bench.play(s), f"{describe(s.events[0])} 1"
    if "v" in got:
        v0 = np.full(got["v"].shape, s.case.hyper["v0"])
        bench.compare("v", got["v"], v0, where, v0)
    bench.compare("x", got["x"], _still(s), where)


LAWS = (
    Law(
        id="tie-stays",
        words="if v equals the square of what arrives, v stays: the sign of 0 is 0",
        levels=("client", "server"),
        source="external: Zaheer et al. (2018), Algorithm 2",
        cases=tied,
        check=_stays,
        applies=TIED,
    ),
)
