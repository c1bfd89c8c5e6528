"""What the laws of Fed-LAMB and its baselines share: which settings they are about, and how scenarios are changed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Level, Round
from fedspec.facts import Fact
from fedspec_suite.laws.asked import fact, if_option, option, unless
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.running import Running, bounds_of
from fedspec_suite.measure.scenario import Scenario, problem_of, with_hyper

ALL = fact(Fact.PERIODIC)
AMS = fact(Fact.PERIODIC, Fact.ADAPTIVE)
LAMB = fact(Fact.PERIODIC, Fact.LAYERED)
BY_LAYER = if_option("normalisation", "layer")
IDENTITY = if_option("phi", "identity")
PARTICIPANTS = if_option("averaged", "participants")
OF_THE_ROUND = unless(option("averaged", "last-sent"), "it averages what the absent sent before, too")


def taken(s: Scenario, **values: float) -> Scenario:
    """The scenario with those of the hyper-parameters that it has."""
    return with_hyper(s, **{n: v for n, v in values.items() if n in s.case.hyper})


BOX = "Fed-LAMB, Alg. 1, "
ROUND: tuple[Level, ...] = ("round",)


def compare(bench: Bench, s: Scenario, want: list[Array], name: str = "x") -> None:
    """The vectors of every round, with the error scale of the rule."""
    scale = bench.expect(s)
    for k, got in enumerate(bench.play(s)):
        bounds = bounds_of(scale[k][name])
        if isinstance(want[k][0], Running):
            bounds = np.maximum(bounds, [w.bound for w in want[k]])
        bench.compare(name, got[name], want[k], f"round {k + 1}", bounds)


def rounds_of(s: Scenario) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """What the sum over each round's clients is divided by, and who takes how many steps in it."""
    n = len(problem_of(s).H)
    for e in s.events:
        assert isinstance(e, Round)
        all_of_them = s.case.options.get("averaged") == "all"
        yield n if all_of_them else len(e.participants), list(zip(e.participants, e.steps, strict=True))
