"""Default values of hyper-parameters: starting points that aren't tuned for any task.

The command ``fedspec simulate`` and ``fedspec_torch.simulate`` use all of them, the optimisers two; rules and the judge
use none and require every hyper-parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from numbers import Real
from typing import Any

from fedspec.division import STABILISERS
from fedspec.entry import Algorithm, LocalSolver
from fedspec.hyper import NOT_GIVEN

BY_NAME: dict[str, float] = {
    "eta_l": 0.1,
    "eta": 1.0,
    "beta": 0.9,
    "beta1": 0.9,
    "beta2": 0.99,
    "beta3": 0.9,
    "beta1_l": 0.9,
    "beta2_l": 0.99,
    "tau": 1e-3,
    "eps": 1e-3,
    "v0": 1e-6,
    "v_hat0": 1e-6,
    "v0_l": 1e-6,
    "mu": 0.01,
    "rho": 0.9,
    "gamma": 0.99,
    "mix": 0.6,
    "buffer": 5,
    "twice_a": 1,
    "hinge_a": 1.0,
    "hinge_b": 4,
    "tau_c": 1,
    "trim": 0.1,
    "f": 1,
    "keep": 3,
    "smooth": 1e-5,
    "passes": 4,
    "q": 0.1,
    "clip_norm": 1.0,
    "sigma": 0.01,
    "wd": 0.01,
    "chance": 0.2,
    "levels": 16,
    "kept": 64,
    "consensus": 0.1,
    "radius": 0.05,
    "phi_m": 0.01,
    "phi_M": 10.0,
}
"""Defaults by hyper-parameter name, for the whole catalogue; a row may override them (``usual``)."""

ADAPTIVE: dict[str, float] = {"eta": 0.03}
"""Default rate of a server that divides by the root of its second moment: each coordinate then moves by about eta."""

LOCALLY: dict[str, float] = {"eta_l": 0.01}
"""Default rate of clients that divide by the root of a second-moment average."""

LEFT_OUT: dict[str, float] = {"v0": 0.0, "epoch": 1}
"""Defaults for the optimisers: an accumulator that begins at zero, and a delay that counts steps."""


def needed(row: Algorithm, options: Mapping[str, str]) -> tuple[str, ...]:
    """Hyper-parameters without a default, which a user must give under these options."""
    assert not isinstance(row.run, LocalSolver)
    free = {f.name for f in fields(row.run.hyper) if f.default is MISSING or f.default is NOT_GIVEN}
    return tuple(n for n in row.numbers_under("round", options) if n in free)


def usual(row: Algorithm, reading: str | None = None, given: Mapping[str, Any] | None = None) -> dict[str, float]:
    """Default values of the hyper-parameters that ``given`` lacks; empty for local solvers.

    Defaults are for hyper-parameters without a default in the record, for those that the row has a number for, and for
    those whose record's default the reading rejects. If tau is given and v0 is not, v0 is tau^2, the least value that
    readings allow.

    Args:
        row: the algorithm.
        reading: a reading of the algorithm; None: the canonical one.
        given: hyper-parameters and options by name.

    Raises:
        UnknownNameError: there is no such reading, option, or value of an option.
        ParameterError: an option contradicts the reading.
    """
    if isinstance(row.run, LocalSolver):
        return {}
    given = given or {}
    options = {n: str(v) for n, v in given.items() if n in row.options}
    chosen = reading or row.readings[0].name
    resolved = row.resolve(chosen, options)
    asked, there = needed(row, resolved), row.numbers_under("round", resolved)
    numbers = BY_NAME | _by_place(asked) | dict(row.usual)
    taken = {n: numbers[n] for n in asked if n in numbers} | {n: row.usual[n] for n in there if n in row.usual}
    if isinstance(given.get("tau"), Real) and "v0" not in row.usual and {"tau", "v0"} <= {*asked}:
        taken["v0"] = float(given["tau"]) ** 2
    held = {f.name: f.default for f in fields(row.run.hyper)} | taken | dict(given)
    for wanted in row.reading(chosen).requires:
        if all(isinstance(held.get(n), Real) for n in wanted.about) and not wanted.holds(held):
            taken |= {n: numbers[n] for n in wanted.about if n in there and n in numbers}
    return {n: v for n, v in taken.items() if n not in given}


def unsaid(row: Algorithm, reading: str | None = None, given: Mapping[str, Any] | None = None) -> dict[str, float]:
    """Defaults, the record's included, of all hyper-parameters in use that ``given`` lacks; empty for solvers.

    Raises:
        UnknownNameError: there is no such reading, option, or value of an option.
        ParameterError: an option contradicts the reading.
    """
    if isinstance(row.run, LocalSolver):
        return {}
    options = {n: str(v) for n, v in (given or {}).items() if n in row.options}
    there = row.numbers_under("round", row.resolve(reading or row.readings[0].name, options))
    held: dict[str, Any] = {f.name: f.default for f in fields(row.run.hyper)} | usual(row, reading, given)
    return {n: held[n] for n in there if isinstance(held[n], Real) and n not in (given or {})}


def _by_place(asked: tuple[str, ...]) -> dict[str, float]:
    """Defaults of rates that depend on the other hyper-parameters beside them."""
    found: dict[str, float] = {}
    if {*STABILISERS, "v_hat0"} & {*asked} and "eta" in asked:
        found |= ADAPTIVE
    if "beta2_l" in asked or ("beta2" in asked and "eta" not in asked):
        found |= LOCALLY
    return found
