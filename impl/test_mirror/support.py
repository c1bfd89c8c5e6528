"""Helpers of the mirror's tests: dyadic inputs, runs that are over, every option, and one measure of agreement."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from fedspec.catalogue import Algorithm, Method, Program
from fedspec.params import layers
from fedspec.readings import choice
from fedspec_torch import Federation, cohorts, resume, simulate
from fedspec_torch.local.blocks import Block
from fedspec_torch.local.solvers import InPlace, Step
from fedspec_torch.run.rounds import run_step

Array = npt.NDArray[Any]

DTYPES = (torch.float64, pytest.param(torch.float32, marks=pytest.mark.long))
DEVICES = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)

HYPER = {
    "eta": 0.75,
    "q": 1.5,
    "guard": 0.25,
    "eta_l": 0.125,
    "beta": 0.875,
    "beta1": 0.875,
    "beta2": 0.9375,
    "beta1_l": 0.5,
    "beta2_l": 0.75,
    "beta3": 0.25,
    "rho": 0.75,
    "gamma": 0.5,
    "mu": 0.5,
    "eps": 0.03125,
    "tau": 0.125,
    # Not a square of a dyadic number: at Delta^2 = v_0 the sign in Yogi would hang on a rounding.
    "v0": 0.0703125,
    "v_hat0": 0.0703125,
    "v0_l": 0.0625,
    "m0_l": 0.25,
    "lam": 0.25,
    "wd": 0.25,
    "phi_m": 0.5,
    "phi_M": 2.0,
    "tau_eff": 2.5,
    "trim": 0.25,
    "f": 1,
    "keep": 2,
    "smooth": 0.25,
    "passes": 2,
    "clip_norm": 1.0,
    "sigma": 0.125,
    "eps_s": 2.5,
    "z": 2,
    "epoch": 1,
    "warm_up": 3,
    "buffer": 2,
    "mix": 0.5,
    "N": 3,
    "c": 0.25,
    "P": 2,
    "overlap": 1,
    "own": 0.25,
    "twice_a": 1,
    "hinge_a": 0.5,
    "hinge_b": 1,
    "tau_c": 1,
    "chance": 0.5,
    "levels": 3,
    "kept": 2,
    "consensus": 0.5,
    "radius": 0.5,
    "ns_steps": 2,
}
"""A value for every hyper-parameter of the catalogue."""

SHAPES = {"W": (3, 4), "b": (5,)}
MATRICES = {"W": (3, 4), "b": (5, 1)}
D = 17


def dyadic(seed: int, *shape: int) -> Array:
    """Multiples of 1/8 in [-2, 2], exact in every dtype."""
    return np.random.default_rng(seed).integers(-16, 17, size=shape) / 8


def classes(sizes: Sequence[int], features: int, of: int = 3, seed: int = 5) -> list[tuple[Tensor, Tensor]]:
    """Inputs in float64 and classes of clients of these numbers of examples, the same at every call."""
    torch.manual_seed(seed)
    return [(torch.randn(n, features).double(), torch.randint(of, (n,))) for n in sizes]


def chain(*sizes: int, seed: int, between: Any = nn.Tanh) -> nn.Sequential:
    """Linear layers in float64 with activations between them, the same at every call."""
    torch.manual_seed(seed)
    parts = [part for inputs, outputs in pairwise(sizes) for part in (nn.Linear(inputs, outputs), between())]
    return nn.Sequential(*parts[:-1]).double()


def ended(algorithm: Any, federation: Federation, **more: Any) -> Any:
    """A run whose rounds are done: two of all clients, unless it is said otherwise."""
    run = simulate(algorithm, federation, **{"plan": cohorts(None), "rounds": 2, **more})
    list(run)
    return run


def begun(run: Any, h: Any, x: Tensor, setup: Any) -> Any:
    """First state of an algorithm."""
    return run.init(h, x) if isinstance(run, Method) else run.init(h, x, setup)


def resumed(begin: Callable[[], Any], file: Path, again: Federation, rounds: int = 1, **more: Any) -> tuple[Any, Any]:
    """A whole run, and one that was saved after some rounds and went on: to the same model, bit for bit."""
    whole, part = begin(), begin()
    list(whole)
    for _ in range(rounds):
        part.step()
    part.save(file)
    later = resume(file, again, **more)
    list(later)
    assert torch.equal(later.x, whole.x)
    return whole, later


def by_id(algorithm: Algorithm) -> str:
    """Id of an algorithm, for the names of tests."""
    return algorithm.id


def choices(algorithm: Algorithm) -> Iterator[dict[str, str]]:
    """Every combination of an algorithm's options in which all play a part."""
    names = list(algorithm.options)
    for values in itertools.product(*(algorithm.options[n] for n in names)):
        options = {n: str(v) for n, v in zip(names, values, strict=True)}
        if not algorithm.idle(options) and not REFUSED & {(algorithm.id, *item) for item in options.items()}:
            yield options


