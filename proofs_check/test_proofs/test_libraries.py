"""Array libraries of one text: the rules of clients and servers take a vector or a stack of clients in any library."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import array_api_strict
import jax
import numpy as np
import pytest
import torch
from test_proofs.calls import parts
from test_proofs.test_arithmetics import CALLS, called

from fedspec.client.lamb_solver import begin, lamb
from fedspec.covers import Cover

pytestmark = pytest.mark.table(1)

jax.config.update("jax_enable_x64", True)
# Whether a rule can be compiled does not hang on how well.
jax.config.update("jax_disable_most_optimizations", True)

ROWS = (1.0, 0.25, 2.0)
"""A stack holds these multiples of an example's vectors, one for each client."""

LIBRARIES: dict[str, Callable[[Any], Any]] = {
    "numpy": np.asarray,
    "torch": torch.tensor,
    "array-api-strict": array_api_strict.asarray,
    "jax": jax.numpy.asarray,
}

QUICK = os.environ.get("FEDSPEC_PROFILE") == "quick"
QUICKLY = [name for name in LIBRARIES if name != "jax"]
"""jax compiles every operation on a shape that it has not met."""

LABELS = [label for label in CALLS if label.startswith(("client.", "server."))]
every_call = pytest.mark.parametrize("label", LABELS)

STACKS = [label for label in CALLS if label.startswith(("mixing.gossip.", "mixing.dadam.", "mixing.extrapolated."))]
"""Rules whose stacks have a row for each client already."""


def each_array(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with every array in it changed, also inside of a state."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, tuple):
        return tuple(each_array(v, change) for v in value)
    if is_dataclass(value) and not isinstance(value, type | Cover):
        return replace(value, **{f.name: each_array(getattr(value, f.name), change) for f in fields(value)})
    return value


def floats(label: str) -> dict[str, Any]:
    """An example's arguments in float64."""
    numbers = {n: float(v) if hasattr(v, "numerator") and not isinstance(v, int) else v for n, v in example(label)}
    return {n: each_array(v, lambda a: a.astype(float)) for n, v in numbers.items()}


def example(label: str) -> Any:
    return called(label).arguments.items()


def close(got: Mapping[str, Any], want: Mapping[str, Any], where: str = "") -> None:
    assert got.keys() == want.keys(), where
    for name, value in want.items():
        said = f"{name} {where}"
        np.testing.assert_allclose(np.asarray(got[name]), np.asarray(value), rtol=1e-13, atol=1e-14, err_msg=said)


@every_call
def test_a_vector_of_any_library(label: str) -> None:
    for library in QUICKLY if QUICK else LIBRARIES:
        runs_in(label, library)


@pytest.mark.parametrize("label", STACKS)
@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "array-api-strict"])
def test_a_rule_of_stacks_in_libraries_whose_stacks_have_rows(label: str, library: str) -> None:
    """The strict array API has neither len nor iteration over rows."""
    runs_in(label, library)


def runs_in(label: str, library: str) -> None:
    """The rule's result is what it is in NumPy, in arrays of the library."""
    rule, given = called(label).rule, floats(label)
    want = parts(rule(**given))
    got = parts(rule(**{n: each_array(v, LIBRARIES[library]) for n, v in given.items()}))
    arrays = [n for n, v in want.items() if isinstance(v, np.ndarray)]
    assert arrays
    assert {type(got[n]) for n in arrays} == {type(LIBRARIES[library](np.ones(1)))}, library
    close(got, want, f"in {library}")


@every_call
def test_a_stack_is_its_rows(label: str) -> None:
    rule, given = called(label).rule, floats(label)
    stacked = {n: each_array(v, lambda a: np.stack([c * a for c in ROWS])) for n, v in given.items()}
    alone = [parts(rule(**{n: each_array(v, lambda a, c=c: c * a) for n, v in given.items()})) for c in ROWS]
    for library in QUICKLY if QUICK else LIBRARIES:
        make = LIBRARIES[library]
        got = parts(rule(**{n: each_array(v, make) for n, v in stacked.items()}))
        for i, want in enumerate(alone):
            rows = {n: got[n][i, ...] if isinstance(v, np.ndarray) else got[n] for n, v in want.items()}
            close(rows, want, f"of row {i} in {library}")


@pytest.mark.parametrize("library", [*QUICKLY, pytest.param("jax", marks=pytest.mark.long)])
def test_layers_of_any_library(library: str) -> None:
    """LAMB's step cuts a stack into layers and joins them again: each client as if alone, compiled or not."""
    make, cuts, kw = LIBRARIES[library], (slice(0, 2), slice(2, 5)), {"eta_l": 0.5, "beta1": 0.5, "beta2": 0.75}
    rng = np.random.default_rng(3)
    x, g = rng.normal(size=(3, 5)), rng.normal(size=(3, 5))

    def solve(x: Any, g: Any) -> Any:
        state = begin(x)
        for k in range(1, 4):
            state = lamb(state, k * g - state.x, cuts, eps=0.125, lam=0.25, **kw)
        return state.x

    alone = np.stack([solve(*rows) for rows in zip(x, g, strict=True)])
    runs = [solve, jax.jit(solve)] if library == "jax" else [solve]
    for run in runs:
        np.testing.assert_allclose(np.asarray(run(make(x), make(g))), alone, rtol=1e-13)


def test_nothing_is_said_where_a_rule_computes_with_tensors() -> None:
    """Torch logs a warning, once a process, where it is asked by an older name whether it traces."""
    text = (
        "import torch; from fedspec.client.sgd import sgd; x = torch.ones(3); print(sgd(x, x, eta_l=torch.tensor(0.5)))"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("tensor([0.5000, 0.5000, 0.5000])\n", "")
