"""Comparisons of two runs of one subject: one run mapped to the other, or bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedspec.arith import Array
from fedspec_suite.measure.bench import WORDS, Bench, Shown
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, describe
from fedspec_suite.measure.verdict import Deviates, Deviation


def related(bench: Bench, first: Scenario, second: Scenario, forward: Callable[[int, Array], Array]) -> None:
    """Check that the second run's models are an affine image of the first run's."""
    a, b = bench.play(first), bench.play(second)
    before_bounds, after_bounds = bench.expect(first), bench.expect(second)
    for k, (before, after) in enumerate(zip(a, b, strict=True)):
        bench.finite("x", before["x"], f"{describe(first.events[k])} {k + 1}")
        want = forward(k, before["x"])
        # Both runs are rounded, each by its own bound, and so is what carries one to the other.
        own = bounds_of(before_bounds[k]["x"])
        carried = np.abs(forward(k, own) - forward(k, 0 * before["x"]))
        bounds = bounds_of(after_bounds[k]["x"]) + carried + np.abs(want) + np.abs(before["x"])
        bench.compare("x", after["x"], want, f"{describe(second.events[k])} {k + 1}", bounds)


def same_bits(bench: Bench, s: Scenario, a: list[Shown], b: list[Shown], what: str) -> None:
    """Check that two runs agree to the last bit in every returned vector."""
    for k, (one, two) in enumerate(zip(a, b, strict=True)):
        for name in (n for n in one if n in two and n not in WORDS):
            if not np.array_equal(one[name], two[name], equal_nan=True):
                j = int(np.argmax(one[name] != two[name]))
                raise Deviates(
                    Deviation(
                        bench.equation_of(name),
                        f"{describe(s.events[k])} {k + 1}",
                        j,
                        float(two[name][j]),
                        float(one[name][j]),
                        None,
                        what,
                    )
                )


def same(bench: Bench, pair: tuple[Scenario, Scenario]) -> None:
    """Check that two scenarios give the same models."""
    related(bench, *pair, lambda k, x: x)