REFUSED = {("fedadagrad", "bias_correction", "step")}
"""Options that an algorithm refuses: a sum has no decay to correct for."""


def keywords(algorithm: Algorithm, options: Mapping[str, str]) -> dict[str, Any]:
    """The keyword arguments of a solver: hyper-parameters as numbers, options as members of their enumerations."""
    numbers = {n: HYPER[n] for n in algorithm.numbers}
    return {**numbers, **{n: choice(algorithm.options[n], n, v) for n, v in options.items()}}


def mirrored(algorithm: Algorithm) -> Program:
    """A program whose step takes the mirror's clients."""
    program = algorithm.run
    assert isinstance(program, Program)
    return replace(program, step=partial(run_step, program))


@dataclass
class Run:
    """A solver of either side: the fitting arguments picked out of all that there are."""

    solver: Any
    keywords: dict[str, Any]
    cover: Any

    def begin(self, x: Any) -> Any:
        """The state at x."""
        self.anchor, self.k = x, 0
        if self.solver.begin is None:
            return x
        return self.solver.begin(x, **self._of(self.solver.begin, v0=self.keywords.get("v0"), cover=self.cover))

    def step(self, state: Any, g: Any) -> Any:
        """The state after one step."""
        rule = self.solver.rule
        given = self._of(
            rule, x=state, state=state, g=g, anchor=self.anchor, k=self.k, cover=self.cover, layers=layers(SHAPES)
        )
        given |= self._of(rule, shapes=tuple(MATRICES.values()))
        self.k += 1
        return rule(**{**self._of(rule, **self.keywords), **given})

    @staticmethod
    def _of(function: Any, **arguments: Any) -> dict[str, Any]:
        return {n: v for n, v in arguments.items() if n in inspect.signature(function).parameters}


def parts(state: Any) -> dict[str, Any]:
    """The fields of a state by name; a bare model is x."""
    return {f.name: getattr(state, f.name) for f in fields(state)} if is_dataclass(state) else {"x": state}


def tensors(state: Any) -> dict[str, Tensor]:
    """The tensors of a state by name."""
    return {n: v for n, v in parts(state).items() if isinstance(v, Tensor)}


def assert_close(got: Tensor | Array, want: Array, scale: float, name: str = "", ulps: float = 16) -> None:
    """Both agree to a few units in the last place of the largest number that the computation went through."""
    values = got.cpu().numpy() if isinstance(got, Tensor) else np.asarray(got)
    want = np.asarray(want)
    assert values.shape == want.shape, f"{name}: shape {values.shape}, not {want.shape}"
    if values.dtype.kind != "f":
        np.testing.assert_array_equal(values, want, err_msg=name)
        return
    assert values.dtype == want.dtype, f"{name}: {values.dtype}, not {want.dtype}"
    gap = np.abs(values.astype(float) - want.astype(float)) / (np.finfo(values.dtype).eps * max(scale, 1.0))
    assert (gap <= ulps).all(), f"{name}: {np.nanmax(gap):.3g} ulps of {scale:.3g} apart\ngot  {values}\nwant {want}"


class Scale:
    """The largest magnitude that each quantity has had."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.seen: dict[str, float] = {}

    def see(self, state: Any) -> None:
        """Take in a state."""
        for name, value in parts(state).items():
            self.seen[name] = max(self[name], float(np.max(np.abs(value))))

    def __getitem__(self, name: str) -> float:
        return self.seen.get(name, self.start)


def momentum(eta_l: float, rho: float) -> InPlace:
    """Heavy ball in place: u = rho u + g, y - eta_l u."""

    def begin(block: Block, y: torch.Tensor) -> Step:
        u = block.zeros("u")

        def step(k: int, block: Block, y: torch.Tensor, g: torch.Tensor) -> None:
            for y_, g_, u_ in block.together(y, g, u):
                y_.sub_(torch.add(g_, u_, alpha=rho, out=u_), alpha=eta_l)

        return step

    return InPlace(begin)
