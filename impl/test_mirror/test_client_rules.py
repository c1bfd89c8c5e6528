"""Every local solver, batched, against the specification's rule, client by client."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.support import (
    DEVICES,
    DTYPES,
    SHAPES,
    D,
    Run,
    Scale,
    assert_close,
    by_id,
    choices,
    dyadic,
    keywords,
    parts,
    tensors,
)

from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver
from fedspec.client.adam import adam
from fedspec.client.adam import begin as begin_adam
from fedspec.client.lamb import layer_step
from fedspec.client.sgd import sgd
from fedspec.covers import named_cover
from fedspec.errors import ShapeError
from fedspec.readings import CoverName

SOLVERS = [a for a in CATALOGUE.values() if isinstance(a.run, LocalSolver)]
N, K = 5, 6


def both(algorithm: Algorithm, options: dict[str, str]) -> tuple[Run, Run]:
    """A solver for one client, and the same for a stack of them."""
    cover = CoverName(options.get("cover", "one"))
    named = named_cover(cover, SHAPES)
    spec = Run(algorithm.run, keywords(algorithm, options), named.listed)
    mirror = Run(algorithm.run, spec.keywords, named)
    return spec, mirror


def gradients() -> np.ndarray[Any, Any]:
    """[K, n, d]; coordinate 3 has a gradient of 0 throughout."""
    g = dyadic(1, K, N, D)
    g[:, :, 3] = 0
    return g


@pytest.mark.table(10)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("algorithm", SOLVERS, ids=by_id)
def test_batched_equals_one_by_one(algorithm: Algorithm, dtype: torch.dtype, device: str) -> None:
    kind = str(dtype).removeprefix("torch.")
    x, g = dyadic(0, N, D).astype(kind), gradients().astype(kind)
    for options in choices(algorithm):
        spec, mirror = both(algorithm, options)
        begun, given = torch.tensor(x, device=device), torch.tensor(g, device=device)
        state = mirror.begin(begun)
        for k in range(K):
            held = {n: value.clone() for n, value in tensors(state).items()}
            after = mirror.step(state, given[k])
            assert all(torch.equal(tensors(state)[n], value) for n, value in held.items()), "a state was written over"
            state = after
        assert torch.equal(begun.cpu(), torch.tensor(x)) and torch.equal(given.cpu(), torch.tensor(g))

        for i in range(N):
            want = spec.begin(x[i])
            scale = Scale(float(np.abs(g).max()) ** 2)
            scale.see(want)
            for k in range(K):
                want = spec.step(want, g[k, i])
                scale.see(want)
            assert set(parts(state)) == set(parts(want))
            for name, value in parts(want).items():
                got = parts(state)[name]
                assert_close(got if name == "t" else got[i], value, scale[name], f"{options}, client {i}, {name}")


@pytest.mark.parametrize("shape", [(1, D), (N, 1), (N, D + 1)])
def test_gradients_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    x = torch.zeros(N, D)
    with pytest.raises(ShapeError, match="sgd: shapes"):
        sgd(x, torch.zeros(shape), eta_l=0.5)
    with pytest.raises(ShapeError, match="adam: shapes"):
        adam(begin_adam(x), g=torch.zeros(shape), eta_l=0.5, beta1=0.5, beta2=0.5, eps=0.5)


def test_gradients_of_another_dtype_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"float32 and torch\.float64 do not mix"):
        sgd(torch.zeros(N, D), torch.zeros(N, D, dtype=torch.float64), eta_l=0.5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_direction_that_is_no_number_is_not_taken_for_none(bad: float) -> None:
    x, p = np.array([3.0, 4.0]), np.array([bad, 1.0])
    with np.errstate(invalid="ignore"):
        assert np.isnan(layer_step(x, p, eta_l=0.5)).any()
    assert layer_step(torch.tensor(x)[None], torch.tensor(p)[None], eta_l=0.5).isnan().any()
