"""Table of the optional ways to take local steps: all that other rooms ask of this one.

If it is empty, every federation trains all the same.
"""

from __future__ import annotations

from fedspec_torch.gradients.interface import Way
from fedspec_torch.gradients.methods import METHODS, Method
from fedspec_torch.ways import fused, layered, loops
from fedspec_torch.ways.chains import refusal

SPARED = 1.1
"""Compiled loops are chosen if they take less than this multiple of ``layered``'s time.

With 20 clients both took as long, with 2 the loops took 0.7 of the time; Fed-LAMB's rounds of 20 clients with one to
eight steps took 0.75 in the loops. With 54 clients they took 1.2, in rounds of FedAvg too (one core of an EPYC).
"""

WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        Way("compiled", refusal, loops.run, loops.compiled, loops.steps, spared=SPARED),
        Way("layered", refusal, layered.run, layered.layered),
        Way("fused", refusal, fused.run, beside="layered"),
    )
}
"""Optional ways by name, in the order in which they are tried."""


def methods() -> dict[str, Method]:
    """Return every gradient method by name: those of the optional ways, then those that take any module."""
    return {name: way.method for name, way in WAYS.items() if way.method} | METHODS
